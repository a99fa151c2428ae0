"""A result of ours that is one JSON object, as text for a model and as structured content for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.wire.message import Body


class ListingResult:
    """Builds the text and the structured content of a result together, without a third copy of it."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._structure = bytearray()

    def add(self, piece: bytes) -> None:
        """Add JSON that we have written."""
        self._structure += piece
        self._text += encode(piece.decode())[1:-1]

    def add_list(self, values: Iterable[bytes]) -> None:
        """Add the items of a list, without the white space that values from servers may contain."""
        comma = b""
        for value in values:
            # In the structure too: some hosts show a model only that, and white space costs tokens.
            self.add(comma + compact(value))
            comma = b","

    def add_members(self, members: dict[str, object]) -> None:
        """Add the members of an object that are not empty, each after a comma."""
        for key, value in members.items():
            if value:
                self.add(b',"%b":%b' % (key.encode(), encode(value)))

    def result(self) -> tuple[Body, ...]:
        """Return the result of a call, in parts: it may have megabytes."""
        text, structure = memoryview(self._text), memoryview(self._structure)
        return b'{"content":[{"type":"text","text":"', text, b'"}],"structuredContent":', structure, b"}"


def compact(value: bytes) -> bytes:
    """Remove the white space between JSON tokens."""
    return msgspec.json.format(value, indent=-1)
