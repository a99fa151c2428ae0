"""Whether a URI can come from a URI template (RFC 6570), found out in linear time whatever the template is.

The positions in the URI that can be reached are the bits of a number, and each part of the template moves all
of them at once, so that there is nothing to try again. A template that begins with an expression matches
nothing: a server could claim the URIs of all schemes with it.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_TEMPLATE: Final = 1000
"""Characters. A longer template matches nothing."""

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)[^{}]+\}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CROSSING: Final = "+#/?&"
"""Operators whose expansion can have slashes in it."""
_OPENING: Final = "#./;?&"
"""Operators that are themselves the first character of their expansion, unless that is empty."""


class TemplateMatcher:
    """One URI that is compared with templates."""

    def __init__(self, uri: str) -> None:
        self._size = len(uri)
        self._places: dict[str, int] = {}
        """For each character, the positions at which it stands."""
        for position, character in enumerate(uri):
            self._places[character] = self._places.get(character, 0) | 1 << position
        self._scheme = _scheme(uri)
        self._anything = (1 << self._size) - 1

    def matches(self, template: str) -> bool:
        """Whether the URI can be an expansion of the template."""
        if len(template) > LONGEST_TEMPLATE or not self._scheme or _scheme(template) != self._scheme:
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
            reached = (reached & self._places.get(character, 0)) << 1
        return reached

    def _after_expression(self, operator: str, reached: int) -> int:
        allowed = self._anything
        if not (operator and operator in _CROSSING):
            allowed &= ~self._places.get("/", 0)
        begun = reached
        if operator and operator in _OPENING:
            begun = self._after(operator, reached)
        # The carry of the addition runs through the allowed characters after each position.
        run = (((begun & allowed) + allowed) ^ allowed) | begun
        return reached | run


def _scheme(text: str) -> str:
    found = _SCHEME.match(text)
    return found[0].lower() if found else ""


def _parts(template: str) -> list[tuple[str, str | None]]:
    """The literals of a template, each with the operator of the expression after it; the last has none."""
    parts: list[tuple[str, str | None]] = []
    at = 0
    for expression in _EXPRESSION.finditer(template):
        parts.append((template[at : expression.start()], expression[1]))
        at = expression.end()
    return [*parts, (template[at:], None)]
