"""Canonical digests ignore order and white space, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.config import ServerConfig
from mcp_workbench.config.load import load_usable
from mcp_workbench.workbench.trust.digests import (
    claim_of,
    definition_digest,
    list_digest,
    program_of,
    text_digest,
)
from tests.workbench.trust.pinned import taking, tool

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.lists(st.text("abc\ud800é", min_size=1, max_size=3), min_size=1, max_size=3)
NAMES = st.sampled_from(["path", "description", "required", "enum", "properties", "type"])
VALUES = st.one_of(st.text("ab ", max_size=4), st.integers(0, 3), st.booleans(), st.none())


def texts() -> st.SearchStrategy[str]:
    return WORDS.map(" ".join)


def schemas(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": st.one_of(st.just("string"), st.lists(st.sampled_from(["string", "null"]), unique=True)),
        "description": texts(),
        "enum": st.lists(VALUES, max_size=3, unique_by=repr),
        "required": st.lists(NAMES, max_size=3, unique=True),
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "items": inner,
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "default": st.one_of(
            VALUES, st.lists(VALUES, max_size=2), st.dictionaries(NAMES, VALUES, max_size=2)
        ),
    }
    return st.fixed_dictionaries({}, optional=keywords)


SCHEMAS = st.recursive(schemas(st.just({})), schemas, max_leaves=4)
DEFINITIONS = st.fixed_dictionaries(
    {"name": texts(), "inputSchema": SCHEMAS},
    optional={"title": texts(), "description": texts(), "outputSchema": SCHEMAS},
)
TEXTS, SETS = ("title", "description"), ("required", "enum", "type")


def respelled(schema: Any, draw: Any, *, is_map: bool = False) -> Any:
    """The same schema in another order and with other white space."""
    if isinstance(schema, list):
        return [respelled(one, draw) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {}
    for key in draw(st.permutations(list(schema))):
        value = schema[key]
        if is_map or key in ("items", "anyOf", "inputSchema", "outputSchema"):
            found[key] = respelled(value, draw)
        elif key == "properties":
            found[key] = respelled(value, draw, is_map=True)
        elif key in TEXTS:
            found[key] = f"\n{value.replace(' ', draw(st.sampled_from([' ', '  ', chr(9)])))} "
        elif key in SETS and isinstance(value, list):
            found[key] = draw(st.permutations(value))
        elif isinstance(value, dict):
            found[key] = dict(draw(st.permutations(list(value.items()))))
        else:
            found[key] = value
    return found


def raw(definition: Any, indent: int | None = None) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(definition, indent=indent).encode())


@settings(max_examples=60)
@given(DEFINITIONS, st.data())
def test_order_and_white_space_change_no_digest(definition: dict[str, Any], data: st.DataObject) -> None:
    other = respelled(definition, data.draw) | {
        "icons": [],
        "annotations": {"readOnlyHint": True},
        "_meta": None,
    }
    assert definition_digest(raw(definition)) == definition_digest(raw(other, indent=2))


def canonical(value: Any, key: str = "") -> Any:
    """A plain model of what two definitions have in common if they are the same."""
    if isinstance(value, dict):
        is_schema = key not in ("properties", "default", "enum")
        return {
            name: canonical(one, name if is_schema else "default" if key == "default" else "")
            for name, one in value.items()
        }
    if isinstance(value, list):
        listed = [canonical(one, "default" if key in ("default", "enum") else "") for one in value]
        return sorted(listed, key=json.dumps) if key in SETS else listed
    return " ".join(value.split()) if key in TEXTS and isinstance(value, str) else value


@settings(max_examples=60)
@given(DEFINITIONS, DEFINITIONS)
def test_whatever_else_differs_changes_the_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    are_same = json.dumps(canonical(one), sort_keys=True) == json.dumps(canonical(other), sort_keys=True)
    assert (definition_digest(raw(one)) == definition_digest(raw(other))) == are_same


@pytest.mark.parametrize(
    "other",
    [
        tool("Read"),
        tool(description="Reads a file"),
        tool(description="reads a file."),
        tool(title="Reads a file."),
        tool(inputSchema=taking(("path",), description={"type": "string"})),
        tool(inputSchema=taking(path={"type": "string", "default": "a  b"})),
        tool(inputSchema=taking(path={"type": "string", "pattern": " "})),
    ],
)
def test_a_small_difference_is_a_difference(other: msgspec.Raw) -> None:
    assert definition_digest(other) != definition_digest(tool())


def test_two_members_of_one_name_are_not_taken_for_one_of_them() -> None:
    twice = msgspec.Raw(b'{"name":"a","inputSchema":{"description":"x","description":"y"}}')
    once = [msgspec.Raw(b'{"name":"a","inputSchema":{"description":"%b"}}' % text) for text in (b"x", b"y")]
    assert len({definition_digest(one) for one in (twice, *once)}) == 3


def test_a_list_is_told_apart_byte_by_byte() -> None:
    one, other = msgspec.Raw(b"ab"), msgspec.Raw(b"c")
    lists = [((one, other), "x"), ((one,), "x"), ((other, one), "x"), ((one, other), "y")]
    assert len({list_digest(tools, text) for tools, text in lists}) == 4
    assert (text_digest("  \n"), text_digest("a b") == text_digest(" a\tb\n")) == ("", True)


@pytest.mark.parametrize(
    ("config", "program"),
    [
        (ServerConfig(command="npx", args=["-y", "some-package", "--key=k1"]), "npx -y some-package --key"),
        (
            ServerConfig(command="uvx", args=["pkg", "--port", "8080", "true"]),
            "uvx pkg --port <value> <value>",
        ),
        (ServerConfig(command="my server", args=["a", ""]), '"my server" a ""'),
        (
            ServerConfig(
                command="docker",
                args=["run", "-e", "API_KEY=sk-abcdef1234567890", "--token", f"ghp_{'a1B2' * 9}", "img"],
            ),
            "docker run -e API_KEY=<value> --token <value> img",
        ),
        (ServerConfig(url="HTTPS://user:pw@Api.example.com:8443/mcp?key=1"), "https://api.example.com:8443"),
    ],
)
def test_a_program_is_told_without_values(config: ServerConfig, program: str) -> None:
    assert program_of(config, None) == program


@pytest.mark.parametrize(
    ("server", "program"),
    [
        (
            {
                "command": "${ROOT}/run",
                "args": ["${env:ROOT}", "--at=${ROOT}", "${NONE:-/x}/y", "$${a}", "z"],
            },
            "${ROOT}/run ${ROOT} --at ${NONE}/y ${a} z",
        ),
        ({"url": "https://${ROOT}.example.com/${ROOT}"}, "https://${root}.example.com"),
        ({"url": "${ADDRESS}/mcp"}, "https://api.example.com"),
        ({"command": "run", "args": ["/ci/x"]}, "run /ci/x"),
    ],
)
@pytest.mark.parametrize("root", ["/ci", "/home/somebody/projects/shop", "8080"])
def test_variables_count_by_their_names(
    server: dict[str, object], program: str, root: str, tmp_path: Path
) -> None:
    boxes = {"dev": {"description": "d", "mcpServers": {"fs": server}}}
    environ = {"ROOT": root.strip("/") if "url" in server else root, "ADDRESS": "https://api.example.com"}
    path = tmp_path / "workbench-config.json"
    path.write_text(json.dumps({"toolboxes": boxes}), encoding="utf-8")
    loaded = load_usable(path, environ)
    config = loaded.config.toolboxes["dev"].servers["fs"]
    assert program_of(config, loaded.programs.get(("dev", "fs"))) == program


@pytest.mark.parametrize(
    ("hints", "claim"),
    [
        ({}, "unknown"),
        ({"idempotentHint": True}, "unknown"),
        ({"readOnlyHint": True}, "read-only"),
        ({"readOnlyHint": True, "destructiveHint": False}, "read-only"),
        ({"readOnlyHint": True, "destructiveHint": True}, "destructive"),
        ({"readOnlyHint": False}, "destructive"),
        ({"readOnlyHint": False, "destructiveHint": False}, "additive"),
        ({"destructiveHint": False}, "additive"),
    ],
)
def test_hints_are_read_as_the_specification_says(hints: dict[str, bool], claim: str) -> None:
    assert claim_of(hints) == claim
