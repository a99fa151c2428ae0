"""A JSON text with comments, taken apart: where its values, commas and comments are.

Owns positions and the questions about them: what is on a line, which comments belong to a member. Does not
change the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from mcp_workbench.config.documents.json_style import Style
from mcp_workbench.config.documents.lines import Lines
from mcp_workbench.config.source.json_comments import blank, comments, without_trailing_commas
from mcp_workbench.config.source.parse import syntax_hint
from mcp_workbench.config.source.positions import Member, members, skip_space
from mcp_workbench.config.validation.problems import quoted
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path, Step

_INDENT = re.compile(r"[ \t]*")
_Pairs = list[tuple[str, object]]


class Container(NamedTuple):
    """An object or a list in the text, by its brackets, with its members."""

    start: int
    end: int
    """Where the closing bracket is."""
    members: list[Member]


class JsonText(Lines):
    """The positions in a JSON text. Raises DocumentError if it is not JSON, or not an object.

    `plain` is the text with spaces in place of comments and trailing commas, `bare` still has the commas.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        spans = list(comments(text))
        self.comments = dict(spans)
        """The end of each comment by its start."""
        self.bare = blank(text, spans)
        self.plain = without_trailing_commas(self.bare)
        self.is_empty = not self.plain.strip(" \t\r\n")
        self.data = {} if self.is_empty else self._data()

    def _data(self) -> dict[str, object]:
        try:
            data: object = json.loads(self.plain, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            what, _ = syntax_hint(self.plain[error.pos :], error.msg)
            raise DocumentError(f"invalid JSON: {what}", error.lineno, error.colno) from None
        except ValueError:
            raise DocumentError("the file has a number that JSON cannot hold") from None
        if not isinstance(data, dict):
            raise DocumentError("the file does not hold an object", self.line_at(skip_space(self.plain, 0)))
        return data

    def container(self, start: int) -> Container:
        """Return the object or the list that starts at a position."""
        found = list(members(self.plain, start))
        return Container(start, skip_space(self.plain, found[-1].end if found else start + 1), found)

    def walk(self, path: Path) -> tuple[list[Container], list[Member]]:
        """Return the containers on the way to a path, and the member of each that the path goes through.

        A path to an object or a list has that as its last container. Raises KeyError if the path leads to
        nothing, and DocumentError if a key on the way is written twice.
        """
        position = skip_space(self.plain, 0)
        containers: list[Container] = []
        found: list[Member] = []
        for step in path:
            containers.append(self.container(position))
            found.append(self._member(containers[-1], step))
            position = found[-1].value
        if self.plain[position] in "{[":
            containers.append(self.container(position))
        return containers, found

    def _member(self, container: Container, step: Step) -> Member:
        found = [member for member in container.members if member.key == step]
        if not found:
            raise KeyError(step)
        if len(found) > 1:
            self.refuse_twice(found[1])
        return found[0]

    def require_distinct_keys(self, container: Container) -> None:
        """Raise DocumentError if a key is written twice in an object, because only one of them can count."""
        keys = set()
        for member in container.members:
            if member.key in keys:
                self.refuse_twice(member)
            keys.add(member.key)

    def refuse_twice(self, member: Member) -> NoReturn:
        """Raise DocumentError for a key that is written twice in the same object."""
        raise DocumentError(
            f"the key {quoted(str(member.key))} is written twice in the same object",
            self.line_at(member.start),
        )

    def starts_line(self, position: int) -> bool:
        """Whether nothing but white space and comments is before a position on its line."""
        return not self.bare[self.line_start(position) : position].strip(" \t")

    def comma_after(self, member: Member) -> int | None:
        """Return where the comma after a member is, if there is one."""
        position = skip_space(self.bare, member.end)
        return position if self.bare[position] == "," else None

    def after_comments(self, position: int) -> int:
        """Return the end of the last comment that starts on the line of a position and after it."""
        end = position
        while True:
            match = _INDENT.match(self.text, position)
            position = position if match is None else match.end()
            if position not in self.comments:
                return end
            position = end = self.comments[position]

    def tail(self, container: Container, index: int) -> int:
        """Return the end of a member with its comma and the comments after it on its line."""
        member = container.members[index]
        comma = self.comma_after(member)
        is_near = comma is not None and self.is_on_one_line(member.end, comma)
        end = self.after_comments(comma + 1 if comma is not None and is_near else member.end)
        following = container.members[index + 1 :]
        if comma is not None and following and self.is_on_one_line(member.end, following[0].start):
            return comma + 1  # comments behind the comma belong to the next member
        return end

    def head(self, container: Container, index: int) -> int:
        """Return the start of the comments above a member with no empty line between; else its own."""
        member = container.members[index]
        if index:
            comma = self.comma_after(container.members[index - 1])
            first = max(self.tail(container, index - 1), comma or 0)
        else:
            first = self.after_comments(container.start + 1)
        spans = [(start, end) for start, end in self.comments.items() if first <= start < member.start]
        head = member.start
        for start, end in reversed(spans):
            if self.count_breaks(end, head) > 1:
                break
            head = start
        return head

    def style(self, containers: list[Container], newline: str) -> Style:
        """Return the style for a new value in the last of the containers, by what is around it."""
        colon = next(
            (found for it in reversed(containers) if (found := self._colon(it)) is not None),
            ": ",
        )
        padding = " " if any(map(self._is_padded, containers)) else ""
        comma = next((found for it in reversed(containers) if (found := self._comma(it))), None)
        if comma is None:
            comma = ", " if colon.endswith(" ") else ","
        return Style(newline, self._unit(containers), colon, comma, padding)

    def _colon(self, container: Container) -> str | None:
        if self.text[container.start] == "[" or not container.members:
            return None
        member = container.members[-1]
        separator = re.search(r'"([ \t]*:[ \t]*)$', self.text[member.start : member.value])
        return None if separator is None else separator[1]

    def _comma(self, container: Container) -> str | None:
        for one, following in zip(container.members, container.members[1:], strict=False):
            between = self.text[one.end : following.start]
            if between.startswith(",") and not between[1:].strip(" "):
                return between
        return None

    def _is_padded(self, container: Container) -> bool:
        around = [container, *(self.container(it.value) for it in container.members if self._is_object(it))]
        return any(
            it.members and self.is_on_one_line(it.start, it.end) and self.text[it.start + 1] == " "
            for it in around
        )

    def _is_object(self, member: Member) -> bool:
        return self.text[member.value] == "{"

    def _unit(self, containers: list[Container]) -> str:
        for container in reversed(containers):
            outer = self.indent_at(container.start)
            for member in container.members[-1:]:
                inner = self.indent_at(member.start)
                if self.starts_line(member.start) and inner != outer and inner.startswith(outer):
                    return inner[len(outer) :]
        return "  "


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
