"""The text that replaces a kept content: its size and shape, its beginning and end, and how to read on.

Owns the wording. The names of the tools come from `builtin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.kept.definitions import READ_RESULT, SEARCH_RESULT, SERVER, TOOLBOX
from mcp_workbench.workbench.kept.json_parts import items_of, kind_of, members_of
from mcp_workbench.workbench.kept.reading import line_at, piece_of_bytes
from mcp_workbench.workbench.kept.shape import count_lines, shape_of_json, shape_of_text
from mcp_workbench.workbench.text.json_pointer import escape_step
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from mcp_workbench.workbench.kept.client_results import Content

MAX_CHARACTERS: Final = 4000
"""Approximate length of a preview."""

MAX_NAME_CHARACTERS: Final = 200
"""Length of URIs and media types in a preview."""

_READ: Final = f'use_tool {{"tool": {{"toolbox": "{TOOLBOX}", "server": "{SERVER}", "tool": "{READ_RESULT}"}}'


def preview(content: Content, limit: int, uri: str = "") -> str:
    """Return the preview of a content, with about `limit` bytes at most."""
    space = min(MAX_CHARACTERS, limit)
    head = _head(content, f" of the resource {shorten(uri, MAX_NAME_CHARACTERS)}" if uri else "")
    if content.kind == "binary":
        return f"{head}\n\n{how_to_read(content)}"
    beginning, end = _ends(content.data, space)
    omitted = len(content.data) - len(beginning) - len(end)
    first, last = (end_.decode().removesuffix("\n") for end_ in (beginning, end))
    shown = f"{first}\n… {omitted:,} bytes left out …\n{last}"
    return f"{head}\nShape: {_shape(content, space)}\n\n{shown}\n\n{how_to_read(content, len(beginning))}"


def note(content: Content) -> str:
    """Return what is kept and how to read it, without an excerpt, for a place that did not hold it."""
    return f"{_head(content, '')}\n{how_to_read(content)}"


def _shape(content: Content, space: int) -> str:
    """Return the shape of text or JSON, in a line."""
    if content.is_json:
        return shape_of_json(content.data, space // 7)
    return shape_of_text(content.data)


def how_to_read(content: Content, shown: int = 0) -> str:
    """Say how to read on after the first `shown` bytes."""
    handle = content.handle
    if content.kind == "binary":
        how = f'To get it whole: {_READ}, "arguments": {{"handle": "{handle}"}}}}.'
        part = ""
    else:
        place = _next_place(content, shown)
        how = (
            f'To read on: {_READ}, "arguments": {{"handle": "{handle}", {place}}}}}. '
            f'{SEARCH_RESULT} there takes "handle" and "text" or "regex".'
        )
        part = ', and with "pointer": "/…" for a part' if content.is_json else ""
    return f'{how} In the arguments of any tool, {{"$result": "{handle}"}} stands for all of it{part}.'


def _head(content: Content, of: str) -> str:
    size, mime = len(content.data), shorten(content.mime, MAX_NAME_CHARACTERS)
    if content.kind == "binary":
        bytes_ = size * 3 // 4 - content.data[-2:].count(b"=")
        what = f"{bytes_:,} bytes of {mime or 'an unknown type'}"
    elif content.is_json:
        what = f"{size:,} bytes of JSON"
    else:
        what = f"{size:,} bytes of text{f' ({mime})' if mime else ''}"
    return f"Result kept by the workbench: {what}{of}, handle {content.handle}"


def _ends(data: bytes, space: int) -> tuple[bytes, bytes]:
    """Return the beginning and the end of a content, cut between lines if possible."""
    # The text around them takes up to 500 characters.
    longest = (space - 500) * 4 // 7
    first = piece_of_bytes(data, 0, longest * 3 // 4)
    last = piece_of_bytes(data, max(first.end, len(data) - longest // 4), longest)
    beginning, end = data[: first.end], data[last.start :]
    cut = beginning.rfind(b"\n")
    if cut > len(beginning) // 2:
        beginning = beginning[: cut + 1]
    cut = end.find(b"\n")
    if 0 <= cut < len(end) // 2:
        end = end[cut + 1 :]
    return beginning, end


def _next_place(content: Content, shown: int) -> str:
    data = content.data
    if content.is_json and (pointer := _largest_part(data)):
        return f'"pointer": {encode(pointer).decode()}'
    if count_lines(data) > 1:
        return f'"start_line": {line_at(data, shown)}'
    return f'"offset": {shown}'


def _largest_part(data: bytes) -> str:
    """Return a pointer to the largest part of a JSON value; empty if it has no parts."""
    value = data.strip()
    kind = kind_of(value)
    if kind == "array":
        return "/0" if items_of(value) else ""
    if kind != "object" or not (members := members_of(value)):
        return ""
    key = max(members, key=lambda key: len(members[key]))
    pointer = f"/{escape_step(key)}"
    return f"{pointer}/0" if kind_of(members[key]) == "array" else pointer
