"""The spellings of a secret in a text: as it is, in hex, in base64 at any alignment, or with escapes.

Hex and base64 have few spellings, which are searched for. Escapes (percent-encoding and JSON) have very many,
because each character may be escaped or not: for these the text is decoded first.
"""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ESCAPE_ROUNDS: Final = 2
"""How often escapes are decoded: a JSON text is often a string inside another one."""
MAX_BYTES_PER_BYTE: Final = 6
"""Bytes that an escape takes for each byte that it stands for, at most."""

_URL_SAFE: Final = str.maketrans("+/", "-_")
_RUNS: Final = bytes(
    b"x"[0] if bytes([byte]).isalnum() or byte in b"+/_-" else b" "[0] for byte in range(256)
)
"""Translation table: the characters of hex and base64 become `x`, and all others a space."""
# Compiled when it is first used, to keep the start short.
_ESCAPE: Final = (
    rb"%[0-9A-Fa-f]{2}"
    rb"|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"  # a surrogate pair: one character
    rb"|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}"
    rb"""|\\["'\\/bfnrt]"""
)
_SHORT_ESCAPES: Final = {
    **{bytes([92, letter]): bytes([letter]) for letter in b"\"'\\/"},
    rb"\b": b"\b",
    rb"\f": b"\f",
    rb"\n": b"\n",
    rb"\r": b"\r",
    rb"\t": b"\t",
}


def plain_spellings(value: str) -> Iterator[str]:
    """Yield a value as it is, as JSON spells it, and as an HTML form does."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    if " " in value:
        yield value.replace(" ", "+")


def encoded_spellings(value: str) -> Iterator[str]:
    """Yield a value in hex, and the part of it that every base64 text with the value inside has."""
    data = encode_text(value)
    yield data.hex()
    yield data.hex().upper()
    yield from _base64_cores(data)


def whole_base64(value: str) -> Iterator[str]:
    """Yield the base64 of a value alone, up to its end. Each begins with one of the encoded spellings."""
    encoded = _base64(encode_text(value))
    for text in (encoded, encoded.rstrip("=")):
        yield text
        yield text.translate(_URL_SAFE)


def has_run(data: bytes, length: int) -> bool:
    """Whether a text has so many characters of hex or base64 in a row. If not, it has no encoded spelling."""
    # Ten times as fast as a pattern.
    return b"x" * length in data.translate(_RUNS)


def _base64_cores(data: bytes) -> Iterator[str]:
    """Yield the part that every base64 text has which encodes this data inside of other data.

    Three bytes become four characters, so that there are three alignments. The characters at the edges depend
    on the data around and are left out: each holds at most four bits of the value.
    """
    for before in range(3):
        encoded = _base64(bytes(before) + data)
        first = -(-before * 8 // 6)
        core = encoded[first : (before + len(data)) * 8 // 6]
        yield core
        yield core.translate(_URL_SAFE)


def encode_text(text: str) -> bytes:
    """Return a text in UTF-8. Surrogates are kept: variables that are not UTF-8 have them."""
    return text.encode(errors="surrogatepass")


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def unescape(data: bytes) -> bytes:
    """Return a text in UTF-8 with its escapes decoded once, or the same object if it has none."""
    if b"%" not in data and b"\\" not in data:
        return data
    return re.sub(_ESCAPE, _replacement, data)


def _replacement(match: re.Match[bytes]) -> bytes:
    return _meaning(match[0])


class Unescaped:
    """A text with its escapes decoded, which knows where each part stood in the original."""

    def __init__(self, data: bytes) -> None:
        self._spots: list[tuple[int, int, int, int]] = []
        """For each escape: start and end in the decoded text, start and end in the original."""
        pieces: list[bytes] = []
        at = size = 0
        for match in re.finditer(_ESCAPE, data):
            start, end = match.span()
            meaning = _meaning(match[0])
            size += start - at
            self._spots.append((size, size + len(meaning), start, end))
            size += len(meaning)
            pieces += data[at:start], meaning
            at = end
        pieces.append(data[at:])
        self.data = b"".join(pieces)

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """Return a part of the original text, extended to whole escapes at both ends."""
        from bisect import bisect_left  # noqa: PLC0415 - only where there is a secret

        for edge in (start, end):
            before = bisect_left(self._spots, edge, key=lambda spot: spot[2]) - 1
            if before >= 0 and self._spots[before][3] > edge:
                start, end = min(start, self._spots[before][2]), max(end, self._spots[before][3])
        return start, end

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the decoded text stands in the original."""
        from bisect import bisect_right  # noqa: PLC0415 - only where there is a secret

        def place(offset: int, *, is_end: bool) -> int:
            found = bisect_right(self._spots, offset - is_end, key=lambda spot: spot[0]) - 1
            if found < 0:
                return offset
            _, after, its_start, its_end = self._spots[found]
            if offset - is_end < after:  # inside of an escape
                return its_end if is_end else its_start
            return its_end + offset - after

        return place(start, is_end=False), place(end, is_end=True)


@lru_cache(maxsize=4096)  # a hostile text may have hundreds of thousands of escapes
def _meaning(escape: bytes) -> bytes:
    if escape in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[escape]
    if escape.startswith(b"%"):
        return bytes.fromhex(escape[1:].decode())
    if escape.startswith(b"\\x"):
        return bytes.fromhex(escape[2:].decode())
    units = bytes.fromhex(escape.decode().replace("\\u", ""))
    return units.decode("utf-16-be", errors="surrogatepass").encode(errors="surrogatepass")
