"""The resource URIs in a server's result: remembered for the client, and kept to the server that sent them.

Every member named `uri` counts, wherever it stands: links, embedded resources, contents that were read. They
are found in the bytes of the result, which is not decoded. A URI with our own scheme that leads to another
server is wrapped as one of the server that sent it, so that no server can write links of ours. Nothing else
of a result is changed.
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

LONGEST_URI_BYTES: Final = 8192
"""The longest URI that is remembered. Longer ones can only be read under their wrapped name."""
LONGEST_ESCAPED: Final = 6 * LONGEST_URI_BYTES
"""Its longest form in JSON: each byte of it takes at most six, as in `\\u0041`."""
WINDOW_BYTES: Final = 16 * 1024
"""What is looked through in one step. A step with nothing but links in it takes about 10 ms."""
TURN_SECONDS: Final = 0.005
"""How long a long result is looked through before others get their turn."""
LONG_BYTES: Final = 2 * 1024 * 1024
"""From this size on, the first URI is looked for in steps too, beside other calls."""
SHORT_BYTES: Final = 2048
"""Up to this size, a result is looked through for keys at once."""
HEAD_CHARACTERS: Final = 256
"""At the beginning of a URI, where its scheme has to be."""
ZERO: Final = b"\0"
KEY_BYTES: Final = 20
"""The longest form of the key in JSON, all of it escaped."""

_KEY_END, _ESCAPE = URI_SIGNS

# A quote that is not escaped, as inside of a text, begins a string. Any letter of the key can be escaped.
find_key: Final = re.compile(rb'"(?<!\\")(?:u|\\u0075)(?:r|\\u0072)(?:i|\\u0069)"').search
_find_escaped_letter: Final = re.compile(rb"\\u00[67]").search
_match_colon: Final = re.compile(rb'[ \t\r\n]*+:[ \t\r\n]*+"').match
_match_value: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL).match
_match_head: Final = re.compile(
    rb'(?:[^"\\]|\\u[dD][89abAB]..\\u....|\\u....|\\[^u]){0,200}+', re.DOTALL
).match
"""Whole characters: half of a surrogate pair would be no text."""
_IGNORED: Final = re.compile("[\x00-\x20]+")
"""Parsers of URLs leave these out, at the beginning or wherever they stand."""


def may_hold_uris(result: msgspec.Raw) -> bool:
    """Whether there may be a resource URI in a result. Few have one, so this has to be quick: 10 KB take
    2 µs, a megabyte 0.1 ms. No more than a window is copied at a time.
    """
    if len(result) <= WINDOW_BYTES:
        return _may_hold_key(bytes(result))
    data = memoryview(result)
    for start in range(0, len(data), WINDOW_BYTES):
        if _may_hold_key(bytes(data[start : start + WINDOW_BYTES + KEY_BYTES])):
            return True
    return False


def _may_hold_key(data: bytes) -> bool:
    if byte_search.find(data, _KEY_END) or ZERO in data:  # which would end the search
        return True
    # Letters that are not ASCII are often written so too.
    return bool(byte_search.find(data, _ESCAPE)) and _find_escaped_letter(data) is not None


def follow(call: RelayedRequest, result: msgspec.Raw, stamps: Stamps | None) -> None:
    """Take note of the URIs in a result, and then pass it on; beside other calls if it is long."""
    reading = _Reading(result, call.toolbox_server.origin, call.calls.emitted)
    steps = reading.steps()
    if len(result) <= WINDOW_BYTES:
        for _ in steps:
            pass
        _pass_on(call, reading, stamps)
    else:
        call.calls.finish_after(call, partial(_follow_later, call, reading, steps, stamps))


async def _follow_later(
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
    """One result that is looked through for URIs."""

    def __init__(self, raw: msgspec.Raw, origin: Origin, emitted: EmittedUris) -> None:
        self.raw = raw
        self._origin = origin
        self._emitted = emitted
        self._prefix = wrap_uri(QualifiedName(*origin, "")).encode()
        self._wrapped = bytearray()
        """The result with URIs wrapped, up to where the last of these begins; empty if there is none."""
        self._copied = 0
        """How much of the result is in there."""

    def steps(self) -> Iterator[None]:
        """Look through the result, one window at a time."""
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
                    self._take(colon.end())
            yield

    def result(self) -> msgspec.Raw:
        """The result with the URIs wrapped that are to be; the same object if there are none."""
        if not self._copied:
            return self.raw
        self._wrapped += memoryview(self.raw)[self._copied :]
        return msgspec.Raw(self._wrapped)

    def _take(self, start: int) -> None:
        """Take note of the URI that begins here."""
        found = _match_value(self.raw, start, start + LONGEST_ESCAPED)
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
            # Clients may make a short one of it, as of many `..`.
            self._emitted.incomplete.add(self._origin)

    def _is_forged(self, uri: str, *, is_whole: bool) -> bool:
        """Whether a URI claims to be ours and leads to another server than the one that sent it."""
        head = _IGNORED.sub("", uri)
        if is_wrapped(uri) and (place := unwrap_uri(uri)) is not None:
            return (place.toolbox, place.server) != self._origin
        return is_wrapped(head) or (not is_whole and len(head) < len(SCHEME))


def _head(value: bytes) -> bytes:
    """The first characters of a value that is too long to be looked at as a whole."""
    found = _match_head(value)
    return found[0].decode(errors="ignore").encode() if found else b""


def _decode(value: bytes) -> str | None:
    """The text of a JSON string without its quotes."""
    return decode_text(msgspec.Raw(b'"%b"' % value))
