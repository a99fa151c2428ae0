"""A key is written down once, in the model: validation, the schema and the suggestions read it from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mcp_workbench.config import ServerConfig, ToolboxConfig, WorkbenchConfig
from mcp_workbench.config.schema import json_schema
from mcp_workbench.config.validation.suggest import right_place
from tests.config.loading import one_server, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path

LEVELS: list[type[msgspec.Struct]] = [WorkbenchConfig, ToolboxConfig, ServerConfig]
KEYS = [
    pytest.param(struct, field.encode_name, id=f"{struct.__name__}-{field.encode_name}")
    for struct in LEVELS
    for field in msgspec.structs.fields(struct)
]
NO_KEY_TAKES_THIS = [[None]]


def with_key(struct: type[msgspec.Struct], key: str, value: object) -> tuple[dict[str, Any], str]:
    """A file with that key on the level of the struct, and the place of the key."""
    if struct is WorkbenchConfig:
        return {"toolboxes": {}} | {key: value}, key
    if struct is ToolboxConfig:
        return {"toolboxes": {"dev": toolbox() | {key: value}}}, f"toolboxes.dev.{key}"
    return one_server({"command": "x"} | {key: value}), f"toolboxes.dev.mcpServers.fs.{key}"


@pytest.mark.parametrize(("struct", "key"), KEYS)
def test_validation_knows_every_key_of_the_model(
    tmp_path: Path, struct: type[msgspec.Struct], key: str
) -> None:
    tree, place = with_key(struct, f"{key}x", 1)
    reported = {(problem.where, problem.remedy) for problem in problems(tmp_path, tree)}
    assert (place, f'Did you mean "{key}"? Write it exactly so.') in reported


@pytest.mark.parametrize(("struct", "key"), KEYS)
def test_validation_reads_the_value_of_every_key_of_the_model(
    tmp_path: Path, struct: type[msgspec.Struct], key: str
) -> None:
    tree, place = with_key(struct, key, NO_KEY_TAKES_THIS)
    assert any(problem.where.startswith(place) for problem in problems(tmp_path, tree))


@pytest.mark.parametrize(("struct", "key"), KEYS)
def test_the_schema_has_every_key_of_the_model(struct: type[msgspec.Struct], key: str) -> None:
    schema: dict[str, Any] = json_schema()
    level = schema if struct is WorkbenchConfig else schema["$defs"][struct.__name__]
    assert level["properties"][key]["description"]


@pytest.mark.parametrize(("struct", "key"), KEYS)
def test_a_key_of_the_model_in_the_wrong_place_is_told_where_it_belongs(
    struct: type[msgspec.Struct], key: str
) -> None:
    level = {
        WorkbenchConfig: "at the top of the configuration file",
        ToolboxConfig: "in a toolbox",
        ServerConfig: "in a server",
    }[struct]
    # People and other clients write a description anywhere.
    assert key == "description" or level in (right_place(key) or "")


def test_the_schema_has_no_default_for_what_a_toolbox_takes_from_the_file() -> None:
    schema: dict[str, Any] = json_schema()
    of_a_toolbox = schema["$defs"]["ToolboxConfig"]["properties"]
    shared = of_a_toolbox.keys() & schema["properties"].keys()
    assert shared == {"listingBudget", "openDeadline", "pin", "policy", "results"}
    assert [key for key in shared if "default" in of_a_toolbox[key]] == []
    assert (
        schema["properties"]["listingBudget"]["default"],
        schema["properties"]["openDeadline"]["default"],
    ) == (
        7000,
        15.0,
    )


def test_the_schema_has_no_default_that_means_not_set() -> None:
    schema: dict[str, Any] = json_schema()
    levels = [schema, *schema["$defs"].values()]
    defaults = [
        described["default"]
        for level in levels
        for described in level.get("properties", {}).values()
        if "default" in described
    ]
    assert defaults
    assert None not in defaults
