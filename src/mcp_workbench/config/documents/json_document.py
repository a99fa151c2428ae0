"""JSON with comments and trailing commas, edited by changing a few characters of its text.

Owns where a member goes, what goes with it when it is removed or moved, and the commas around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_workbench.config.documents.document import Document
from mcp_workbench.config.documents.json_style import MAX_LINE_CHARACTERS, Style
from mcp_workbench.config.documents.json_text import Container, JsonText
from mcp_workbench.config.documents.plain import Path, Step, has

if TYPE_CHECKING:
    from mcp_workbench.config.source.positions import Member

Edit = tuple[int, int, str]
"""The start and the end of a part of the text, and what replaces it."""


class _Entry(NamedTuple):
    """A member to write: its key, its value, or the text of a value with the comments that belong to it."""

    step: Step
    value: object
    text: str = ""
    indent: str = ""
    head: str = ""
    tail: str = ""

    @property
    def takes_lines(self) -> bool:
        return bool(self.head or "//" in self.tail or "\n" in self.text or "\r" in self.text)


class JsonDocument(Document):
    """A JSON file with or without comments, edited in place."""

    _json: JsonText

    def line_of(self, path: Path) -> int | None:
        """Return the line of the key or the item at a path, the first line being 1; None if it is absent."""
        if self._json.is_empty or not has(self.data, path):
            return None
        containers, members = self._json.walk(path)
        return self._json.line_at(members[-1].start if members else containers[0].start)

    def _parse(self) -> dict[str, object]:
        self._json = JsonText(self._text)
        return self._json.data

    def _add(self, parent: Path, step: Step, value: object) -> None:
        self._insert(parent, _Entry(step, value))

    def _replace(self, path: Path, value: object) -> None:
        json = self._json
        containers, members = json.walk(path)
        container = containers[len(path) - 1]
        json.require_distinct_keys(container)
        member = members[-1]
        style = json.style(containers[: len(path)], self._newline)
        is_like_it = self._text[member.value] == ("{" if isinstance(value, dict) else "[")
        is_short = json.is_on_one_line(container.start, container.end) or (
            is_like_it and self._is_line(member)
        )
        text = style.write(value, json.indent_at(member.start), on_one_line=is_short)
        self._splice([(member.value, member.end, text)])

    def _delete(self, path: Path) -> None:
        containers, _ = self._json.walk(path)
        container = containers[len(path) - 1]
        self._json.require_distinct_keys(container)
        keys = [member.key for member in container.members]
        self._splice(self._removal(container, keys.index(path[-1])))

    def _move(self, path: Path, new_path: Path) -> None:
        json = self._json
        containers, members = json.walk(path)
        container, member = containers[len(path) - 1], members[-1]
        if path[:-1] == new_path[:-1] and isinstance(member.key, str):
            json.require_distinct_keys(container)
            end = json.plain.rindex('"', member.start, json.plain.rindex(":", member.start, member.value)) + 1
            self._splice([(member.start, end, Style().key(str(new_path[-1])).removesuffix(": "))])
            return
        entry = self._entry(container, container.members.index(member), new_path[-1])
        if not has(self.data, new_path[:-1]):
            self._put(new_path[:-1], {})
        self._insert(new_path[:-1], entry)
        self._update()
        self._delete(path)

    def _entry(self, container: Container, index: int, step: Step) -> _Entry:
        json = self._json
        member = container.members[index]
        head, tail = json.head(container, index), json.tail(container, index)
        comma = json.comma_after(member)
        rest = self._text[member.end : tail]
        if comma is not None and comma < tail:
            rest = self._text[member.end : comma] + self._text[comma + 1 : tail]
        return _Entry(
            step,
            None,
            self._text[member.value : member.end],
            json.indent_at(member.start),
            self._text[head : member.start],
            rest.rstrip(),
        )

    def _insert(self, parent: Path, entry: _Entry) -> None:
        if self._json.is_empty:
            self._text += "{}" + self._newline
            self._update()
        containers, _ = self._json.walk(parent)
        container = containers[-1]
        self._json.require_distinct_keys(container)
        style = self._json.style(containers, self._newline)
        if not container.members:
            self._splice(self._into_empty(containers, entry, style))
        elif entry.takes_lines or not self._may_go_on(container):
            self._splice(self._onto_new_line(container, entry, style))
        else:
            self._splice(self._onto_same_line(container, entry, style))

    def _may_go_on(self, container: Container) -> bool:
        """Whether a new member can go onto the line of the last one, and no comment comes to the wrong one."""
        json = self._json
        last = container.members[-1]
        if json.starts_line(last.start):
            return False
        comma = json.comma_after(last)
        start = last.end if comma is None else comma + 1
        end = json.after_comments(start)
        is_plain = "//" not in self._text[start:end] and json.is_on_one_line(start, end)
        return end == start or (comma is None and is_plain)

    def _onto_same_line(self, container: Container, entry: _Entry, style: Style) -> list[Edit]:
        last = container.members[-1]
        comma = self._json.comma_after(last)
        text = self._written(entry, style, "", on_one_line=True)
        if comma is None:
            point = self._json.after_comments(last.end)
            return [(point, point, style.comma + text)]
        return [(comma + 1, comma + 1, style.comma[1:] + text + ",")]

    def _onto_new_line(self, container: Container, entry: _Entry, style: Style) -> list[Edit]:
        json = self._json
        last = container.members[-1]
        outer = json.indent_at(container.start)
        indent = json.indent_at(last.start) if json.starts_line(last.start) else outer + style.unit
        comma = json.comma_after(last)
        point = json.after_comments(last.end if comma is None else comma + 1)
        if not self._text[point : json.line_end(point)].strip():
            point = json.line_end(point)
        is_short = self._is_short(container, entry, style, indent)
        text = style.newline + indent + self._written(entry, style, indent, on_one_line=is_short)
        text = self._with_tail(text, entry, "" if comma is None else ",")
        if "//" in entry.tail and json.is_on_one_line(point, container.end):
            text += style.newline + outer
        before = "," if comma is None else ""
        return [(last.end, point, before + self._text[last.end : point] + text)]

    def _into_empty(self, containers: list[Container], entry: _Entry, style: Style) -> list[Edit]:
        json = self._json
        container = containers[-1]
        start, end = container.start + 1, container.end
        point = json.after_comments(start)
        is_list = self._text[container.start] == "[" and not isinstance(entry.value, dict | list)
        has_comments = bool(self._text[start:end].strip())
        if not has_comments and not entry.takes_lines and (is_list or self._is_inside_of_line(containers)):
            text = self._written(entry, style, "", on_one_line=True)
            padding = "" if self._text[container.start] == "[" else style.padding
            return [(start, end, padding + text + padding)]
        outer = json.indent_at(container.start)
        indent = outer + style.unit
        text = style.newline + indent + self._written(entry, style, indent, on_one_line=False)
        text = self._with_tail(text, entry, "")
        if has_comments and not json.is_on_one_line(point, end):
            return [(point, point, text)]
        return [(point, end, text + style.newline + outer)]

    def _written(self, entry: _Entry, style: Style, indent: str, *, on_one_line: bool) -> str:
        key = style.key(entry.step) if isinstance(entry.step, str) else ""
        if not entry.text:
            return key + style.write(entry.value, indent, on_one_line=on_one_line)
        return self._indented(entry.head, entry, indent) + key + self._indented(entry.text, entry, indent)

    def _indented(self, text: str, entry: _Entry, indent: str) -> str:
        first, *lines = text.splitlines(keepends=True) or [""]
        return (
            first
            + "".join(
                indent + line.removeprefix(entry.indent) if line.startswith(entry.indent) else line
                for line in lines
            )
            + (indent if text.endswith(("\n", "\r")) else "")
        )

    def _with_tail(self, text: str, entry: _Entry, comma: str) -> str:
        return text + comma + entry.tail

    def _is_short(self, container: Container, entry: _Entry, style: Style, indent: str) -> bool:
        """Whether the neighbours of a new object are written on one line each, and so should it be."""
        objects = [it for it in container.members if self._text[it.value] == "{" and it.end - it.value > 2]
        if not objects or not all(map(self._is_line, objects)) or entry.takes_lines:
            return False
        text = self._written(entry, style, indent, on_one_line=True)
        return len(indent) + len(text) <= MAX_LINE_CHARACTERS

    def _is_line(self, member: Member) -> bool:
        return member.end - member.value > 2 and self._json.is_on_one_line(member.value, member.end)

    def _is_inside_of_line(self, containers: list[Container]) -> bool:
        """Whether an empty object or list is in another that is on one line, with more than it there."""
        *outer, _ = containers
        if not outer or not self._json.is_on_one_line(outer[-1].start, outer[-1].end):
            return False
        is_whole_file = self._json.is_on_one_line(outer[0].start, outer[0].end)
        return not is_whole_file or any(len(container.members) > 1 for container in outer)

    def _removal(self, container: Container, index: int) -> list[Edit]:
        json = self._json
        members = container.members
        member = members[index]
        before = members[index - 1] if index else None
        after = members[index + 1] if index + 1 < len(members) else None
        if before is None and after is None and self._is_alone(container, member):
            return [(container.start + 1, container.end, "")]
        if self._has_far_comma(before) or self._has_far_comma(member):
            return self._removal_with_far_comma(before, member, after)
        head, tail = json.head(container, index), json.tail(container, index)
        edits: list[Edit] = []
        if after is None and before is not None and json.comma_after(member) is None:
            comma = json.comma_after(before)
            if comma is not None:
                edits.append((comma, comma + 1, ""))
        ends_line = not self._text[tail : json.line_end(tail)].strip(" \t")
        starts_line = not self._text[json.line_start(head) : head].strip(" \t")
        if starts_line and ends_line:
            start = json.line_start(head)
            edits.append((json.line_end(json.previous_line(start)), json.line_end(tail), ""))
        elif after is not None and not ends_line:
            edits.append((head, json.head(container, index + 1), ""))
        else:
            edits.append((self._end_before(head), tail, ""))
        return edits

    def _end_before(self, position: int) -> int:
        """Return the end of the text before a position, without white space that can be left out."""
        end = len(self._text[:position].rstrip(" \t\r\n"))
        # What follows must not become part of a comment that ends with the line.
        is_comment = any(
            it[1] == end and self._text.startswith("//", it[0]) for it in self._json.comments.items()
        )
        return position if is_comment else end

    def _is_alone(self, container: Container, member: Member) -> bool:
        """Whether the only member of an object has no comments around it that have to stay."""
        head, tail = self._json.head(container, 0), self._json.tail(container, 0)
        around = self._text[container.start + 1 : head] + self._text[tail : container.end]
        comma = self._json.comma_after(member)
        return not around.strip(" \t\r\n," if comma is not None and comma >= tail else " \t\r\n")

    def _has_far_comma(self, member: Member | None) -> bool:
        """Whether the comma after a member is on another line, as in files that start lines with commas."""
        comma = None if member is None else self._json.comma_after(member)
        return member is not None and comma is not None and not self._json.is_on_one_line(member.end, comma)

    def _removal_with_far_comma(
        self, before: Member | None, member: Member, after: Member | None
    ) -> list[Edit]:
        if before is not None:
            return [(before.end, member.end, "")]
        if after is not None:
            return [(member.start, after.start, "")]
        comma = self._json.comma_after(member)
        return [(member.start, member.end, ""), *([] if comma is None else [(comma, comma + 1, "")])]

    def _splice(self, edits: list[Edit]) -> None:
        text = self._text
        for start, end, replacement in sorted(edits, reverse=True):
            text = text[:start] + replacement + text[end:]
        self._text = text
