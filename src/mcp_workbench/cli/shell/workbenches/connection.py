"""What `tools` and `call` need of a workbench, whether it is in their own process or serves over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import SearchFindings
    from mcp_workbench.workbench.toolbox import Opening, Toolbox
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

    OnMessage = Callable[[bytes], object]
    """Takes a notification about a request in flight, as a line."""

TOKEN_VARIABLE: Final = "WORKBENCH_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token for a workbench that needs one."""


class WorkbenchConnection(Protocol):
    """A workbench that takes MCP requests, and can tell what its toolboxes have."""

    @property
    def toolboxes(self) -> Mapping[str, Toolbox]:
        """The toolboxes that are known so far."""

    async def exchange(self, request_id: int, method: str, params: Body, on_message: OnMessage) -> bytes:
        """Send a request and return the line of its response.

        To cancel the request, cancel the task that awaits it. Raises WireError.
        """

    async def open(self, toolbox: Toolbox, server: ToolboxServer | None) -> Opening:
        """Connect the servers of a toolbox, or one of them, and list their tools.

        Servers that fail are named in the result. Raises CallError and WireError.
        """

    async def find(self, query: str, limit: int, toolbox: str | None) -> SearchFindings:
        """Search the known tools of a toolbox, or of all. Starts nothing. Raises CallError and WireError."""
