"""The server that is built into the workbench: tools that read and search kept results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.config.model.workbench import LISTING_BUDGET_TOKENS, OPEN_DEADLINE_SECONDS
from mcp_workbench.downstream.conversation.watches import ResourceWatches
from mcp_workbench.errors import ExecutionFailed, ToolNotFound
from mcp_workbench.workbench.kept import definitions, tools
from mcp_workbench.workbench.toolbox import Toolbox
from mcp_workbench.workbench.toolbox_server import KnownTools, ToolboxServer

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import RemoteError, WireError
    from mcp_workbench.protocol.lists import Entries, Kind
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import Index

TOOLS_ONLY: Final = "it is built into the workbench and has tools only"


class BuiltinServer(ToolboxServer):
    """Tools of the workbench itself. There is no process and no connection: calls are answered here."""

    origin = definitions.ORIGIN

    def __init__(self) -> None:
        self._watches = ResourceWatches()

    @property
    def notes(self) -> list[str]:
        """Return no notes: the definitions are usable as they are."""
        return []

    @property
    def is_up(self) -> bool:
        """Return True: there is nothing to start."""
        return True

    @property
    def serves_modern(self) -> bool:
        """Return False: there is no connection."""
        return False

    @property
    def sessions(self) -> tuple[()]:
        """Return none: there is no conversation."""
        return ()

    @property
    def watches(self) -> ResourceWatches:
        """The resources that clients are subscribed to, of which there are none."""
        return self._watches

    def offers(self, capability: Capability) -> bool:  # noqa: ARG002 - it has none of them
        """Return False: a built-in server has tools only."""
        return False

    async def tools(self, *, modern: bool) -> Index:  # noqa: ARG002 - the same for both
        """The tools that read and search kept results."""
        return definitions.TOOLS

    def known(self) -> KnownTools:
        """The tools that read and search kept results."""
        return KnownTools(definitions.TOOLS, None)

    def definition(self, tool: str) -> msgspec.Raw | None:
        """The definition of a tool that reads or searches kept results."""
        return definitions.TOOLS.get(tool)

    def ready(self, tool: str | None, modern: bool, principal: str = "") -> None:
        """Return None: calls are answered by `take`, without a connection."""

    async def take(self, call: ServerCall) -> None:
        """Answer a call with the kept results of its client. Raises CallError."""
        client_results = call.view.client_results
        if call.tool is None:
            raise self._failure(None)
        if client_results is None or call.tool not in definitions.TOOLS:
            raise ToolNotFound(call.tool, self.name, self.origin[0], list(definitions.TOOLS))
        call.deliver(await tools.answer(client_results, call.tool, call.arguments))

    async def connect(self, tool: str | None, size: int, principal: str = "", *, modern: bool) -> Connection:  # noqa: ARG002 - see below
        """Raise ExecutionFailed: there is nothing to connect to."""
        raise self._failure(tool)

    async def entries(self, kind: Kind, deadline: float, *, modern: bool) -> Entries:  # noqa: ARG002 - it has none
        """Return nothing: a built-in server has tools only."""
        return ()

    def explain(self, tool: str | None, error: WireError, session: Session) -> ExecutionFailed:  # noqa: ARG002
        """The error for a call that failed on a connection, of which this server has none."""
        return self._failure(tool, str(error))

    def masked(self, error: RemoteError) -> RemoteError:
        """Return the error as it is: there are no secrets."""
        return error

    def holds_secret(self, data: bytes) -> bool:  # noqa: ARG002 - it has none
        """Return False: a built-in server has no secrets."""
        return False

    def close_if_unused(self) -> None:
        """Do nothing: there is no process."""

    def _failure(self, tool: str | None, reason: str = TOOLS_ONLY) -> ExecutionFailed:
        toolbox, server = self.origin
        return ExecutionFailed(tool, server, toolbox, reason)


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
