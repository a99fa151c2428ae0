"""What all requests of a client have in common, however many ways they come by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.callers import Callers
from mcp_workbench.surface.welcome import welcome
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from mcp_workbench.surface.parking import Parking
    from mcp_workbench.surface.sealing import Seal
    from mcp_workbench.workbench.desk import Desk

OF_OURS: Final = b'{"tools":{"listChanged":true}}'
OF_SERVERS: Final = (
    b'{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true},'
    b'"prompts":{"listChanged":true},"completions":{}}'
)


class Seat:
    """A client's desk, what it is told about it, and what becomes of calls that wait for the client."""

    def __init__(self, desk: Desk, parking: Parking, seal: Seal) -> None:
        self.desk = desk
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
        return OF_SERVERS if self.desk.shelves else OF_OURS

    def look_again(self) -> bool:
        """Takes what the desk shows by now. Whether the tools are no longer what they were."""
        before = self.tools
        words = welcome(self.desk.boxes())
        self.instructions = encode(words.instructions)
        self.tools = words.tools
        return self.tools != before
