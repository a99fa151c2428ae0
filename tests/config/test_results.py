"""The `results` of the file, of a toolbox and of a server: which results are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import ResultsConfig
from mcp_workbench.config.model.results import INLINE_LIMIT_BYTES
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path

FS = {"command": "x"}
OUTER, MIDDLE, INNER, OFF = ({"inlineLimit": size} for size in (300_000, 200_000, 100_000, "off"))


def limit(home: Path, top: object, box: object, server: object) -> int | str:
    """What holds for a server; a level that is None says nothing."""
    given = [{} if it is None else {"results": it} for it in (top, box, server)]
    tree = {**given[0], "toolboxes": {"dev": {**toolbox(fs={**FS, **given[2]}), **given[1]}}}
    return load_content(home, tree).config.toolboxes["dev"].servers["fs"].results.inline_limit


def test_large_results_are_kept_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    assert limit(tmp_path, None, None, None) == INLINE_LIMIT_BYTES
    assert load_content(tmp_path, {"toolboxes": {}}).config.results == ResultsConfig()


@pytest.mark.parametrize(
    ("top", "box", "server", "expected"),
    [
        (OUTER, None, None, 300_000),
        (OUTER, MIDDLE, None, 200_000),
        (OUTER, MIDDLE, INNER, 100_000),
        (OUTER, None, INNER, 100_000),
        (None, None, INNER, 100_000),
        (OUTER, False, None, "off"),
        (OUTER, OFF, None, "off"),
        (OUTER, False, INNER, 100_000),
        (OUTER, MIDDLE, False, "off"),
        (OUTER, MIDDLE, OFF, "off"),
        (OUTER, {}, {}, 300_000),
        (False, None, None, "off"),
        (OFF | {"memory": 0}, {}, None, "off"),
        (False, MIDDLE, None, 200_000),
        (OFF, None, INNER, 100_000),
        ({"memory": 0}, None, None, INLINE_LIMIT_BYTES),
    ],
)
def test_the_inner_one_wins_over_the_outer_one(
    tmp_path: Path, top: object, box: object, server: object, expected: int | str
) -> None:
    assert limit(tmp_path, top, box, server) == expected


def test_how_much_is_kept_is_said_at_the_top(tmp_path: Path) -> None:
    written = {"inlineLimit": 5000, "memory": 1, "quota": 2, "lifetime": 3}
    config = load_content(tmp_path, {"results": written, "toolboxes": {}}).config
    assert config.results == ResultsConfig(inline_limit=5000, memory=1, quota=2, lifetime=3)


@pytest.mark.parametrize("value", [None, True, 100_000, "100000", "off", []])
def test_anything_but_an_object_or_false_is_an_error(tmp_path: Path, value: object) -> None:
    (problem,) = problems(tmp_path, {"results": value, "toolboxes": {}})
    assert problem.where == "results"
    assert problem.what.startswith("should be an object, or false, not ")
    meant = '"off"' if value == "off" else "50000"
    assert problem.remedy == f'Write "results": {{ "inlineLimit": {meant} }}'


@pytest.mark.parametrize("size", [0, 999, 2**30 + 1, "100000", "Off", 1.5, None, True, False])
def test_a_limit_out_of_bounds_is_an_error(tmp_path: Path, size: object) -> None:
    (problem,) = problems(tmp_path, {"results": {"inlineLimit": size}, "toolboxes": {}})
    assert problem.where == "results.inlineLimit"
    assert problem.what.startswith("should be a number of bytes from 1000 to 1073741824")


def test_a_slip_is_an_error_and_a_key_of_the_top_is_shown_its_place(tmp_path: Path) -> None:
    slip: dict[str, Any] = {"results": {"inline_limit": 5000}, "toolboxes": {}}
    assert problems(tmp_path, slip) == [
        Problem("results.inline_limit", "unknown key", 'Did you mean "inlineLimit"? Write it exactly so.')
    ]
    misplaced = {"inlineLimit": 1000, "toolboxes": {"dev": toolbox() | {"results": {"quota": 5}}}}
    warnings = load_content(tmp_path, misplaced).warnings
    ignored = "the workbench ignores this key here; it belongs"
    assert f'inlineLimit: {ignored} in "results"' in warnings
    assert (
        f'toolboxes.dev.results.quota: {ignored} in the "results" at the top of the configuration file'
        in warnings
    )


def test_a_server_with_both_names_of_the_built_in_one_is_an_error_only_where_results_are_kept(
    tmp_path: Path,
) -> None:
    tree: dict[str, Any] = {"toolboxes": {"workbench": toolbox(fs=FS), "dev": toolbox(results=FS)}}
    assert [*load_content(tmp_path, tree).config.toolboxes] == ["workbench", "dev"]
    tree = {"toolboxes": {"workbench": toolbox(results=FS)}}
    assert problems(tmp_path, tree) == [
        Problem(
            "toolboxes.workbench.mcpServers.results",
            "this toolbox and server have the names of the ones that kept results are read with",
            'Give one of them another name, or write "results": false at the top of the file.',
        )
    ]
    assert [*load_content(tmp_path, tree | {"results": False}).config.toolboxes] == ["workbench"]
