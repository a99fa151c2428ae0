"""What holds for every file and every edit: the data is what was meant, and an inverse edit restores all."""

from __future__ import annotations

import tomllib

import pytest
import tomlkit
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_workbench.config.documents import Document, Format, open_document
from mcp_workbench.config.documents.plain import is_same
from mcp_workbench.errors import DocumentError
from tests.config.documents.editing import OBJECTS, VALUES, any_edit, change, json_texts, yaml_texts

EXAMPLES = 60
NEW = "a key that no example has"


def has_null(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(has_null, value.values() if isinstance(value, dict) else value))
    return value is None


def without_empty(value: object) -> object:
    """The value without empty objects and lists: in TOML they may go with the last that is in them."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {key: without_empty(item) for key, item in value.items()}
    return {key: item for key, item in members.items() if item not in ({}, [])}


def written(form: Format, data: dict[str, object]) -> Document:
    document = open_document(form, b"")
    for key, value in data.items():
        document.set((key,), value)
    return document


@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_json_holds_what_was_meant_whatever_its_formatting(
    data: st.DataObject, tree: dict[str, object], value: object
) -> None:
    document = open_document("json", data.draw(json_texts(tree)).encode())
    for _ in range(2):
        edit, expected = any_edit(data, document.data, value)
        change(document, edit)
        assert is_same(document.data, expected)
        assert is_same(open_document("json", document.encode()).data, expected)


@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_a_new_member_of_json_leaves_as_it_came(
    data: st.DataObject, tree: dict[str, object], value: object
) -> None:
    assume(tree)
    source = data.draw(json_texts(tree, far_commas=False)).encode()
    document = open_document("json", source)
    document.set((NEW,), value)
    document.remove((NEW,))
    assert document.encode() == source


@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_toml_holds_what_was_meant(data: st.DataObject, tree: dict[str, object], value: object) -> None:
    assume(not has_null(tree) and not has_null(value))
    document = written("toml", tree)
    edit, expected = any_edit(data, document.data, value)
    change(document, edit)
    assert is_same(without_empty(document.data), without_empty(expected))
    assert is_same(open_document("toml", document.encode()).data, document.data)


@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_toml_of_another_writer_holds_what_was_meant(
    data: st.DataObject, tree: dict[str, object], value: object
) -> None:
    assume(not has_null(tree) and not has_null(value))
    source = tomlkit.dumps(tree)
    assume(tomllib.loads(source) == tree)
    document = open_document("toml", source.encode())
    edit, expected = any_edit(data, document.data, value)
    change(document, edit)
    assert is_same(without_empty(document.data), without_empty(expected))


@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_yaml_holds_what_was_meant_whatever_its_formatting(
    data: st.DataObject, tree: dict[str, object], value: object
) -> None:
    document = open_document("yaml", data.draw(yaml_texts(tree)).encode())
    assert is_same(document.data, tree)
    for _ in range(2):
        edit, expected = any_edit(data, document.data, value)
        change(document, edit)
        assert is_same(document.data, expected)


@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_a_new_member_of_yaml_leaves_as_it_came(
    data: st.DataObject, tree: dict[str, object], value: object
) -> None:
    assume(tree)
    source = data.draw(yaml_texts(tree)).encode()
    document = open_document("yaml", source)
    document.set((NEW,), value)
    document.remove((NEW,))
    assert document.encode() == source


@pytest.mark.parametrize("width", [20, 1000])
@given(st.data(), OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_yaml_of_another_writer_holds_what_was_meant(
    width: int, data: st.DataObject, tree: dict[str, object], value: object
) -> None:
    source = yaml.safe_dump(tree, indent=width % 7, width=width, allow_unicode=True)
    try:
        document = open_document("yaml", source.encode())
    except DocumentError:
        document = open_document("yaml", b"")  # the other writer wrote what YAML 1.2 does not allow
    assume(is_same(document.data, tree))
    edit, expected = any_edit(data, document.data, value)
    change(document, edit)
    assert is_same(document.data, expected)


@pytest.mark.parametrize("form", ["json", "toml", "yaml"])
@given(OBJECTS, VALUES)
@settings(deadline=None, max_examples=EXAMPLES)
def test_what_we_wrote_ourselves_comes_back(form: Format, tree: dict[str, object], value: object) -> None:
    assume(tree and (form != "toml" or not has_null([tree, value])))
    document = written(form, tree)
    assert is_same(without_empty(document.data), without_empty(tree))
    before = document.encode()
    document.set((NEW,), value)
    document.remove((NEW,))
    assert document.encode() == before
