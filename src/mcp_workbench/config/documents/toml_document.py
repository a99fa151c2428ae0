"""TOML, edited by changing a few lines of its text.

Owns where new tables and pairs go, and which lines go with them when they are removed. Values inside of
inline tables and arrays are edited by tomlkit, each in the one statement that it is in. Whole files are not:
tomlkit counts the comments above a table to the table before, and removes them with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomlkit

from mcp_workbench.config.documents.document import Document
from mcp_workbench.config.documents.lines import Lines
from mcp_workbench.config.documents.plain import get, has, is_same, with_value
from mcp_workbench.config.documents.toml_style import inline, pair, table
from mcp_workbench.config.documents.toml_text import Statement, TomlText

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config.documents.plain import Path, Step


class TomlDocument(Document):
    """A TOML file, edited in place."""

    _toml: TomlText

    def line_of(self, path: Path) -> int | None:
        """Return the line of the key, the header or the item at a path; None if it is absent."""
        if not has(self.data, path):
            return None
        statements = self._toml.statements
        found = [statements[index] for index in self._toml.inside(path)]
        exact = [it for it in found if it.path == path]
        holding = self._toml.holding(path)
        for statement in (*exact, *found, *([] if holding is None else [holding])):
            return self._toml.line_at(statement.start)
        return None

    def _parse(self) -> dict[str, object]:
        self._toml = TomlText(self._text)
        return self._toml.data

    def _add(self, parent: Path, step: Step, value: object) -> None:
        path = (*parent, step)
        holding = self._toml.holding(path)
        if holding is not None:
            self._edit_value(holding, lambda top: _set(top, path[len(holding.path) :], value))
        elif isinstance(value, dict):
            is_item = isinstance(step, int)
            self._add_table(parent, table(parent if is_item else path, value, in_array=is_item))
        elif isinstance(step, int):
            self._rewrite(parent, with_value(get(self.data, parent), (step,), value))
        else:
            self._add_pair(parent, step, value)

    def _add_table(self, parent: Path, lines: list[str]) -> None:
        """Add lines that start with a header after the last of the tables that are next to the new one."""
        toml = self._toml
        near = toml.inside(parent)
        if not near:
            self._add_at_end(lines)
            return
        last = toml.statements[toml.last_of_section(near[-1])]
        point = toml.tail(last)
        following = toml.next_line(point)
        # In a file without empty lines between its tables, the new one gets none either.
        is_dense = following < len(self._text) and bool(toml.line(following)) and len(toml.statements) > 1
        lines = [line for line in lines if line] if is_dense else ["", *lines]
        self._splice(point, point, "".join(self._newline + line for line in lines))

    def _add_at_end(self, lines: list[str]) -> None:
        text = self._text.rstrip()
        before = f"{text}{self._newline}{self._newline}" if text else self._text[:0]
        after = self._text[len(text) :] or self._newline
        self._text = before + self._newline.join(lines) + after

    def _add_pair(self, parent: Path, step: str, value: object) -> None:
        toml = self._toml
        headers = [index for index, it in enumerate(toml.statements) if it.is_header and it.path == parent]
        dotted = [index for index in toml.inside(parent) if not toml.statements[index].is_header]
        if headers:
            self._add_below(toml.statements[toml.last_of_section(headers[0])], pair((step,), value))
        elif not parent:
            self._add_to_top(pair((step,), value))
        elif dotted and len(toml.statements[dotted[-1]].section) < len(parent):
            last = toml.statements[dotted[-1]]
            self._add_below(last, pair((*parent[len(last.section) :], step), value))
        else:
            # The table exists only because others are inside of it.
            point = toml.head(toml.statements[toml.inside(parent)[0]])
            lines = [*table(parent, {step: value}), "", ""]
            self._splice(point, point, self._newline.join(lines))

    def _add_to_top(self, lines: list[str]) -> None:
        toml = self._toml
        pairs = [it for it in toml.statements if not it.section and not it.is_header]
        if pairs:
            self._add_below(pairs[-1], lines)
        elif toml.statements:
            point = toml.head(toml.statements[0])
            self._splice(point, point, self._newline.join([*lines, "", ""]))
        else:
            self._add_at_end(lines)

    def _add_below(self, statement: Statement, lines: list[str]) -> None:
        point = self._toml.line_end(statement.end)
        indent = "" if statement.is_header else self._toml.indent_at(statement.start)
        self._splice(point, point, "".join(self._newline + indent + line for line in lines))

    def _replace(self, path: Path, value: object) -> None:
        holding = self._toml.holding(path)
        if holding is not None and holding.path == path:
            self._splice(holding.value, holding.end, inline(value))
        elif holding is not None:
            self._edit_value(holding, lambda top: _set(top, path[len(holding.path) :], value))
        elif isinstance(value, dict) and value and get(self.data, path) == {}:
            for key, item in value.items():
                self._add(path, key, item)
                self._update()
        elif isinstance(path[-1], int):
            self._rewrite(path[:-1], with_value(get(self.data, path[:-1]), path[-1:], value))
        else:
            self._rewrite(path, value)

    def _rewrite(self, path: Path, value: object) -> None:
        """Put a value of another kind in the place of tables."""
        self._delete(path)
        self._update()
        self._put(path, value)

    def _delete(self, path: Path) -> None:
        toml = self._toml
        holding = toml.holding(path)
        if holding is not None and holding.path != path:
            self._edit_value(holding, lambda top: _remove(top, path[len(holding.path) :]))
            return
        blocks: list[tuple[int, int, bool]] = []
        for index in toml.inside(path):
            statement = toml.statements[index]
            last = toml.statements[toml.last_of_section(index) if statement.is_header else index]
            end = toml.next_line(toml.tail(last) if statement.is_header else last.end)
            if not blocks or statement.start >= blocks[-1][1]:
                blocks.append((toml.head(statement), end, statement.is_header))
        for block in reversed(blocks):
            self._delete_lines(*block)

    def _delete_lines(self, start: int, end: int, is_table: bool) -> None:
        """Delete whole lines, and the empty lines next to a table that would be left over."""
        lines = Lines(self._text)
        if not start:
            while end < len(self._text) and not lines.line(end):
                end = lines.next_line(end)
        elif is_table and (end >= len(self._text) or not lines.line(end)):
            while start and not lines.line(lines.previous_line(start)):
                start = lines.previous_line(start)
        self._splice(*lines.up_to_end(start, end), "")

    def _edit_value(self, statement: Statement, edit: Callable[[Any], None]) -> None:
        """Change what is inside of an inline table or an array, with the formatting of the rest kept."""
        present = self._text[statement.value : statement.end]
        document: Any = tomlkit.parse(f"value = {present}")
        edit(document)
        text = tomlkit.dumps(document).removeprefix("value = ").rstrip()
        if present.startswith("{ ") and present.endswith(" }") and document["value"]:
            text = f"{{ {text[1:-1].strip()} }}"  # tomlkit loses a space at the end, or adds one at the start
        self._splice(statement.value, statement.end, text)

    def _is_as_expected(self, expected: dict[str, object]) -> bool:
        return is_same(self.data, expected) or _is_same_but_for_empty(self.data, expected)

    def _splice(self, start: int, end: int, text: str) -> None:
        self._text = self._text[:start] + text + self._text[end:]


def _set(document: Any, path: Path, value: object) -> None:
    node = document["value"]
    for step in path[:-1]:
        node = node[step]
    item = tomlkit.value(inline(value))
    if isinstance(path[-1], int) and path[-1] == len(node):
        node.append(item)
    else:
        node[path[-1]] = item


def _remove(document: Any, path: Path) -> None:
    node = document["value"]
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]


def _is_same_but_for_empty(data: object, expected: object) -> bool:
    """Whether two values are equal, but for tables that existed only because of what was inside of them."""
    if not (isinstance(data, dict) and isinstance(expected, dict)):
        return is_same(data, expected)
    return (
        all(
            _is_same_but_for_empty(data[key], item) if key in data else _is_hollow(item)
            for key, item in expected.items()
        )
        and data.keys() <= expected.keys()
    )


def _is_hollow(value: object) -> bool:
    return value == [] or (isinstance(value, dict) and all(map(_is_hollow, value.values())))
