"""Tells in linear time whether a URI can be an expansion of a URI template (RFC 6570).

The positions reached in the URI are the bits of an integer, and each part of the template moves all of them
at once, so that there is no backtracking. A template that begins with an expression matches nothing: with it
a server could claim the URIs of all schemes.
"""

from __future__ import annotations

import re
from typing import Final

MAX_TEMPLATE_CHARACTERS: Final = 1000
"""A longer template matches nothing."""

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)[^{}]+\}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WITH_SLASHES: Final = "+#/?&"
"""Operators whose expansion can contain slashes."""
_WITH_FIRST_CHARACTER: Final = "#./;?&"
"""Operators that are the first character of their expansion, unless it is empty."""


class TemplateMatcher:
    """Compares one URI with templates."""

    def __init__(self, uri: str) -> None:
        self._size = len(uri)
        self._positions: dict[str, int] = {}
        """The positions of each character in the URI, as bits."""
        for position, character in enumerate(uri):
            self._positions[character] = self._positions.get(character, 0) | 1 << position
        self._scheme = _scheme(uri)
        self._all_positions = (1 << self._size) - 1

    def matches(self, template: str) -> bool:
        """Whether the URI can be an expansion of the template."""
        if len(template) > MAX_TEMPLATE_CHARACTERS or not self._scheme or _scheme(template) != self._scheme:
            return False
        reached = 1
        for literal, operator in _parts(template):
            reached = self._after(literal, reached)
            if operator is not None:
                reached = self._after_expression(operator, reached)
            if not reached:
                return False
        return bool(reached >> self._size)

    def _after(self, literal: str, reached: int) -> int:
        for character in literal:
            reached = (reached & self._positions.get(character, 0)) << 1
        return reached

    def _after_expression(self, operator: str, reached: int) -> int:
        allowed = self._all_positions
        if not (operator and operator in _WITH_SLASHES):
            allowed &= ~self._positions.get("/", 0)
        begun = reached
        if operator and operator in _WITH_FIRST_CHARACTER:
            begun = self._after(operator, reached)
        # The carry of the addition runs through the allowed characters after each reached position.
        run = (((begun & allowed) + allowed) ^ allowed) | begun
        return reached | run


def _scheme(text: str) -> str:
    found = _SCHEME.match(text)
    return found[0].lower() if found else ""


def _parts(template: str) -> list[tuple[str, str | None]]:
    """Split a template into literals, each with the operator of the expression after it, if any."""
    parts: list[tuple[str, str | None]] = []
    at = 0
    for expression in _EXPRESSION.finditer(template):
        parts.append((template[at : expression.start()], expression[1]))
        at = expression.end()
    return [*parts, (template[at:], None)]
