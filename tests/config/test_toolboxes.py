"""The top of the file and its toolboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import ServerConfig, ToolboxConfig, WorkbenchConfig
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, problems, toolbox, write

if TYPE_CHECKING:
    from pathlib import Path

SERVER = {"command": "x"}
NESTING = '{ "toolboxes": { "dev": { "description": "What it is for", "mcpServers": { … } } } }'


def test_a_file_becomes_its_configuration(tmp_path: Path) -> None:
    tree = {"$schema": "./workbench-config.schema.json", "toolboxes": {"dev": toolbox(a=SERVER, b=SERVER)}}
    loaded = load_content(tmp_path, tree)
    servers = {"a": ServerConfig(command="x"), "b": ServerConfig(command="x")}
    expected = WorkbenchConfig(toolboxes={"dev": ToolboxConfig(description="Tools", servers=servers)})
    assert (loaded.config, loaded.path, loaded.warnings) == (expected, str(write(tmp_path, tree)), ())


def test_a_toolbox_without_a_deadline_of_its_own_has_that_of_the_file(tmp_path: Path) -> None:
    tree = {"openDeadline": 5, "toolboxes": {"a": toolbox(), "b": toolbox() | {"openDeadline": 0.5}}}
    config = load_content(tmp_path, tree).config
    deadlines = {name: box.open_deadline for name, box in config.toolboxes.items()}
    assert (config.open_deadline, deadlines) == (5.0, {"a": 5.0, "b": 0.5})


def test_a_file_without_a_deadline_has_fifteen_seconds(tmp_path: Path) -> None:
    config = load_content(tmp_path, {"toolboxes": {"a": toolbox()}}).config
    assert (config.open_deadline, config.toolboxes["a"].open_deadline) == (15.0, 15.0)


def test_a_toolbox_without_a_budget_of_its_own_has_that_of_the_file(tmp_path: Path) -> None:
    tree = {"listingBudget": 500, "toolboxes": {"a": toolbox(), "b": toolbox() | {"listingBudget": 20_000}}}
    config = load_content(tmp_path, tree).config
    budgets = {name: box.listing_budget for name, box in config.toolboxes.items()}
    assert (config.listing_budget, budgets) == (500, {"a": 500, "b": 20_000})
    config = load_content(tmp_path, {"toolboxes": {"a": toolbox()}}).config
    assert (config.listing_budget, config.toolboxes["a"].listing_budget) == (7000, 7000)


@pytest.mark.parametrize("budget", [0, 499, 10_000_001, "8000", 2.5, None])
def test_a_wrong_budget_is_reported_at_its_place(tmp_path: Path, budget: object) -> None:
    tree = {"listingBudget": budget, "toolboxes": {"a": toolbox() | {"listingBudget": budget}}}
    found = problems(tmp_path, tree)
    assert [problem.where for problem in found] == ["listingBudget", "toolboxes.a.listingBudget"]
    assert all("should be a number of tokens from 500 to 10000000" in problem.what for problem in found)


def test_a_wrong_deadline_is_reported_at_its_place(tmp_path: Path) -> None:
    seconds = "should be a number of seconds, more than 0 and at most 100000000"
    tree = {"openDeadline": "15", "toolboxes": {"a": toolbox() | {"openDeadline": 0}}}
    assert [(problem.where, problem.what) for problem in problems(tmp_path, tree)] == [
        ("openDeadline", f"{seconds}, not a string"),
        ("toolboxes.a.openDeadline", seconds),
    ]


def test_a_deadline_of_more_than_an_hour_is_a_warning(tmp_path: Path) -> None:
    what = "more than an hour: the unit is seconds (other clients count milliseconds)"
    tree = {"openDeadline": 15_000, "toolboxes": {"a": toolbox(fs=SERVER) | {"openDeadline": 5000}}}
    assert load_content(tmp_path, tree).warnings == (
        f"openDeadline: {what}",
        f"toolboxes.a.openDeadline: {what}",
    )


def test_no_toolboxes_at_all_is_valid(tmp_path: Path) -> None:
    assert load_content(tmp_path, {"toolboxes": {}}).config == WorkbenchConfig(toolboxes={})


def test_names_of_any_kind_are_kept_in_their_order(tmp_path: Path) -> None:
    names = ["z", "a b", "a.b/c__d", "🧰"]
    tree = {"toolboxes": {name: toolbox(**{name: SERVER}) for name in names}}
    config = load_content(tmp_path, tree).config
    assert [(name, list(box.servers)) for name, box in config.toolboxes.items()] == [(n, [n]) for n in names]


def test_a_toolbox_without_servers_is_a_warning(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, {"toolboxes": {"dev": toolbox()}})
    assert loaded.warnings == ("toolboxes.dev.mcpServers: this toolbox has no servers",)


def test_missing_toolboxes_are_an_error(tmp_path: Path) -> None:
    assert problems(tmp_path, {}) == [Problem("", '"toolboxes" is missing', f"Write {NESTING}")]


@pytest.mark.parametrize("key", ["mcpServers", "servers"])
def test_servers_beside_the_toolboxes_are_told_how_to_nest_them(tmp_path: Path, key: str) -> None:
    what = "servers belong in a toolbox, not at the top of the file"
    tree = {key: {"fs": SERVER}, "toolboxes": {}}
    assert problems(tmp_path, tree) == [Problem(key, what, f"Move them: {NESTING}")]


@pytest.mark.parametrize(
    ("content", "owner"),
    [
        ({"mcpServers": {"fs": SERVER}}, "Claude, Cursor and many other clients"),
        ({"mcpServers": {}, "theme": "dark"}, "Claude, Cursor and many other clients"),
        (
            {"fs": SERVER, "web": {"url": "https://mcp.example.com/mcp"}},
            "Claude, Cursor and many other clients",
        ),
        ({"servers": {"fs": SERVER}, "inputs": []}, "VS Code"),
        ({"mcp": {"servers": {"fs": SERVER}}}, "VS Code"),
        ({"context_servers": {"fs": SERVER}}, "Zed"),
        ({"amp.mcpServers": {"fs": SERVER}}, "Amp"),
        ({"mcp": {"fs": {"type": "local", "command": ["x"]}}}, "OpenCode"),
        ({"mcp": {"fs": SERVER}}, "Crush"),
        ('[mcp_servers.fs]\ncommand = "x"\n', "Codex"),
        ("name: mine\nmcpServers:\n  - name: fs\n    command: x\n", "Continue"),
        ("extensions:\n  fs:\n    type: stdio\n    cmd: x\n", "Goose"),
    ],
)
def test_a_whole_file_of_a_client_is_told_how_to_import_it(
    tmp_path: Path, content: object, owner: str
) -> None:
    path = tmp_path / "workbench-config.json"
    assert problems(tmp_path, content) == [
        Problem(
            "",
            f"this file has the form of {owner}, not of the workbench",
            f"Import its servers: mcp-workbench import {path}",
        )
    ]


@pytest.mark.parametrize(
    ("toolboxes", "expected"),
    [
        ([], [("toolboxes", "should be an object, not a list")]),
        ({"dev": "x"}, [("toolboxes.dev", "should be an object, not a string")]),
        (
            {"dev": {}},
            [("toolboxes.dev.description", "is missing"), ("toolboxes.dev.mcpServers", "is missing")],
        ),
        (
            {"dev": {"description": " ", "mcpServers": []}},
            [
                ("toolboxes.dev.description", "should be a string that is not empty"),
                ("toolboxes.dev.mcpServers", "should be an object, not a list"),
            ],
        ),
        (
            {"dev": {"description": 7, "mcpServers": {"fs": None}}},
            [
                ("toolboxes.dev.description", "should be a string that is not empty, not a number"),
                ("toolboxes.dev.mcpServers.fs", "should be an object, not null"),
            ],
        ),
        ({"": toolbox()}, [('toolboxes[""]', "the name of a toolbox cannot be empty")]),
        (
            {"my box": toolbox(**{" ": SERVER})},
            [('toolboxes["my box"].mcpServers[" "]', "the name of a server cannot be empty")],
        ),
        (
            {"a\ud800": toolbox(), "\u202eb": {"description": "\udfff", "mcpServers": 1}},
            [
                (
                    r'toolboxes["a\ud800"]',
                    "contains half of a character (a lone surrogate), which cannot be written anywhere",
                ),
                (
                    r'toolboxes["\u202eb"].description',
                    "contains half of a character (a lone surrogate), which cannot be written anywhere",
                ),
                (r'toolboxes["\u202eb"].mcpServers', "should be an object, not a number"),
            ],
        ),
    ],
)
def test_wrong_toolboxes_are_reported_each_at_its_place(
    tmp_path: Path, toolboxes: object, expected: list[tuple[str, str]]
) -> None:
    found = problems(tmp_path, {"toolboxes": toolboxes})
    assert [(problem.where, problem.what) for problem in found] == expected
    assert all(problem.remedy for problem in found)


def test_the_dynamic_mode_is_refused_because_it_was_removed(tmp_path: Path) -> None:
    what = 'the mode "dynamic" was removed; the workbench always works in proxy mode'
    assert problems(tmp_path, {"toolMode": "dynamic", "toolboxes": {}}) == [
        Problem("toolMode", what, 'Delete the "toolMode" field.')
    ]


def test_the_proxy_mode_is_accepted_with_a_deprecation_warning(tmp_path: Path) -> None:
    assert load_content(tmp_path, {"toolMode": "proxy", "toolboxes": {}}).warnings == (
        'toolMode: deprecated: the workbench always works in proxy mode. Delete the "toolMode" field.',
    )


@pytest.mark.parametrize("mode", ["static", "", None, True, ["proxy"]])
def test_any_other_mode_is_ignored_with_a_warning(tmp_path: Path, mode: object) -> None:
    what = "the workbench does not know this mode and ignores it; it always works in proxy mode"
    loaded = load_content(tmp_path, {"toolMode": mode, "toolboxes": {}})
    assert loaded.config == WorkbenchConfig(toolboxes={})
    assert loaded.warnings == (f'toolMode: {what}. Delete the "toolMode" field.',)


def test_all_the_mistakes_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    tree = {
        "toolMode": "dynamic",
        "toolboxes": {
            "a": {"mcpServers": {"fs": {"command": "x", "args": ["ok", 1]}}},
            "b": {"description": "B", "mcpServers": {"git": {"url": "${MISSING}", "timeout": "1"}}},
        },
    }
    assert [problem.where for problem in problems(tmp_path, tree)] == [
        "toolboxes.b.mcpServers.git.url",
        "toolMode",
        "toolboxes.a.description",
        "toolboxes.a.mcpServers.fs.args[1]",
        "toolboxes.b.mcpServers.git.timeout",
    ]
