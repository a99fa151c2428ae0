"""How a value is written as JSON: in the style of the file that it goes into.

Owns indentation, separators, and what goes on one line. Does not know the text around the value.
"""

from __future__ import annotations

import json
from typing import NamedTuple

MAX_LINE_CHARACTERS = 100
"""Characters of a line with a list or an object on it that could as well take several lines."""


class Style(NamedTuple):
    """The way a file is written: its line breaks, its indentation, and the spaces around separators."""

    newline: str = "\n"
    unit: str = "  "
    """The white space by which a member is indented more than its object."""
    colon: str = ": "
    comma: str = ", "
    """What separates members on one line."""
    padding: str = ""
    """What is inside of the brackets of an object on one line."""

    def write(self, value: object, indent: str, *, on_one_line: bool) -> str:
        """Return a value as JSON text. `indent` is the white space before the line that it starts on.

        Objects take several lines unless `on_one_line`. Short lists of strings and numbers take one.
        """
        if not isinstance(value, dict | list):
            return scalar(value)
        if not value:
            return "{}" if isinstance(value, dict) else "[]"
        if on_one_line:
            return self._on_one_line(value)
        if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            line = self._on_one_line(value)
            if len(indent) + len(line) <= MAX_LINE_CHARACTERS:
                return line
        return self._on_lines(value, indent)

    def key(self, key: str) -> str:
        """Return a key with the colon after it."""
        return scalar(key) + self.colon

    def _on_one_line(self, value: dict[str, object] | list[object]) -> str:
        if isinstance(value, dict):
            members = (self.key(key) + self.write(item, "", on_one_line=True) for key, item in value.items())
            return f"{{{self.padding}{self.comma.join(members)}{self.padding}}}"
        return f"[{self.comma.join(self.write(item, '', on_one_line=True) for item in value)}]"

    def _on_lines(self, value: dict[str, object] | list[object], indent: str) -> str:
        inner = indent + self.unit
        if isinstance(value, dict):
            brackets = "{}"
            members = [
                self.key(key) + self.write(item, inner, on_one_line=False) for key, item in value.items()
            ]
        else:
            brackets = "[]"
            members = [self.write(item, inner, on_one_line=False) for item in value]
        lines = f",{self.newline}{inner}".join(members)
        return f"{brackets[0]}{self.newline}{inner}{lines}{self.newline}{indent}{brackets[1]}"


def scalar(value: object) -> str:
    """Return a string, a number, a boolean or None as JSON; letters of any language stay as they are."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)  # half of a surrogate pair has no bytes of its own
    return text
