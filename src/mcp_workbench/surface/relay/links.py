"""Finds the resource URIs in a server's result, and notes which server sent them to the client.

Every member named `uri` counts, at any depth: links, embedded resources, contents that were read. They are
found in the bytes of the result, which is not decoded. A URI with the workbench's own scheme that names
another server is wrapped as a URI of the server that sent it, so that no server can forge links to another.
Nothing else in a result is changed.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.names import URI_SIGNS
from mcp_workbench.protocol.results import read_stamps
from mcp_workbench.surface.resources.names import (
    SCHEME,
    QualifiedName,
    is_uri,
    is_wrapped,
    unwrap_uri,
    wrap_uri,
)
from mcp_workbench.wire import byte_search
from mcp_workbench.wire.message import decode_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.config import Origin
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.surface.relay.relayed import RelayedRequest
    from mcp_workbench.workbench.emitted_uris import EmittedUris

MAX_URI_BYTES: Final = 8192
"""Bytes of the longest URI that is noted. Clients can read longer ones only under their wrapped name."""
MAX_ESCAPED_BYTES: Final = 6 * MAX_URI_BYTES
"""Bytes of the longest URI in JSON: each byte takes at most six, as in `\\u0041`."""
WINDOW_BYTES: Final = 16 * 1024
"""Bytes that one step searches. A step with nothing but links in it takes about 10 ms."""
TURN_SECONDS: Final = 0.005
"""Seconds that a search runs before it yields to the event loop."""
LONG_BYTES: Final = 2 * 1024 * 1024
"""Bytes from which on even the search for the first URI yields to the event loop."""
SHORT_BYTES: Final = 2048
"""Bytes up to which a result is searched for keys with one regular expression."""
HEAD_CHARACTERS: Final = 256
"""Characters at the beginning of a URI in which its scheme must be."""
ZERO: Final = b"\0"
KEY_BYTES: Final = 20
"""Bytes of the longest form of the key in JSON, with every letter escaped."""

_KEY_END, _ESCAPE = URI_SIGNS

# A quote begins a string unless it is escaped, as inside a text. Any letter of the key can be escaped.
find_key: Final = re.compile(rb'"(?<!\\")(?:u|\\u0075)(?:r|\\u0072)(?:i|\\u0069)"').search
_find_escaped_letter: Final = re.compile(rb"\\u00[67]").search
_match_colon: Final = re.compile(rb'[ \t\r\n]*+:[ \t\r\n]*+"').match
_match_value: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL).match
_match_head: Final = re.compile(
    rb'(?:[^"\\]|\\u[dD][89abAB]..\\u....|\\u....|\\[^u]){0,200}+', re.DOTALL
).match
"""Matches whole characters only: half of a surrogate pair is not text."""
_IGNORED: Final = re.compile("[\x00-\x20]+")
"""Characters that URL parsers ignore, at the beginning or anywhere."""


def may_hold_uris(result: msgspec.Raw) -> bool:
    """Whether a result may contain a resource URI.

    Few results do, so this is quick: 2 µs for 10 KB, 0.1 ms for a megabyte. It copies one window at a time.
    """
    if len(result) <= WINDOW_BYTES:
        return _may_hold_key(bytes(result))
    data = memoryview(result)
    for start in range(0, len(data), WINDOW_BYTES):
        if _may_hold_key(bytes(data[start : start + WINDOW_BYTES + KEY_BYTES])):
            return True
    return False


def _may_hold_key(data: bytes) -> bool:
    if byte_search.find(data, _KEY_END) or ZERO in data:  # a zero byte ends the search
        return True
    # Letters outside of ASCII are often escaped too.
    return bool(byte_search.find(data, _ESCAPE)) and _find_escaped_letter(data) is not None


def note_uris(call: RelayedRequest, result: msgspec.Raw, stamps: Stamps | None) -> None:
    """Note the URIs in a result, and then call `on_result` again; in a task if the result is long."""
    reading = _Reading(result, call.toolbox_server.origin, call.requests.emitted)
    steps = reading.steps()
    if len(result) <= WINDOW_BYTES:
        for _ in steps:
            pass
        _pass_on(call, reading, stamps)
    else:
        call.requests.finish_after(call, partial(_note_uris_later, call, reading, steps, stamps))


async def _note_uris_later(
    call: RelayedRequest, reading: _Reading, steps: Iterator[None], stamps: Stamps | None
) -> None:
    until = time.perf_counter() + TURN_SECONDS
    for _ in steps:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + TURN_SECONDS
    _pass_on(call, reading, stamps)


def _pass_on(call: RelayedRequest, reading: _Reading, stamps: Stamps | None) -> None:
    result = reading.result()
    is_changed = result is not reading.raw
    call.on_result(result, read_stamps(result) if is_changed and stamps is not None else stamps)


class _Reading:
    """The search for URIs in one result."""

    def __init__(self, raw: msgspec.Raw, origin: Origin, emitted: EmittedUris) -> None:
        self.raw = raw
        self._origin = origin
        self._emitted = emitted
        self._prefix = wrap_uri(QualifiedName(*origin, "")).encode()
        self._wrapped = bytearray()
        """The result up to the last URI that was wrapped; empty if none was."""
        self._copied = 0
        """Bytes of the result that have been copied to `_wrapped`."""

    def steps(self) -> Iterator[None]:
        """Search the result, one window per step."""
        size = len(self.raw)
        for start in range(0, size, WINDOW_BYTES):
            # A key that begins in this window may end in the next.
            end, limit = start + WINDOW_BYTES, min(start + WINDOW_BYTES + KEY_BYTES, size)
            at = start
            if not _may_hold_key(bytes(memoryview(self.raw)[start:limit])):
                at = limit
            while (key := find_key(self.raw, at, limit)) and key.start() < end:
                at = key.end()
                if colon := _match_colon(self.raw, at):
                    self._take_uri(colon.end())
            yield

    def result(self) -> msgspec.Raw:
        """Return the result with forged URIs wrapped; the same object if there are none."""
        if not self._copied:
            return self.raw
        self._wrapped += memoryview(self.raw)[self._copied :]
        return msgspec.Raw(self._wrapped)

    def _take_uri(self, start: int) -> None:
        """Note the URI that begins at this byte, or wrap it if it is forged."""
        found = _match_value(self.raw, start, start + MAX_ESCAPED_BYTES)
        value = found[0] if found else b""
        is_whole = bytes(memoryview(self.raw)[start + len(value) :][:1]) == b'"'
        uri = _decode(value if is_whole else _head(value))
        if uri is None or self._is_forged(uri, is_whole=is_whole):
            self._wrapped += memoryview(self.raw)[self._copied : start]
            self._wrapped += self._prefix
            self._copied = start
        elif not is_uri(head := _IGNORED.sub("", uri[:HEAD_CHARACTERS])) or is_wrapped(uri):
            return
        elif is_whole:
            self._emitted.note(self._origin, uri)
        elif not head.lower().startswith("data:"):
            # Clients may shorten such a URI, for example by resolving many `..`.
            self._emitted.incomplete.add(self._origin)

    def _is_forged(self, uri: str, *, is_whole: bool) -> bool:
        """Whether a URI has the workbench's scheme and names another server than the one that sent it."""
        head = _IGNORED.sub("", uri)
        if is_wrapped(uri) and (place := unwrap_uri(uri)) is not None:
            return (place.toolbox, place.server) != self._origin
        return is_wrapped(head) or (not is_whole and len(head) < len(SCHEME))


def _head(value: bytes) -> bytes:
    """Return the first characters of a value that is too long to decode as a whole."""
    found = _match_head(value)
    return found[0].decode(errors="ignore").encode() if found else b""


def _decode(value: bytes) -> str | None:
    """Decode a JSON string that is given without its quotes; None if it is invalid."""
    return decode_text(msgspec.Raw(b'"%b"' % value))
