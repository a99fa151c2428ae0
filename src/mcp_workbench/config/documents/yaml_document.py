"""YAML, edited by changing a few lines of its text.

Owns where the lines of a member go, and which lines go with it when it is removed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ruamel.yaml.nodes import MappingNode, Node

from mcp_workbench.config.documents.document import Document
from mcp_workbench.config.documents.plain import has
from mcp_workbench.config.documents.yaml_style import BlockStyle, flow, scalar
from mcp_workbench.config.documents.yaml_text import YamlMember, YamlText, is_flow
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path, Step

_COMMENT_LINE = re.compile(r"([ \t]*)#[^\r\n]*")
_COMMA = re.compile(r"[ \t]*,")


class YamlDocument(Document):
    """A YAML file with one document in it, edited in place."""

    _yaml: YamlText

    def line_of(self, path: Path) -> int | None:
        """Return the line of the key or the item at a path, the first line being 1; None if it is absent."""
        if self._yaml.root is None or not has(self.data, path):
            return None
        if not path:
            return int(self._yaml.root.start_mark.line) + 1
        _, members = self._walk(path)
        return self._yaml.line_at(members[-1].start)

    def _parse(self) -> dict[str, object]:
        self._yaml = YamlText(self._text)
        return self._yaml.data

    def _walk(self, path: Path) -> tuple[list[Node], list[YamlMember]]:
        try:
            nodes, members = self._yaml.walk(path)
        except KeyError:
            raise DocumentError("a value that comes from a merge key cannot be edited") from None
        for member in members[:-1]:
            if member.is_alias:
                reason = "a value behind an alias cannot be edited: it is used in several places"
                raise DocumentError(reason, self._yaml.line_at(member.start))
        return nodes, members

    def _add(self, parent: Path, step: Step, value: object) -> None:
        if self._yaml.root is None:
            self._start_with({str(step): value})
            return
        nodes, path = self._walk(parent)
        node = nodes[-1]
        if path and path[-1].is_alias:
            raise DocumentError("a value behind an alias cannot be edited: it is used in several places")
        if not node.value and not any(map(is_flow, nodes[:-1])):
            self._replace(parent, {step: value} if isinstance(step, str) else [value])
        elif is_flow(node):
            self._add_to_flow(node, step, value)
        else:
            self._add_to_block(nodes, step, value)

    def _start_with(self, value: dict[str, object]) -> None:
        """Write the first member of a file that has none: at most comments, and the mark of its beginning."""
        lines = BlockStyle(self._newline).block(value, 0)
        if self._text and not self._text.endswith("\n"):
            self._text += self._newline
        self._text += "".join(line + self._newline for line in lines)

    def _add_to_flow(self, node: Node, step: Step, value: object) -> None:
        members = self._yaml.members(node)
        # Behind the last member rather than at the end, where comments may be.
        point = members[-1].end if members else node.end_mark.index - 1
        text = (f"{scalar(step)}: " if isinstance(step, str) else "") + flow(value)
        self._splice(point, point, f", {text}" if members else text)

    def _add_to_block(self, nodes: list[Node], step: Step, value: object) -> None:
        node = nodes[-1]
        column = self._yaml.column(node)
        style = self._yaml.style(nodes, self._newline)
        lines = style.member(step, value, column)
        member = self._yaml.members(node)[-1]
        end = member.end if self._ends_with_line(member) else self._yaml.next_line(member.end)
        point = self._after_inner_comments(end, column)
        if self._text.endswith(("\n", "\r"), 0, point):
            self._splice(point, point, "".join(line + self._newline for line in lines))
        else:
            self._splice(point, point, "".join(self._newline + line for line in lines))

    def _replace(self, path: Path, value: object) -> None:
        if not path:
            self._replace_top(value)
            return
        nodes, members = self._walk(path)
        member, parent = members[-1], nodes[-2]
        is_block = isinstance(value, dict | list) and bool(value)
        if is_flow(parent) or not is_block:
            self._replace_on_line(member, parent, flow(value))
        else:
            self._replace_by_block(nodes, member, value)

    def _replace_top(self, value: object) -> None:
        """Replace an empty mapping that is the whole file."""
        root = self._yaml.root
        lines = BlockStyle(self._newline).block(value if isinstance(value, dict) else {}, 0)
        self._splice(root.start_mark.index, root.end_mark.index, self._newline.join(lines))

    def _replace_on_line(self, member: YamlMember, parent: Node, text: str) -> None:
        yaml = self._yaml
        if is_flow(parent) and not isinstance(parent, MappingNode):
            self._splice(member.start, member.end, text)
            return
        line_end = yaml.line_end(member.after)
        if not member.is_alias and member.end > line_end and member.node.start_mark.index > line_end:
            # Comments on the line of the key stay.
            self._splice(line_end, yaml.line_end(member.end), "")
            self._splice(member.after, member.after, f" {text}")
        elif self._ends_with_line(member):
            self._splice(member.after, member.end, f" {text}{self._newline}")
        else:
            self._splice(member.after, member.end, f" {text}")

    def _replace_by_block(self, nodes: list[Node], member: YamlMember, value: object) -> None:
        yaml, parent = self._yaml, nodes[-2]
        style = yaml.style(nodes[:-1], self._newline)
        column = yaml.column(parent)
        lines = style.member(member.step, value, column)
        line_end = yaml.line_end(member.after)
        if isinstance(member.step, int):
            text = self._newline.join(lines)[column:]
            self._splice(
                member.start, member.end, text + (self._newline if self._ends_with_line(member) else "")
            )
            return
        text = "".join(self._newline + line for line in lines[1:])
        starts_here = member.is_alias or member.node.start_mark.index <= line_end
        if self._ends_with_line(member):
            self._splice(member.after, member.end, text + self._newline)
        elif member.end <= line_end:
            self._splice(line_end, line_end, text)
            self._splice(member.after, member.end, "")
        else:
            self._splice(member.after if starts_here else line_end, yaml.line_end(member.end), text)

    def _ends_with_line(self, member: YamlMember) -> bool:
        """Whether a value ends with line breaks that are part of it."""
        return self._text[member.after : member.end].endswith("\n")

    def _delete(self, path: Path) -> None:
        nodes, members = self._walk(path)
        parent, member = nodes[-2], members[-1]
        if is_flow(parent):
            self._delete_from_flow(parent, member)
        elif len(parent.value) == 1 and len(path) > 1:
            self._replace(path[:-1], {} if isinstance(parent, MappingNode) else [])
        else:
            self._delete_lines(parent, member)

    def _delete_from_flow(self, parent: Node, member: YamlMember) -> None:
        yaml, text = self._yaml, self._text
        siblings = yaml.members(parent)
        index = siblings.index(member)
        comma = _COMMA.match(text, member.end)
        end = member.end if comma is None else comma.end()
        start = yaml.line_start(member.start)
        rest = text[end : yaml.line_end(end)].strip()
        if not text[start : member.start].strip() and (not rest or rest.startswith("#")):
            self._splice(start, yaml.next_line(end), "")
        elif index + 1 < len(siblings):
            self._splice(member.start, siblings[index + 1].start, "")
        elif index:
            self._splice(siblings[index - 1].end, member.end, "")
        else:
            self._splice(member.start, end, "")

    def _delete_lines(self, parent: Node, member: YamlMember) -> None:
        yaml, text = self._yaml, self._text
        start = yaml.line_start(member.start)
        siblings = yaml.members(parent)
        following = siblings[siblings.index(member) + 1 :]
        if text[start : member.start].strip():
            # The line starts with the dash of the list that the parent is an item of.
            end = following[0].start if following else member.end
            self._splice(member.start, end, "")
            return
        column = member.start - start
        while start and (match := _COMMENT_LINE.match(text, yaml.previous_line(start))):
            if len(match[1]) != column:
                break
            start = match.start()
        end = member.end if self._ends_with_line(member) else yaml.next_line(member.end)
        end = self._after_inner_comments(end, column)
        self._splice(*yaml.up_to_end(start, end), "")

    def _after_inner_comments(self, position: int, column: int) -> int:
        """Return the end of the comments from a line on that are indented more than a column."""
        end = line = position
        while line < len(self._text):
            match = _COMMENT_LINE.match(self._text, line)
            if match is not None and len(match[1]) > column:
                end = self._yaml.next_line(line)
            elif self._text[line : self._yaml.line_end(line)].strip():
                break
            line = self._yaml.next_line(line)
        return end

    def _splice(self, start: int, end: int, text: str) -> None:
        self._text = self._text[:start] + text + self._text[end:]
