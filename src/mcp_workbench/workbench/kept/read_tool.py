"""The result of `read_result`: a part of a kept content, unchanged, and a note on how to read on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import InvalidCall, NoSuchPart
from mcp_workbench.wire.message import decode_members, decode_text, encode
from mcp_workbench.workbench.kept.json_parts import find_part, kind_of
from mcp_workbench.workbench.kept.reading import line_at, line_start, piece_of_bytes, piece_of_lines
from mcp_workbench.workbench.kept.shape import count_lines, shape_of_json

if TYPE_CHECKING:
    from mcp_workbench.workbench.kept.client_results import Content
    from mcp_workbench.workbench.kept.reading import Piece

DEFAULT_BYTES: Final = 20_000
"""Size of a part if the call names no length."""
SHAPE_CHARACTERS: Final = 2000
"""Length of the shape that is shown of a value that is too large."""


class ReadRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `read_result`."""

    handle: str
    start_line: int | None = None
    end_line: int | None = None
    offset: int | None = None
    length: int | None = None
    pointer: str | None = None

    def check(self) -> None:
        """Check the arguments. Raises InvalidCall."""
        if self._is_by_lines and self._is_by_bytes:
            raise InvalidCall("Invalid arguments: ask for lines or for bytes (offset, length), not for both")
        least = (("start_line", 1), ("end_line", self.start_line or 1), ("offset", 0), ("length", 1))
        for name, minimum in least:
            value: int | None = getattr(self, name)
            if value is not None and value < minimum:
                raise InvalidCall(f"Invalid arguments: {name} must be at least {minimum}, and is {value}")

    @property
    def _is_by_lines(self) -> bool:
        return not (self.start_line is None and self.end_line is None)

    @property
    def _is_by_bytes(self) -> bool:
        return not (self.offset is None and self.length is None)

    @property
    def is_quick(self) -> bool:
        """Whether reading a short content takes no noticeable time; it never does."""
        return True

    def answer(self, content: Content, limit: int) -> list[msgspec.Raw]:
        """Return the part as blocks, with a note on how to read on. Raises InvalidCall."""
        has_range = self._is_by_lines or self._is_by_bytes
        if content.kind == "binary":
            if self._is_by_lines or self.pointer is not None:
                reason = f"it is {content.mime or 'binary'}, which has no lines and no parts"
                raise InvalidCall(f"Invalid arguments: {reason}. Read it whole, or by bytes of its base64")
            return self._part(content.data, limit) if has_range else [_whole(content)]
        if self.pointer is None:
            return self._part(content.data, limit)
        if not content.is_json:
            reason = "it is not JSON, so a pointer cannot select a part of it"
            raise InvalidCall(f"Invalid arguments: {reason}. Ask for lines or bytes")
        try:
            value = bytes(find_part(content.data, self.pointer))
        except NoSuchPart as problem:
            raise InvalidCall(f"Invalid arguments: {problem}") from None
        kind = kind_of(value)
        size = f"{len(value):,} bytes"
        if not has_range:
            if len(value) <= min(DEFAULT_BYTES, limit):
                return [_text(value), _note(f"This is all of {self.pointer!r}, of the type {kind} ({size}).")]
            if kind != "string":
                return [
                    _text(shape_of_json(value, SHAPE_CHARACTERS).encode()),
                    _note(_deeper(self.pointer, kind, size)),
                ]
        if kind == "string":
            text = decode_text(msgspec.Raw(value))
            value = value if text is None else text.encode()
        return self._part(value, limit)

    def _part(self, data: bytes, limit: int) -> list[msgspec.Raw]:
        lines = count_lines(data)
        if self._is_by_bytes or (lines == 1 and not self._is_by_lines):
            start = self.offset or 0
            if start >= len(data) > 0:
                raise InvalidCall(
                    f"Invalid arguments: offset is {start:,}, and the end is at {len(data):,} bytes"
                )
            piece = piece_of_bytes(data, start, min(self.length or DEFAULT_BYTES, limit))
        else:
            first = self.start_line or 1
            if first > lines > 0:
                raise InvalidCall(f"Invalid arguments: start_line is {first:,}, and the last is {lines:,}")
            most = min(DEFAULT_BYTES, limit) if self.end_line is None else limit
            piece = piece_of_lines(data, first, self.end_line, most)
        return [_text(data[piece.start : piece.end]), _note(_what_comes_next(data, piece, lines))]


def _what_comes_next(data: bytes, piece: Piece, lines: int) -> str:
    where = f"bytes {piece.start:,} to {piece.end:,} of {len(data):,}"
    is_at_lines = line_start(data, line_at(data, piece.start)) == piece.start
    ends_line = piece.end == len(data) or data[piece.end - 1 : piece.end] == b"\n"
    by_lines = is_at_lines and ends_line and lines > 1
    if by_lines:
        first, after = line_at(data, piece.start), line_at(data, piece.end)
        last = lines if piece.end == len(data) else after - 1
        where = f"lines {first:,} to {last:,} of {lines:,} ({where})"
        following = f'"start_line": {after}'
    else:
        following = f'"offset": {piece.end}'
    end = "This is the end." if piece.end == len(data) else f"Go on with {following}."
    return f"These are {where}. {end}"


def _deeper(pointer: str, kind: str, size: str) -> str:
    inside = f"{pointer}/0" if kind == "array" else f"{pointer}/<key>"
    return (
        f"This is the shape of {pointer!r}, an {kind} that is too large to be shown at once ({size}). "
        f'Go deeper, as in "pointer": "{inside}", or read it by bytes: add "offset" and "length".'
    )


def _whole(content: Content) -> msgspec.Raw:
    """Return a file in a block of its original form."""
    resource = {**decode_members(content.frame["resource"]), "blob": content.data.decode()}
    return msgspec.Raw(encode({**content.frame, "resource": resource}))


def _text(data: bytes) -> msgspec.Raw:
    return msgspec.Raw(encode({"type": "text", "text": data.decode()}))


def _note(text: str) -> msgspec.Raw:
    return msgspec.Raw(encode({"type": "text", "text": text}))
