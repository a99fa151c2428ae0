"""Finds a text or a regular expression in a long text, in bounded time and without blocking other threads.

Owns the positions of the matches. Regular expressions are those of the package `regex`: unlike `re` it lets
other threads run while it searches, and has a timeout.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCH_SECONDS: Final = 2.0
"""Time for a regular expression to search a content."""
PIECE_BYTES: Final = 4 * 1024 * 1024
"""Bytes that are decoded at once, or one line if that is longer."""


class Match(msgspec.Struct, frozen=True):
    """The position of a match, in bytes."""

    start: int
    end: int


class Matches(msgspec.Struct, frozen=True):
    """The matches that were found, and whether there are more."""

    matches: list[Match]
    has_more: bool


def find_text(data: bytes, text: str, limit: int) -> Matches:
    """Return the positions of an exact text."""
    encoded = text.encode()
    matches: list[Match] = []
    at = data.find(encoded)
    while at >= 0 and len(matches) < limit:
        matches.append(Match(at, at + len(encoded)))
        at = data.find(encoded, at + len(encoded))
    return Matches(matches, has_more=at >= 0)


def find_pattern(data: bytes, pattern: str, limit: int, *, ignores_case: bool, is_literal: bool) -> Matches:
    """Return the matches of a regular expression; `^` and `$` match at line ends. Raises BadPattern."""
    import regex  # noqa: PLC0415 - takes 13 ms, and few searches need it

    flags = regex.MULTILINE | (regex.IGNORECASE if ignores_case else 0)
    try:
        # Not cached by the package: a compiled expression keeps the memory of its searches.
        compiled = regex.compile(regex.escape(pattern) if is_literal else pattern, flags, cache_pattern=False)
    except regex.error as error:
        raise BadPattern(f"it is not a regular expression: {error}") from None
    except RecursionError:
        raise BadPattern("the expression is nested too deeply") from None
    end = time.monotonic() + SEARCH_SECONDS
    matches: list[Match] = []
    try:
        for start, text in _pieces(data):
            left = max(end - time.monotonic(), 0.001)
            reached, reached_at = 0, start
            for found in compiled.finditer(text, timeout=left, concurrent=True):
                if found.end() == found.start():
                    continue
                if len(matches) == limit:
                    return Matches(matches, has_more=True)
                # Counted from the last match on: a text may have millions of characters before it.
                begin = reached_at + len(text[reached : found.start()].encode())
                reached, reached_at = found.end(), begin + len(found[0].encode())
                matches.append(Match(begin, reached_at))
    except TimeoutError:
        took = f"the search took more than {SEARCH_SECONDS:g} s"
        raise BadPattern(f"{took}: simplify the expression, or search for a text") from None
    except MemoryError:
        # The package has a memory limit of its own.
        reason = "the search took more memory than there is for it"
        raise BadPattern(f"{reason}: simplify the expression, or search for a text") from None
    return Matches(matches, has_more=False)


def _pieces(data: bytes) -> Iterator[tuple[int, str]]:
    """Return pieces of whole lines, and where they begin."""
    start = 0
    while start < len(data):
        end = (
            data.rfind(b"\n", start, start + PIECE_BYTES) + 1
            if len(data) - start > PIECE_BYTES
            else len(data)
        )
        if end <= start:
            end = data.find(b"\n", start) + 1 or len(data)
        yield start, data[start:end].decode(errors="replace")
        start = end
