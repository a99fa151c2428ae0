"""Replaces references to kept results in the arguments of a call by the content that they stand for.

Owns their form, `{"$result": "<handle>", "pointer": "<pointer>"}`, where every handle begins with `res_`. All
other bytes of the arguments stay as they are.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import InvalidCall, NoSuchPart, size_of
from mcp_workbench.wire.message import decode_text, encode
from mcp_workbench.workbench.kept.client_results import not_kept
from mcp_workbench.workbench.kept.json_parts import find_part

if TYPE_CHECKING:
    from mcp_workbench.config import Origin
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.kept.client_results import ClientResults, Content

MAX_FILLED_BYTES: Final = 64 * 1024 * 1024
"""Size of the arguments after the replacement: as much as a client may send."""
INLINE_BYTES: Final = 256 * 1024
"""Contents of this size are searched in less than 5 ms, for all references of a call. A thread searches
more."""
TIMEOUT_SECONDS: Final = 30.0
"""Time for finding one referenced part in a thread."""
FORM: Final = '{"$result": "<handle>"}, or with "pointer": "/…" for a part of it'

# A quote after a brace always begins a key: inside of a string it would be escaped.
_STRING: Final = rb'("(?:[^"\\]|\\.)*+")'
_HANDLE: Final = rb'"\$result"\s*+:\s*+("res_(?:[^"\\]|\\.)*+")'
_POINTER: Final = rb'"pointer"\s*+:\s*+' + _STRING
_COMMA: Final = rb"\s*+,\s*+"
_REFERENCE: Final = rb"\{\s*+(?:%b(?:%b%b)?|%b%b%b)\s*+\}" % (
    _HANDLE,
    _COMMA,
    _POINTER,
    _POINTER,
    _COMMA,
    _HANDLE,
)
_MALFORMED: Final = rb'"\$result"\s*+:\s*+"res_'


def sources_of(arguments: Body, client_results: ClientResults) -> tuple[Origin, ...]:
    """Return the servers whose results the arguments refer to. Nothing is read for that.

    A handle under which nothing is kept has no source: `fill_in` refuses it.
    """
    handles = dict.fromkeys(_handle(found) for found in re.finditer(_REFERENCE, bytes(arguments)))
    kept = filter(None, map(client_results.find, handles))
    return tuple(dict.fromkeys(origin for content in kept for origin in content.origins))


async def fill_in(arguments: Body, client_results: ClientResults) -> bytes:
    """Return the arguments with their references replaced. Raises CallError."""
    written = bytes(arguments)
    parts: list[bytes] = []
    at, size = 0, len(written)
    finder = _Finder(client_results)
    for found in re.finditer(_REFERENCE, written):
        value = await finder.value(_handle(found), _read(found[2] or found[3]))
        size += len(value)
        if size > MAX_FILLED_BYTES:
            reason = f"with the results that they refer to they have more than {size_of(MAX_FILLED_BYTES)}"
            raise InvalidCall(f"Invalid arguments: {reason}. Refer to parts of them, by pointers")
        parts += written[at : found.start()], value
        at = found.end()
    parts.append(written[at:])
    if any(re.search(_MALFORMED, part) for part in parts[::2]):
        raise InvalidCall(f"Invalid arguments: a reference to a result has exactly this form: {FORM}")
    filled = b"".join(parts)
    if not filled.lstrip().startswith(b"{"):
        raise InvalidCall("Invalid arguments: what they refer to is not an object, and arguments must be one")
    return filled


def _handle(reference: re.Match[bytes]) -> str:
    return _read(reference[1] or reference[4]) or ""


def _read(string: bytes | None) -> str | None:
    return None if string is None else decode_text(msgspec.Raw(string))


class _Finder:
    """Finds the values of the references of one call. There may be very many."""

    def __init__(self, client_results: ClientResults) -> None:
        self._client_results = client_results
        self._searched_bytes = 0
        """Size of the contents searched so far, for all references of the call."""

    async def value(self, handle: str, pointer: str | None) -> bytes:
        """Return the referenced value as JSON. Raises CallError."""
        client_results = self._client_results
        kept = client_results.find(handle)
        data = None if kept is None else await client_results.read(kept)
        if kept is None or data is None:
            raise not_kept(handle)
        work = partial(_value_in, msgspec.structs.replace(kept.content, data=data), pointer)
        self._searched_bytes += len(data)
        if self._searched_bytes <= INLINE_BYTES:
            return work()
        try:
            return await client_results.work(work, TIMEOUT_SECONDS)
        except TimeoutError:
            raise InvalidCall(
                f"Invalid arguments: to find {handle} took more than {TIMEOUT_SECONDS:g} s"
            ) from None


def _value_in(content: Content, pointer: str | None) -> bytes:
    if pointer is not None:
        if not content.is_json:
            reason = f"{content.handle} is not JSON, so a pointer cannot select a part of it"
            raise InvalidCall(f"Invalid arguments: {reason}. Refer to all of it, without a pointer")
        try:
            return _in_one_line(bytes(find_part(content.data, pointer)))
        except NoSuchPart as problem:
            raise InvalidCall(f"Invalid arguments: in {content.handle}, {problem}") from None
    if content.kind == "json":
        return _in_one_line(content.data)
    return encode(content.data.decode())


def _in_one_line(value: bytes) -> bytes:
    """Replace line ends by spaces. JSON strings contain none, so that no value changes."""
    return value.replace(b"\n", b" ").replace(b"\r", b" ")
