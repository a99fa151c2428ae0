"""Tool definitions as `open_toolbox` shows them."""

from __future__ import annotations

import json

import msgspec
import pytest

from mcp_workbench.surface.listing.detail import FULL, SCHEMAS, SIGNATURES, DefinitionReader, ListedTool


def shown_description(definition: object) -> object:
    tool = ListedTool(("dev", "files"), "read", msgspec.Raw(json.dumps(definition).encode()))
    whole, native = (json.loads(DefinitionReader().item(level, tool)) for level in (FULL, SCHEMAS))
    assert whole["description"] == native["description"]
    return whole["description"]


def test_the_origin_of_a_tool_stands_before_its_description() -> None:
    assert shown_description({"name": "read", "description": "Reads a file"}) == "[dev/files] Reads a file"


@pytest.mark.parametrize(
    "definition",
    [{"name": "read"}, {"name": "read", "description": ""}, {"name": "read", "description": None}],
    ids=["absent", "empty", "null"],
)
def test_a_tool_without_a_description_is_described_by_its_origin_alone(definition: object) -> None:
    assert shown_description(definition) == "[dev/files]"


def test_what_a_line_cannot_say_is_said_by_the_input_schema() -> None:
    choices = [{"type": "object", "properties": {name: {"type": "string"}}} for name in "ab"]
    schema = {"type": "object", "properties": {"it": {"oneOf": choices}}}
    definition = {"name": "read", "description": "Reads. " * 100, "inputSchema": schema, "title": "Reader"}
    tool = ListedTool(("dev", "files"), "read", msgspec.Raw(json.dumps(definition).encode()))
    line = json.loads(DefinitionReader().line(SIGNATURES, tool))
    assert line["inputSchema"] == schema
    assert line["description"].endswith("…")
    assert list(line) == ["name", "description", "inputSchema"]
    item = json.loads(DefinitionReader().item(SIGNATURES, tool))
    assert list(item) == ["name", "toolbox_name", "source_server", "description", "inputSchema"]
