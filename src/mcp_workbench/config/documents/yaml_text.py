"""A YAML text, taken apart by ruamel.yaml: its content as plain data, and where each value is.

Owns positions and limits. Objects are never built from tags: a value with a tag that JSON does not know is
its plain text, list or mapping. Does not change the text.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from mcp_workbench.config.documents.lines import Lines
from mcp_workbench.config.documents.yaml_style import BlockStyle
from mcp_workbench.config.validation.problems import quoted
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path, Step

MAX_YAML_BYTES = 2**20
"""Bytes of a YAML file. Reading takes several seconds for each million of them."""

MAX_ALIASED_CHARACTERS = 4 * 2**20
"""Characters that all aliases together may stand for. More would be an attack on the reader's memory."""

VALUE_CHARACTERS = 40
"""Characters that a value counts for in addition to its text, because it takes that much memory."""

_TAG = "tag:yaml.org,2002:"
_COLON = re.compile(r"[ \t]*(?:\r?\n[ \t]*)?:")
_QUESTION = re.compile(r"\?[ \t]+$")
_ALIAS = re.compile(r"[ \t]*\*[^\s,\[\]{}]+")
_PROPERTIES = frozenset("&!")
_FIRST_DASH = re.compile(r"(?<=\n)[ ]*-(?=\s|$)")
_KEEP = re.compile(r"(?:[&!]\S+\s+)*[|>][0-9]*\+")


class YamlMember(NamedTuple):
    """A member of a mapping or an item of a list, by its positions in the text."""

    step: Step
    start: int
    """Where the key starts; in a list in block style, where the dash is."""
    after: int
    """The position after the colon or the dash."""
    end: int
    """Where the value ends, without comments and line breaks behind it."""
    node: Node
    is_alias: bool


class YamlText(Lines):
    """The positions in a YAML text. Raises DocumentError if it is not YAML, or not a mapping."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        if len(text) > MAX_YAML_BYTES:
            raise DocumentError(f"the file is larger than {MAX_YAML_BYTES // 2**20} MiB")
        yaml = YAML(typ="safe", pure=True)
        self._construct = yaml.constructor
        self.root = self._composed(yaml)
        self._budget = MAX_ALIASED_CHARACTERS
        self._seen: set[int] = set()
        self._open: set[int] = set()
        data = {} if self.root is None else self._plain(self.root)
        if not isinstance(data, dict):
            raise DocumentError(
                "the file does not hold a mapping", self.root and self.root.start_mark.line + 1
            )
        self.data: dict[str, object] = data

    def _composed(self, yaml: Any) -> Any:
        try:
            root = yaml.compose(self.text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
            raise DocumentError(f"invalid YAML: {error.problem or error.context}", *where) from None
        except YAMLError:
            raise DocumentError("invalid YAML: the file has a character that is not allowed") from None
        except ValueError:
            raise DocumentError("invalid YAML: the file has an escape that stands for no character") from None
        is_null = isinstance(root, ScalarNode) and root.tag == f"{_TAG}null" and not root.value
        return None if is_null else root

    def _plain(self, node: Node) -> object:
        if id(node) in self._open:
            raise DocumentError("a value contains itself", node.start_mark.line + 1)
        if id(node) in self._seen:
            self._budget -= VALUE_CHARACTERS + (len(node.value) if isinstance(node, ScalarNode) else 0)
            if self._budget < 0:
                raise DocumentError("the aliases in the file stand for too much text")
        self._seen.add(id(node))
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        self._open.add(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self._plain(item) for item in node.value]
            return self._mapping(node.value)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: ScalarNode) -> object:
        try:
            match str(node.tag).removeprefix(_TAG):
                case "null":
                    return None
                case "bool":
                    return bool(self._construct.construct_yaml_bool(node))
                case "int":
                    return int(self._construct.construct_yaml_int(node))
                case "float":
                    number = float(self._construct.construct_yaml_float(node))
                    return number if math.isfinite(number) else str(node.value)
        except (ValueError, KeyError, IndexError):
            pass  # a tag that the text after it does not fit
        return str(node.value)

    def _mapping(self, pairs: list[tuple[Node, Node]]) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key, value in pairs:
            if not isinstance(key, ScalarNode):
                raise DocumentError("a key is a list or a mapping", key.start_mark.line + 1)
            if key.tag == f"{_TAG}merge":
                parts = value.value if isinstance(value, SequenceNode) else [value]
                for part in reversed(parts):
                    found = self._plain(part)
                    merged |= found if isinstance(found, dict) else {}
                continue
            name = str(key.value)
            if name in result:
                reason = f"the key {quoted(name)} is written twice in the same mapping"
                raise DocumentError(reason, key.start_mark.line + 1, key.start_mark.column + 1)
            result[name] = self._plain(value)
        return {**merged, **result}

    def members(self, node: Node) -> list[YamlMember]:
        """Return the members of a mapping or the items of a list, in their order."""
        if isinstance(node, MappingNode):
            return [self._member(key, value) for key, value in node.value]
        found: list[YamlMember] = []
        position = node.start_mark.index
        for index, item in enumerate(node.value):
            if is_flow(node):
                start = after = item.start_mark.index
            else:
                start = self._dash(position, self.column(node))
                after = start + 1
            found.append(self._with_end(index, start, after, item))
            position = found[-1].end
        return found

    def column(self, node: Node) -> int:
        """Return the column of the keys or the dashes of a mapping or a list in block style."""
        start = int(node.start_mark.index)
        if self.text[start : start + 1] in _PROPERTIES:
            # An anchor or a tag is where the node starts, and its content is below.
            if isinstance(node, MappingNode):
                start = self._member(*node.value[0]).start
            elif (dash := _FIRST_DASH.search(self.text, start)) is not None:
                start = dash.end() - 1
        return start - self.line_start(start)

    def _member(self, key: Node, value: Node) -> YamlMember:
        colon = _COLON.match(self.text, key.end_mark.index)
        if colon is None:
            raise DocumentError("a key without a colon after it cannot be edited", key.start_mark.line + 1)
        start = int(key.start_mark.index)
        question = _QUESTION.search(self.text[self.line_start(start) : start])
        if question is not None:
            start -= len(question[0])
        return self._with_end(str(key.value), start, colon.end(), value)

    def _with_end(self, step: Step, start: int, after: int, node: Node) -> YamlMember:
        alias = _ALIAS.match(self.text, after)
        if alias is not None:
            return YamlMember(step, start, after, alias.end(), node, is_alias=True)
        return YamlMember(step, start, after, max(after, self._end(node)), node, is_alias=False)

    def _end(self, node: Node) -> int:
        if not isinstance(node, ScalarNode) and not is_flow(node) and node.value:
            return self.members(node)[-1].end
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, ScalarNode) and (node.style in ("|", ">")):
            return int(end) if _KEEP.match(self.text, start) else start + len(self.text[start:end].rstrip())
        # The mark of an empty value is behind the white space and the comments after it.
        return int(end) if end > start else 0

    def _dash(self, position: int, column: int) -> int:
        """Return where the next dash of a list in block style is, by the column of its dashes."""
        dash = re.compile(r"(?<![^\r\n])(?P<space>[^\r\n#]*?)-(?=\s|$)")
        if self.text[position : position + 1] == "-" and position - self.line_start(position) == column:
            return position
        while (match := dash.search(self.text, position)) is not None:
            if len(match["space"]) == column and not match["space"].strip():
                return match.end() - 1
            position = self.next_line(match.start())
        raise DocumentError("a list is written in a way that cannot be edited")

    def walk(self, path: Path) -> tuple[list[Node], list[YamlMember]]:
        """Return the nodes from the top to a path, and the members on the way. Raises KeyError."""
        nodes = [self.root]
        found: list[YamlMember] = []
        for step in path:
            member = next((it for it in self.members(nodes[-1]) if it.step == step), None)
            if member is None:
                raise KeyError(step)
            found.append(member)
            nodes.append(member.node)
        return nodes, found

    def style(self, nodes: list[Node], newline: str) -> BlockStyle:
        """Return the indentation of the file, by the nodes next to the last of these."""
        steps: list[int] = []
        offsets: list[int] = []
        for node in [*reversed(nodes), self.root]:
            if node is not None:
                self._collect(node, steps, offsets)
        return BlockStyle(newline, steps[0] if steps else 2, offsets[0] if offsets else 2)

    def _collect(self, node: Node, steps: list[int], offsets: list[int]) -> None:
        if isinstance(node, ScalarNode) or is_flow(node):
            return
        children = node.value if isinstance(node, SequenceNode) else [value for _, value in node.value]
        for child in children:
            is_elsewhere = child.start_mark.index < node.start_mark.index  # there is an alias here
            if isinstance(child, ScalarNode) or is_flow(child) or not child.value or is_elsewhere:
                continue
            width = self.column(child) - self.column(node)
            if isinstance(node, MappingNode) and width >= 0:
                (offsets if isinstance(child, SequenceNode) else steps).append(width)
            if not (steps and offsets):
                self._collect(child, steps, offsets)


def is_flow(node: Node) -> bool:
    """Whether a list or a mapping is written with brackets."""
    return isinstance(node, CollectionNode) and bool(node.flow_style)
