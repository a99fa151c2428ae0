"""Comments and trailing commas in JSON, which people and editors write although JSON has neither.

Owns where they are. Replaces them by spaces, so that any JSON parser can read the text and every position in
it stays the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]
"""The start and the end of a part of a text."""

# A string without its closing quotes ends with the line, so that the parser reports the mistake there.
_STRING = r'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[\]}}])")
_ANY_COMMA = re.compile(r",[ \t\r\n]*[\]}]")
_NO_LINE_BREAK = re.compile(r"[^\r\n]")
_WHITESPACE = " \t\r\n"


def without_comments(text: str) -> str:
    """Return JSON text with spaces in place of comments and trailing commas.

    Length and line breaks stay the same, so that positions in errors are those of the file. Strings are not
    touched. A comma without a value before it, as in `[,]`, stays a mistake, and so does an open comment.
    """
    return without_trailing_commas(blank(text, list(comments(text))))


def comments(text: str) -> Iterator[Span]:
    """Yield where each comment in JSON text starts and ends, in their order."""
    if "//" in text or "/*" in text:
        for match in _COMMENT.finditer(text):
            if text[match.start()] == "/":
                yield match.span()


def blank(text: str, spans: list[Span]) -> str:
    """Return the text with spaces in place of everything in the spans, except for line breaks."""
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], _NO_LINE_BREAK.sub(" ", text[start:end]))
        position = end
    return "".join([*parts, text[position:]])


def without_trailing_commas(text: str) -> str:
    """Return JSON text that has no comments with a space in place of each comma before a closing bracket."""
    if _ANY_COMMA.search(text) is None:
        return text
    commas = (match.start() for match in _COMMA.finditer(text) if text[match.start()] == ",")
    return blank(text, [(comma, comma + 1) for comma in commas if _follows_a_value(text, comma)])


def _follows_a_value(text: str, comma: int) -> bool:
    before = comma - 1
    while before >= 0 and text[before] in _WHITESPACE:
        before -= 1
    return before >= 0 and text[before] not in ",:[{"
