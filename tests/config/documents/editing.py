"""Edits of documents, told as tuples, and texts and values for properties."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mcp_workbench.config.documents import Path, open_document
from mcp_workbench.config.documents.plain import get, has, with_value, without
from mcp_workbench.config.documents.yaml_style import flow, scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config.documents import Document, Format

Change = tuple[object, ...]
"""The name of a method of `Document`, and its arguments."""

SERVER = {"command": "npx", "args": ["-y", "@scope/server"], "env": {"KEY": "ü"}}

KEYS = st.text(max_size=6) | st.sampled_from(["a", "b", "a.b", "a/b", "a b", "ключ", '"', "\\", "//", "/*"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def change(document: Document, *changes: Change) -> None:
    for name, *arguments in changes:
        getattr(document, str(name))(*arguments)


def edited(form: Format, source: str, *changes: Change) -> str:
    document = open_document(form, source.encode())
    change(document, *changes)
    return document.encode().decode()


def lines_changed(before: str, after: str) -> list[str]:
    """The lines that went, with `-` before each, and then those that came, with `+`."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [sign + line[2:] for sign in "-+" for line in lines if line[0] == sign]


@st.composite
def json_texts(
    draw: Callable[[st.SearchStrategy[str]], str], tree: object, *, far_commas: bool = True
) -> str:
    """JSON text of a value with white space, comments and trailing commas wherever they may be."""
    near = ["", "", "", " ", "/* c */"]
    far = ["\n", "\n  ", "\r\n\t", "\n\n", " // ] , }\n", "\n  // own line\n  ", "/*\n*/"]
    gaps = st.sampled_from([*near, *far])
    before_commas = gaps if far_commas else st.sampled_from(near)
    commas = st.sampled_from(["", "", ","])

    def write(value: object) -> str:
        if isinstance(value, dict):
            parts = [
                f"{draw(gaps)}{json.dumps(key)}{draw(gaps)}:{draw(gaps)}{write(item)}{draw(before_commas)}"
                for key, item in value.items()
            ]
        elif isinstance(value, list):
            parts = [f"{draw(gaps)}{write(item)}{draw(before_commas)}" for item in value]
        else:
            return json.dumps(value)
        inner = ",".join(parts) + (draw(commas) if parts else "") + draw(gaps)
        return f"{{{inner}}}" if isinstance(value, dict) else f"[{inner}]"

    return draw(gaps) + write(tree) + draw(gaps)


@st.composite
def yaml_texts(draw: Callable[[st.SearchStrategy[str]], str], tree: dict[str, object]) -> str:
    """YAML text of a value in block style, with comments, empty lines and any indentation."""
    above = st.sampled_from(["", "", "", "\n", "# own line\n", "\n# own line\n", "  # deeper\n"])
    behind = st.sampled_from(["", "", "", "  ", " # behind"])
    steps, offsets = st.sampled_from(["  ", " ", "    "]), st.sampled_from(["", "  ", "   "])

    def write(value: object, indent: str) -> str:
        if not isinstance(value, dict | list) or not value:
            return f" {flow(value)}{draw(behind)}\n"
        if draw(st.sampled_from(["block", "block", "flow"])) == "flow":
            return f" {flow(value)}{draw(behind)}\n"
        inner = indent + draw(steps if isinstance(value, dict) else offsets)
        return f"{draw(behind)}\n{members(value, inner)}"

    def members(value: object, indent: str) -> str:
        parts = []
        if isinstance(value, dict):
            parts = [(f"{indent}{scalar(key)}:", write(item, indent)) for key, item in value.items()]
        elif isinstance(value, list):
            parts = [(f"{indent}-", write(item, f"{indent} ")) for item in value]
        return "".join(
            "".join(indent + line if line.strip() else line for line in draw(above).splitlines(keepends=True))
            + head
            + rest
            for head, rest in parts
        )

    return members(tree, "") + draw(above)


def paths(data: object, above: Path = ()) -> list[Path]:
    """The paths of all values inside of a value."""
    steps: list[tuple[str | int, object]] = []
    if isinstance(data, dict):
        steps = list(data.items())
    elif isinstance(data, list):
        steps = list(enumerate(data))
    return [path for step, item in steps for path in ((*above, step), *paths(item, (*above, step)))]


def any_edit(data: st.DataObject, tree: object, value: object) -> tuple[Change, object]:
    """An edit that is possible, and what the document holds after it."""
    places = paths(tree)
    objects = [(), *(path for path in places if isinstance(get(tree, path), dict))]
    lists = [path for path in places if isinstance(get(tree, path), list)]
    new = (*data.draw(st.sampled_from(objects)), data.draw(KEYS))
    kinds = ["add", *(["set", "remove", "move"] if places else []), *(["append"] if lists else [])]
    kind = data.draw(st.sampled_from(kinds))
    if kind == "add":
        return ("set", new, value), with_value(tree, new, value)
    if kind == "append":
        path = data.draw(st.sampled_from(lists))
        present = get(tree, path)
        assert isinstance(present, list)
        return ("append", path, value), with_value(tree, path, [*present, value])
    path = data.draw(st.sampled_from(places))
    if kind == "set":
        return ("set", path, value), with_value(tree, path, value)
    if kind == "move" and not has(tree, new) and new[: len(path)] != path:
        return ("move", path, new), without(with_value(tree, new, get(tree, path)), path)
    return ("remove", path), without(tree, path)
