"""What all requests of a client have in common, however many ways they come by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.callers import Callers
from mcp_workbench.surface.handshake_text import handshake_text
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from mcp_workbench.surface.questions.parking import ParkedCalls
    from mcp_workbench.surface.questions.sealing import Seal
    from mcp_workbench.workbench.client_view import ClientView

OF_OURS: Final = b'{"tools":{"listChanged":true}}'
OF_SERVERS: Final = (
    b'{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true},'
    b'"prompts":{"listChanged":true},"completions":{}}'
)


class ClientSession:
    """A client's desk, what it is told about it, and what becomes of calls that wait for the client."""

    def __init__(self, view: ClientView, parking: ParkedCalls, seal: Seal) -> None:
        self.view = view
        self.parking = parking
        self.seal = seal
        self.callers = Callers()
        """As what the client has introduced itself so far, in whichever request."""
        self.instructions = b""
        self.tools = b""
        """The definitions of our own tools."""
        self.look_again()

    @property
    def capabilities(self) -> bytes:
        """What can be served, as it stands: without a server there is nothing behind the two tools."""
        return OF_SERVERS if self.view.toolbox_servers else OF_OURS

    def look_again(self) -> bool:
        """Takes what the desk shows by now. Whether the tools are no longer what they were."""
        before = self.tools
        words = handshake_text(self.view.boxes())
        self.instructions = encode(words.instructions)
        self.tools = words.tools
        return self.tools != before
