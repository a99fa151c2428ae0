"""The server that is built into the workbench: tools that read and search kept results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.model.results import BUILTIN
from mcp_workbench.config.model.workbench import LISTING_BUDGET_TOKENS, OPEN_DEADLINE_SECONDS
from mcp_workbench.errors import ToolNotFound
from mcp_workbench.workbench.kept import definitions, tools
from mcp_workbench.workbench.toolbox import Toolbox
from mcp_workbench.workbench.toolbox_server import KnownTools
from mcp_workbench.workbench.unconnected_server import UnconnectedServer

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import Index


class BuiltinServer(UnconnectedServer):
    """Tools of the workbench itself. There is no process and no connection: calls are answered here."""

    reason = "it is built into the workbench and has tools only"

    def __init__(self) -> None:
        super().__init__(BUILTIN)

    @property
    def is_up(self) -> bool:
        """Return True: there is nothing to start."""
        return True

    async def tools(self, *, modern: bool) -> Index:  # noqa: ARG002 - the same for both
        """The tools that read and search kept results."""
        return definitions.TOOLS

    def known(self) -> KnownTools:
        """The tools that read and search kept results."""
        return KnownTools(definitions.TOOLS, None)

    def definition(self, tool: str) -> msgspec.Raw | None:
        """The definition of a tool that reads or searches kept results."""
        return definitions.TOOLS.get(tool)

    def tool_hint(self, tool: str) -> ToolHint | None:
        """The tools only read what the client has got already. Of any other tool nothing is known."""
        return "read-only" if tool in definitions.TOOLS else None

    async def take(self, call: ServerCall) -> None:
        """Answer a call with the kept results of its client. Raises CallError."""
        client_results = call.view.client_results
        if call.tool is None:
            raise self.failure(None)
        if client_results is None or call.tool not in definitions.TOOLS:
            raise ToolNotFound(call.tool, self.name, self.origin[0], list(definitions.TOOLS))
        call.deliver(await tools.answer(client_results, call.tool, call.arguments))


def builtin_toolbox() -> Toolbox:
    """The toolbox of the workbench itself: clients with kept results have it beside the configured ones."""
    return Toolbox(
        definitions.TOOLBOX,
        definitions.DESCRIPTION,
        [BuiltinServer()],
        [],
        open_deadline=OPEN_DEADLINE_SECONDS,
        listing_budget=LISTING_BUDGET_TOKENS,
    )
