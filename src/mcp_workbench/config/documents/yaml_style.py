"""How a value is written as YAML: in the indentation of the file that it goes into.

Owns the choice between plain and quoted strings, and block and flow style. Strings that a parser of YAML 1.1
or 1.2 might take for something else are quoted.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+(-][A-Za-z0-9_./@+(),-]*)*")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
"""Words that are no strings in some version of YAML."""


class BlockStyle(NamedTuple):
    """The indentation of a YAML file."""

    newline: str = "\n"
    step: int = 2
    """Columns by which a mapping is indented more than the one that it is in."""
    offset: int = 2
    """Columns by which the dashes of a list are indented more than its key."""

    def member(self, step: str | int, value: object, indent: int) -> list[str]:
        """Return the lines of a new member of a mapping, or of a new item if the step is an index."""
        return self.block({step: value} if isinstance(step, str) else [value], indent)

    def block(self, value: dict[str, object] | list[object], indent: int) -> list[str]:
        """Return the lines of a mapping or a list that is not empty, in block style."""
        space = " " * indent
        if isinstance(value, list):
            return [
                f"{space}- {line.removeprefix(space)[2:]}" if not number else line
                for item in value
                for number, line in enumerate(self._item(item, indent))
            ]
        lines: list[str] = []
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                lines.append(f"{space}{scalar(key)}:")
                lines += self.block(item, indent + (self.step if isinstance(item, dict) else self.offset))
            else:
                lines.append(f"{space}{scalar(key)}: {flow(item)}")
        return lines

    def _item(self, item: object, indent: int) -> list[str]:
        """Return the lines of an item, with two spaces in place of its dash."""
        if isinstance(item, dict | list) and item:
            return self.block(item, indent + 2)
        return [" " * (indent + 2) + flow(item)]


def flow(value: object) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def scalar(value: object) -> str:
    """Return a string, a number, a boolean or None as YAML."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08X}"
