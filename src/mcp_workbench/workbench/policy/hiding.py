"""A server without the tools that are hidden from a principal (`"hide": true`): they do not exist there.

Made only for a client whose principal has denied tools that are to be hidden. Everything that lists, finds,
suggests or calls tools of the server for this client goes through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.errors import ToolNotFound
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.text.similar_names import similar_names
from mcp_workbench.workbench.toolbox_server import KnownTools, ToolboxServer
from mcp_workbench.workbench.whereabouts import tool_not_found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import msgspec

    from mcp_workbench.config.model.policy import Action, ToolHint
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.downstream.conversation.watches import ResourceWatches
    from mcp_workbench.errors import ExecutionFailed, RemoteError, WireError
    from mcp_workbench.protocol.lists import Entries, Kind
    from mcp_workbench.storage.trust.pin_records import HeldTool
    from mcp_workbench.workbench.policy.rules import ServerRules
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import Index


def as_missing(call: ServerCall, tool: str) -> ToolNotFound:
    """Return the error for a tool that is hidden from the client of a call: there is no such tool."""
    known = call.toolbox_server.known()
    others = () if known is None else (name for name in known.index if name != tool)
    return tool_not_found(call.view, call.origin, tool, similar_names(tool, others))


class HidingServer(ToolboxServer):
    """A server of a toolbox as a client sees it from which some of its tools are hidden."""

    def __init__(self, whole: ToolboxServer, rules: ServerRules) -> None:
        self._whole = whole
        self._rules = rules
        self._shown: tuple[Index, Index] = {}, {}
        """The tools that were filtered last, and those of them that are shown."""
        self.origin = whole.origin
        self.inline_limit = whole.inline_limit
        self.is_required = whole.is_required

    def is_hidden(self, tool: str) -> bool:
        """Whether the policy denies a tool without asking anybody."""
        verdict = self._rules.verdict(tool)
        if not isinstance(verdict, CallDecision):
            verdict = verdict[self._whole.tool_hint(tool) or "unknown"]
        return verdict.action == "deny"

    def _visible(self, index: Index) -> Index:
        """Return the tools that are not hidden: the same object for as long as they are the same."""
        source, shown = self._shown
        names = [name for name in index if not self.is_hidden(name)]
        if source is not index or names != list(shown):
            shown = {name: index[name] for name in names}
            self._shown = index, shown
        return shown

    async def tools(self, *, modern: bool) -> Index:
        """The tools that are not hidden; connects first. Raises StartError."""
        return self._visible(await self._whole.tools(modern=modern))

    def known(self) -> KnownTools | None:
        """The tools that are not hidden, as far as they are known; None if the server was never listed."""
        known = self._whole.known()
        return None if known is None else KnownTools(self._visible(known.index), known.listed_at)

    def definition(self, tool: str) -> msgspec.Raw | None:
        """The definition of a tool that is not hidden."""
        return None if self.is_hidden(tool) else self._whole.definition(tool)

    def held(self) -> Mapping[str, HeldTool]:
        """The held tools that are not hidden, by name."""
        return {name: held for name, held in self._whole.held().items() if not self.is_hidden(name)}

    @property
    def withholds_instructions(self) -> bool:
        """Whether instructions of the server are withheld."""
        return self._whole.withholds_instructions

    def tool_hint(self, tool: str) -> ToolHint | None:
        """What the locked annotations of a tool claim that it does; None if the server was never listed."""
        return self._whole.tool_hint(tool)

    def ready(self, tool: str | None, modern: bool, principal: str = "") -> Connection | None:
        """The connection that takes a call at once. A hidden tool is called by nobody."""
        if tool is not None and self.is_hidden(tool):
            return None
        return self._whole.ready(tool, modern, principal)

    async def take(self, call: ServerCall) -> None:
        """Send a call of a tool that is not hidden, as soon as that is possible. Raises CallError."""
        if call.tool is not None and self.is_hidden(call.tool):
            raise as_missing(call, call.tool)
        try:
            await self._whole.take(call)
        except ToolNotFound as error:
            raise as_missing(call, error.tool) from None  # without names of hidden tools

    async def connect(self, tool: str | None, size: int, principal: str = "", *, modern: bool) -> Connection:
        """A connection for a call, which has to be sent at once. Raises CallError."""
        return await self._whole.connect(tool, size, principal, modern=modern)

    @property
    def notes(self) -> list[str]:
        """Return no notes: they name tools, which may be hidden. The log has them."""
        return []

    @property
    def instructions(self) -> str:
        """What the server's author tells models about its tools."""
        return self._whole.instructions

    @property
    def is_up(self) -> bool:
        """Whether a connection to the server is open."""
        return self._whole.is_up

    @property
    def serves_modern(self) -> bool:
        """Whether a connection for modern clients is open."""
        return self._whole.serves_modern

    @property
    def sessions(self) -> Sequence[Session]:
        """The open conversations with the server."""
        return self._whole.sessions

    @property
    def watches(self) -> ResourceWatches:
        """The resources of the server that clients are subscribed to."""
        return self._whole.watches

    @property
    def flows(self) -> Mapping[str, Action]:
        """Which other servers' results may be handed to this one."""
        return self._whole.flows

    def offers(self, capability: Capability) -> bool:
        """Whether the server is open and has this capability."""
        return self._whole.offers(capability)

    async def entries(self, kind: Kind, deadline: float, *, modern: bool) -> Entries:
        """What the server lists of resources, templates or prompts."""
        return await self._whole.entries(kind, deadline, modern=modern)

    def explain(self, tool: str | None, error: WireError, session: Session) -> ExecutionFailed:
        """The error for a call that failed on a connection, with what can be done about it."""
        return self._whole.explain(tool, error, session)

    def masked(self, error: RemoteError) -> RemoteError:
        """The server's own error without secret values."""
        return self._whole.masked(error)

    def mask(self, text: str) -> str:
        """The text without secret values of the configuration."""
        return self._whole.mask(text)

    def holds_secret(self, data: bytes) -> bool:
        """Whether a secret value of the server's configuration is in this."""
        return self._whole.holds_secret(data)

    def close_if_unused(self) -> None:
        """End the server's processes unless a client uses them."""
        self._whole.close_if_unused()
