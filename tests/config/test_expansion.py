"""References such as `${VAR}` are replaced by the values of variables."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.source.expand import Expansion, expand
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {"NAME": "value", "_X1": "x", "EMPTY": "", "NESTED": "${NAME} $${NAME}", "BRACE": "}"}


def expand_text(text: str) -> str:
    collected = Problems()
    expanded = expand({"key": text}, ENVIRON, collected)
    assert collected.found == []
    (result,) = expanded.tree.values()
    assert isinstance(result, str)
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${NAME}", "value"),
        ("a${NAME}b${_X1}c", "avaluebxc"),
        ("${UNSET:-default}", "default"),
        ("${NAME:-default}", "value"),
        ("${UNSET:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-default}", ""),
        ("${UNSET:-two\nlines}", "two\nlines"),
        ("${UNSET:-a:-b}", "a:-b"),
        ("${UNSET:-$NAME}", "$NAME"),
        ("${UNSET:-{x}", "{x"),
        ("${NESTED}", "${NAME} $${NAME}"),
        ("${BRACE}${NAME}", "}value"),
        ("$${NAME}", "${NAME}"),
        ("$${", "${"),
        ("$$${NAME}", "$${NAME}"),
        ("$${NAME}${NAME}", "${NAME}value"),
        ("$HOME $5 {x} $ $$ }", "$HOME $5 {x} $ $$ }"),
    ],
)
def test_a_text_becomes(text: str, expected: str) -> None:
    assert expand_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("${UNSET:-${NAME}}", "${NAME}"), ("${NAME:-${OTHER}}", "value}")],
)
def test_a_default_is_literal_and_ends_at_the_first_brace_which_is_warned_of(
    text: str, expected: str
) -> None:
    collected = Problems()
    assert expand({"key": text}, ENVIRON, collected).tree == {"key": expected}
    name = text[2:].partition(":")[0]
    assert collected.warnings == [
        f"key: the default of ${{{name}:-…}} is literal, so the ${{ in it is no reference"
    ]


def test_every_string_is_expanded_keys_included_and_nothing_else_is_touched() -> None:
    tree = {"${NAME}": ["${_X1}", {"deep": "${NAME}"}], "same": [1, 1.5, True, None]}
    expected = {"value": ["x", {"deep": "value"}], "same": [1, 1.5, True, None]}
    assert expand(tree, ENVIRON, Problems()) == Expansion(expected, {"value": "${NAME}", "x": "${_X1}"})


def test_keys_that_become_equal_are_an_error() -> None:
    collected = Problems()
    expand({"toolboxes": {"${NAME}": 1, "value": 2}}, ENVIRON, collected)
    assert collected.found == [
        Problem(
            "toolboxes",
            'the keys "${NAME}" and "value" become the same name when variables are replaced',
            "Give each its own name, or delete one of them.",
        )
    ]


def test_a_place_under_an_expanded_key_is_shown_as_the_file_spells_it(tmp_path: Path) -> None:
    tree = {"toolboxes": {"${BOX}": toolbox(fs={"command": 1})}}
    (problem,) = problems(tmp_path, tree, {"BOX": "hush-hush"})
    assert problem.where == 'toolboxes["${BOX}"].mcpServers.fs.command'


def test_an_expanded_name_is_the_name(tmp_path: Path) -> None:
    tree = {"toolboxes": {"${BOX:-spare}": toolbox()}}
    assert list(load_content(tmp_path, tree).config.toolboxes) == ["spare"]
    assert list(load_content(tmp_path, tree, {"BOX": "dev"}).config.toolboxes) == ["dev"]


def test_a_name_that_expands_to_nothing_is_an_error(tmp_path: Path) -> None:
    tree = {"toolboxes": {"${BOX}": toolbox()}}
    assert problems(tmp_path, tree, {"BOX": ""}) == [
        Problem('toolboxes["${BOX}"]', "the name of a toolbox cannot be empty", "Give the toolbox a name.")
    ]


@pytest.mark.untraced
def test_two_thousand_bad_strings_are_reported_in_ten_milliseconds() -> None:
    bad = ["${UNSET}", "${my-var}", "${UNSET:x}", "${env:UNSET}", "${open"]
    servers = {f"s{i}": {"command": "x", "args": bad * 4} for i in range(10)}
    tree: dict[str, object] = {"toolboxes": {f"t{i}": {"mcpServers": servers} for i in range(10)}}
    assert json.dumps(tree).count("${") == 2000
    durations = []
    for _ in range(20):
        collected = Problems()
        start = time.process_time()
        expand(tree, {}, collected)
        durations.append(time.process_time() - start)
        assert len(collected.found) == 2000
    assert min(durations) < 0.010
