"""What a mistake costs, where the configuration is used in spite of it: what it is in, and nothing wider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import load_usable
from tests.config.loading import toolbox, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config import LoadedConfig

GOOD = {"command": "x"}


def used(directory: Path, content: object, **environ: str) -> LoadedConfig:
    return load_usable(write(directory, content), environ)


def costs(loaded: LoadedConfig) -> tuple[bool, list[str], list[str], int]:
    """Whether the file is unusable, the toolboxes and servers that are, and the number of settings."""
    faults = loaded.faults
    servers = ["/".join(origin) for origin in faults.servers]
    return bool(faults.file), list(faults.toolboxes), servers, len(faults.settings)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"toolboxes": {"dev": toolbox(a=GOOD)}}, (False, [], [], 0)),
        ({"toolboxes": {"dev": toolbox(a=GOOD, b={})}}, (False, [], ["dev/b"], 0)),
        ({"toolboxes": {"dev": toolbox(a=GOOD, b=None)}}, (False, [], ["dev/b"], 0)),
        ({"toolboxes": {"dev": toolbox(a={"command": "${NO}"})}}, (False, [], ["dev/a"], 0)),
        ({"toolboxes": {"dev": toolbox(a={"command": "x", "timeout": "soon"})}}, (False, [], ["dev/a"], 0)),
        (
            {"toolboxes": {"dev": toolbox(a={"command": "x", "sandbox": {"net": 0}})}},
            (False, [], ["dev/a"], 0),
        ),
        ({"toolboxes": {"dev": toolbox(a=GOOD), "ops": 3}}, (False, ["ops"], [], 0)),
        ({"toolboxes": {"dev": {"description": "D", "mcpServers": []}}}, (False, ["dev"], [], 0)),
        ({"toolboxes": {"dev": {"description": "D", "mcpServer": {"a": GOOD}}}}, (False, ["dev"], [], 0)),
        ({"toolboxes": {"dev": {"mcpServers": {"a": GOOD}}}}, (False, [], [], 1)),
        ({"toolboxes": {"dev": toolbox(a=GOOD)}, "openDeadline": "x"}, (False, [], [], 1)),
        ({"toolboxes": {"dev": toolbox(a=GOOD)}, "http": {"allowedHosts": 3}}, (False, [], [], 1)),
        ({"toolboxes": []}, (True, [], [], 0)),
        ({"toolboxs": {"dev": toolbox(a=GOOD)}}, (True, [], [], 0)),
        ({}, (True, [], [], 0)),
    ],
)
def test_a_mistake_costs_what_it_is_in(tmp_path: Path, content: Any, expected: object) -> None:
    assert costs(used(tmp_path, content)) == expected


def test_a_server_that_is_written_twice_cannot_be_used(tmp_path: Path) -> None:
    servers = '{"a": {"command": "x", "toolFilters": ["one"]}, "a": {"command": "x"}, "b": {"command": "y"}}'
    loaded = used(tmp_path, f'{{"toolboxes": {{"dev": {{"description": "D", "mcpServers": {servers}}}}}}}')
    assert costs(loaded) == (False, [], ["dev/a"], 0)


def test_a_toolbox_that_is_written_twice_cannot_be_used(tmp_path: Path) -> None:
    text = '{"toolboxes": {"dev": {"description": "D", "mcpServers": {}}, "dev": {"description": "D"}}}'
    assert costs(used(tmp_path, text))[1] == ["dev"]


def test_a_limit_that_cannot_be_attributed_makes_the_whole_file_unusable(tmp_path: Path) -> None:
    limited = {"command": "x", "enabledTools": "not a list"}
    loaded = used(tmp_path, {"toolboxes": {"${BOX}": toolbox(a=limited)}}, BOX="dev")
    assert (costs(loaded)[0], loaded.config.toolboxes) == (True, {})


def test_every_mistake_is_listed_in_the_order_in_which_it_was_found(tmp_path: Path) -> None:
    loaded = used(tmp_path, {"toolboxes": {"dev": toolbox(a={}, b={"command": "${NO}"}), "ops": 3}})
    assert [problem.where for problem in loaded.faults.all] == [
        "toolboxes.dev.mcpServers.b.command",
        "toolboxes.dev.mcpServers.a",
        "toolboxes.ops",
    ]
