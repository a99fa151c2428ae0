"""Tool definitions as `open_toolbox` shows them."""

from __future__ import annotations

import json

import msgspec
import pytest

from mcp_workbench.surface.listing.detail import DefinitionReader, ListedTool


def shown_description(definition: object) -> object:
    tool = ListedTool(("dev", "files"), "read", msgspec.Raw(json.dumps(definition).encode()))
    return json.loads(DefinitionReader().whole(tool))["description"]


def test_the_origin_of_a_tool_stands_before_its_description() -> None:
    assert shown_description({"name": "read", "description": "Reads a file"}) == "[dev/files] Reads a file"


@pytest.mark.parametrize(
    "definition",
    [{"name": "read"}, {"name": "read", "description": ""}, {"name": "read", "description": None}],
    ids=["absent", "empty", "null"],
)
def test_a_tool_without_a_description_is_described_by_its_origin_alone(definition: object) -> None:
    assert shown_description(definition) == "[dev/files]"
