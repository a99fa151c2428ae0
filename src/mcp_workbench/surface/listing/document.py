"""A result of ours that is one JSON object, as text for a model and as structure for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.wire.message import Body


class Document:
    """Grows as text and as structure, without the whole of it being held in any other form."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._structure = bytearray()

    def add(self, piece: bytes) -> None:
        """A piece of our own making."""
        self._structure += piece
        self._text += encode(piece.decode())[1:-1]

    def add_foreign(self, value: bytes) -> None:
        """A value that came from a server."""
        self._structure += value
        # The text is what the model reads: no white space that it would pay for. The structure keeps it all.
        self._text += encode(compact(value).decode())[1:-1]

    def add_list(self, values: Iterable[bytes]) -> None:
        """The entries of a list, some of which came from a server."""
        comma = b""
        for value in values:
            self.add(comma)
            self.add_foreign(value)
            comma = b","

    def add_members(self, members: dict[str, object]) -> None:
        """Members of an object that is not at its beginning, those that say something."""
        for key, value in members.items():
            if value:
                self.add(b',"%b":%b' % (key.encode(), encode(value)))

    def result(self) -> tuple[Body, ...]:
        """The result of a call, in parts: it may have megabytes."""
        text, structure = memoryview(self._text), memoryview(self._structure)
        return b'{"content":[{"type":"text","text":"', text, b'"}],"structuredContent":', structure, b"}"


def compact(value: bytes) -> bytes:
    """JSON without white space between its values."""
    return msgspec.json.format(value, indent=-1)
