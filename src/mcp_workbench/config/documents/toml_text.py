"""A TOML text, taken apart: its headers and its pairs of key and value, by their positions.

Owns positions, which tomlkit does not tell, and which comments belong to a table or a pair. The text has to
be valid: tomllib reads it first. Does not change the text.
"""

from __future__ import annotations

import math
import re
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from mcp_workbench.config.documents.lines import Lines
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path

_STRING = (
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\r\n])*"'
    r"|'[^'\r\n]*'"
)
_KEY = re.compile(r"""[ \t]*("(?:\\.|[^"\\\r\n])*"|'[^'\r\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_BLANK = re.compile(r"[ \t\r\n]*(?:#[^\r\n]*[ \t\r\n]*)*")
_BRACKETS = re.compile(rf"{_STRING}|#[^\r\n]*|[\[\]{{}}]", re.DOTALL)
_ONE_STRING = re.compile(_STRING, re.DOTALL)
_BARE = re.compile(r"[^#\r\n]*")
_WHERE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class Statement(NamedTuple):
    """A header of a table, or a pair of key and value."""

    path: Path
    """Where its table or value is, from the top of the file."""
    section: Path
    """The path of the header above a pair; that of a header itself."""
    is_header: bool
    start: int
    value: int
    """Where the value of a pair starts."""
    end: int


class TomlText(Lines):
    """The positions in a TOML text. Raises DocumentError if it is not TOML."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.data = _loaded(text)
        self.statements: list[Statement] = []
        self._lengths: dict[Path, int] = {}
        section: Path = ()
        position = _skip(text, 0)
        while position < len(text):
            if text[position] == "[":
                statement = self._header(position)
                section = statement.path
            else:
                statement = self._pair(position, section)
            self.statements.append(statement)
            position = _skip(text, statement.end)

    def _header(self, start: int) -> Statement:
        is_array = self.text.startswith("[[", start)
        keys, position = self._keys(start + (2 if is_array else 1))
        if is_array:
            array = (*self._resolved(keys[:-1]), keys[-1])
            index = self._lengths[array] = self._lengths.get(array, 0) + 1
            path: Path = (*array, index - 1)
        else:
            path = self._resolved(keys)
        end = self.text.index("]", position) + (2 if is_array else 1)
        return Statement(path, path, is_header=True, start=start, value=end, end=end)

    def _pair(self, start: int, section: Path) -> Statement:
        keys, position = self._keys(start)
        value = self.text.index("=", position) + 1
        while self.text[value] in " \t":
            value += 1
        path = (*section, *keys)
        return Statement(path, section, is_header=False, start=start, value=value, end=self._end(value))

    def _keys(self, position: int) -> tuple[list[str], int]:
        keys: list[str] = []
        while (match := _KEY.match(self.text, position)) is not None:
            position = match.end()
            keys.append(_key(match[1]))
            if not match[2]:
                break
        return keys, position

    def _resolved(self, keys: list[str]) -> Path:
        """Return the path that the keys of a header mean: in an array of tables, the last one."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        return path

    def _end(self, start: int) -> int:
        """Return where the value ends that starts at a position."""
        if self.text[start] in "[{":
            depth = 0
            for match in _BRACKETS.finditer(self.text, start):
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
                if not depth:
                    return match.end()
        string = _ONE_STRING.match(self.text, start)
        if string is not None:
            return string.end()
        bare = _BARE.match(self.text, start)
        return start if bare is None else start + len(bare[0].rstrip())

    def holding(self, path: Path) -> Statement | None:
        """Return the pair whose value is at a path, or contains what is there."""
        return next(
            (it for it in self.statements if not it.is_header and it.path == path[: len(it.path)]), None
        )

    def inside(self, path: Path) -> list[int]:
        """Return the indexes of the statements for what is at a path and inside of it."""
        return [index for index, it in enumerate(self.statements) if it.path[: len(path)] == path]

    def last_of_section(self, index: int) -> int:
        """Return the index of the last pair before the next header; the same index if there is none."""
        while index + 1 < len(self.statements) and not self.statements[index + 1].is_header:
            index += 1
        return index

    def head(self, statement: Statement) -> int:
        """Return the start of the lines of a statement, with the comments directly above it."""
        start = self.line_start(statement.start)
        while start and self.line(self.previous_line(start)).startswith("#"):
            start = self.previous_line(start)
        return start

    def tail(self, statement: Statement) -> int:
        """Return the end of the comments directly below a statement, if nothing else is directly below."""
        end = self.line_end(statement.end)
        line = self.next_line(end)
        last = end
        while line < len(self.text) and self.line(line).startswith("#"):
            last = self.line_end(line)
            line = self.next_line(line)
        is_last = line >= len(self.text) or not self.line(line)
        return last if is_last else end


def _loaded(text: str) -> dict[str, object]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _WHERE.fullmatch(str(error))
        if match is None:
            raise DocumentError("invalid TOML") from None
        line, column = (int(match[2]), int(match[3])) if match[2] else (None, None)
        raise DocumentError(f"invalid TOML: {match[1]}", line, column) from None
    except ValueError:
        raise DocumentError("the file has a number or a date that is none") from None
    return {key: _plain(value) for key, value in data.items()}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)  # dates, times, nan and inf


def _key(text: str) -> str:
    if text[0] == "'":
        return text[1:-1]
    return str(tomllib.loads(f"key = {text}")["key"]) if text[0] == '"' else text


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()
