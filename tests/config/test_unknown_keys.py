"""Keys that the workbench does not know: slips, other clients' keys, and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import Problem
from tests.config.loading import load_content, one_server, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path

FS = "toolboxes.dev.mcpServers.fs"


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("commnad", "command"),
        ("Command", "command"),
        ("agrs", "args"),
        ("arguments", "args"),
        ("evn", "env"),
        ("workingDirectory", "cwd"),
        ("ulr", "url"),
        ("URL", "url"),
        ("header", "headers"),
        ("transprot", "transport"),
        ("toolfilters", "toolFilters"),
        ("tool_filter", "toolFilters"),
        ("require", "required"),
        ("disable", "disabled"),
        ("timeOut", "timeout"),
        ("startup_timeout", "startupTimeout"),
        ("call_limit", "callLimit"),
        ("callLimits", "callLimit"),
        ("messagelimit", "messageLimit"),
        ("inherit-env", "inheritEnv"),
        ("protcol", "protocol"),
        ("types", "type"),
    ],
)
def test_a_slip_in_a_server_is_an_error_with_the_suggestion_and_nothing_more(
    tmp_path: Path, slip: str, meant: str
) -> None:
    entry = {slip: "x"} if meant in ("command", "url") else {"command": "x", slip: "x"}
    where = f"{FS}.{slip}"
    assert problems(tmp_path, one_server(entry)) == [
        Problem(where, "unknown key", f'Did you mean "{meant}"? Write it exactly so.')
    ]


def test_what_stands_under_a_slip_is_examined_too(tmp_path: Path) -> None:
    tree = {"toolboxs": {"dev": {"description": "x", "mcpServer": {"fs": {"commnad": "x", "args": 5}}}}}
    fs = "toolboxs.dev.mcpServer.fs"
    assert [problem.where for problem in problems(tmp_path, tree)] == [
        "toolboxs",
        "toolboxs.dev.mcpServer",
        f"{fs}.commnad",
        f"{fs}.args",
    ]


@pytest.mark.parametrize("slip", ["open_deadline", "opendeadline", "openDedline"])
def test_a_slip_of_the_deadline_is_an_error_with_the_suggestion_in_both_its_places(
    tmp_path: Path, slip: str
) -> None:
    tree = {slip: 5, "toolboxes": {"dev": {**toolbox(), slip: 5}}}
    remedy = 'Did you mean "openDeadline"? Write it exactly so.'
    assert problems(tmp_path, tree) == [
        Problem(slip, "unknown key", remedy),
        Problem(f"toolboxes.dev.{slip}", "unknown key", remedy),
    ]


@pytest.mark.parametrize("key", ["openDeadline", "open_deadline"])
def test_a_deadline_on_a_server_is_told_where_it_belongs(tmp_path: Path, key: str) -> None:
    place = "in a toolbox, or at the top of the configuration file for all of them"
    assert load_content(tmp_path, one_server({"command": "x", key: 5})).warnings == (
        f"{FS}.{key}: the workbench ignores this key here; it belongs {place}",
    )


@pytest.mark.parametrize("key", ["callLimit", "messageLimit", "startup_timeout", "timeout"])
def test_a_key_of_a_server_that_stands_above_it_is_told_where_it_belongs(tmp_path: Path, key: str) -> None:
    tree = {key: 5, "toolboxes": {"dev": {**toolbox(fs={"command": "x"}), key: 5}}}
    what = "the workbench ignores this key here; it belongs in a server"
    assert load_content(tmp_path, tree).warnings == (f"{key}: {what}", f"toolboxes.dev.{key}: {what}")


@pytest.mark.parametrize(("slip", "meant"), [("descripton", "description"), ("desc_ription", "description")])
def test_a_slip_in_a_toolbox_is_an_error_with_the_suggestion(tmp_path: Path, slip: str, meant: str) -> None:
    tree = {"toolboxes": {"dev": {slip: "x", "mcpServers": {}}}}
    assert problems(tmp_path, tree) == [
        Problem(f"toolboxes.dev.{slip}", "unknown key", f'Did you mean "{meant}"? Write it exactly so.')
    ]


@pytest.mark.parametrize("slip", ["mcpServer", "mcpservers", "mcp_servers", "servers"])
def test_a_slip_of_the_servers_of_a_toolbox_is_an_error_with_the_suggestion(
    tmp_path: Path, slip: str
) -> None:
    tree = {"toolboxes": {"dev": {"description": "x", slip: {}}}}
    assert problems(tmp_path, tree) == [
        Problem(f"toolboxes.dev.{slip}", "unknown key", 'Did you mean "mcpServers"? Write it exactly so.')
    ]


@pytest.mark.parametrize(("slip", "meant"), [("toolboxs", "toolboxes"), ("toolBoxes", "toolboxes")])
def test_a_slip_at_the_top_is_an_error_with_the_suggestion(tmp_path: Path, slip: str, meant: str) -> None:
    assert problems(tmp_path, {slip: {}}) == [
        Problem(slip, "unknown key", f'Did you mean "{meant}"? Write it exactly so.')
    ]


@pytest.mark.parametrize(
    "key",
    [
        *(
            "alwaysAllow",
            "autoApprove",
            "comment",
            "_comment",
            "description",
            "dev",
            "gallery",
            "icon",
        ),
        *("id", "name", "note", "tags", "title", "trust", "version"),
    ],
)
def test_another_clients_key_is_ignored_with_a_warning(tmp_path: Path, key: str) -> None:
    loaded = load_content(tmp_path, one_server({"command": "x", key: ["anything"]}))
    assert loaded.warnings == (f"{FS}: the workbench does not use these keys, and ignores them: {key}",)


def test_the_keys_that_an_entry_has_for_other_clients_are_one_warning(tmp_path: Path) -> None:
    entry = {"command": "x", "gallery": True, "trust": True, "my key": 1, "autoApprove": ["a"]}
    listed = 'gallery, trust, "my key", autoApprove'
    assert load_content(tmp_path, one_server(entry)).warnings == (
        f"{FS}: the workbench does not use these keys, and ignores them: {listed}",
    )


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("auth", '"oauth"'),
        ("headersHelper", '"headers"'),
        ("maxConcurrency", '"callLimit"'),
        ("maxConcurrentCalls", '"callLimit"'),
        ("maxMessageSize", '"messageLimit"'),
    ],
)
def test_a_key_whose_loss_changes_what_happens_is_ignored_with_what_to_write_instead(
    tmp_path: Path, key: str, instead: str
) -> None:
    (warning,) = load_content(tmp_path, one_server({"command": "x", key: "anything"})).warnings
    assert warning.startswith(f"{FS}.{key}: the workbench ignores this key; ")
    assert instead in warning


def test_unknown_keys_are_ignored_at_every_level(tmp_path: Path) -> None:
    tree = {"inputs": [], "toolboxes": {"dev": {**toolbox(fs={"command": "x"}), "colour": "red"}}}
    assert load_content(tmp_path, tree).warnings == (
        "inputs: the workbench ignores this key; write ${VAR} where the input is used, and export VAR=value",
        "toolboxes.dev.colour: the workbench does not know this key and ignores it",
    )


@pytest.mark.parametrize("key", ["http", "toolboxes"])
def test_a_key_of_the_file_inside_of_it_is_told_where_it_belongs(tmp_path: Path, key: str) -> None:
    tree = {"toolboxes": {"dev": {**toolbox(fs={"command": "x", key: {}}), key: {}}}}
    what = "the workbench ignores this key here; it belongs at the top of the configuration file"
    assert load_content(tmp_path, tree).warnings == (f"toolboxes.dev.{key}: {what}", f"{FS}.{key}: {what}")


def test_results_in_an_object_that_has_none_are_told_all_their_places(tmp_path: Path) -> None:
    tree = {"http": {"results": False}, "toolboxes": {}}
    places = "in a server, in a toolbox, or at the top of the configuration file for all of them"
    assert load_content(tmp_path, tree).warnings == (
        f"http.results: the workbench ignores this key here; it belongs {places}",
    )
