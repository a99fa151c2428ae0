"""The state that all connections of one client share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.callers import Callers
from mcp_workbench.surface.handshake_text import handshake_text
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from mcp_workbench.surface.questions.parking import ParkedCalls
    from mcp_workbench.surface.questions.sealing import Seal
    from mcp_workbench.workbench.client_view import ClientView

OWN_CAPABILITIES: Final = b'{"tools":{"listChanged":true}}'
"""The capabilities of a workbench without servers: the meta-tools only."""
ALL_CAPABILITIES: Final = (
    b'{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true},'
    b'"prompts":{"listChanged":true},"completions":{}}'
)
"""The capabilities of a workbench with servers, whose resources and prompts it relays."""


class ClientSession:
    """A client's view of the workbench, its handshake texts, and its parked calls."""

    def __init__(self, view: ClientView, parking: ParkedCalls, seal: Seal) -> None:
        self.view = view
        self.parking = parking
        self.seal = seal
        self.callers = Callers()
        """The capabilities that the client has declared, in its handshake or in requests."""
        self.instructions = b""
        self.tools = b""
        """The definitions of the meta-tools, as JSON."""
        self.refresh()

    @property
    def capabilities(self) -> bytes:
        """The server capabilities that the client is told, depending on whether it has any servers."""
        # A legacy client is told only once, and a configuration with mistakes may be corrected later.
        has_servers = self.view.toolbox_servers or self.view.mistakes
        return ALL_CAPABILITIES if has_servers else OWN_CAPABILITIES

    def refresh(self) -> bool:
        """Take the instructions and tools from the current view. Return whether the tools have changed."""
        before = self.tools
        view = self.view
        text = handshake_text(
            view.summaries(),
            unusable=view.unusable,
            mistakes=view.mistakes,
            has_read_only_tool=view.has_read_only_tool,
        )
        self.instructions = encode(text.instructions)
        self.tools = text.tools
        return self.tools != before
