"""The `pin` of the file, of a toolbox and of a server: the innermost one that is set counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.config.loading import load_content, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("top", "box", "server", "expected"),
    [
        (None, None, None, "scan"),
        ("strict", None, None, "strict"),
        ("strict", "off", None, "off"),
        ("strict", "off", "scan", "scan"),
        (None, None, "off", "off"),
    ],
)
def test_the_innermost_pin_counts(
    top: str | None, box: str | None, server: str | None, expected: str, tmp_path: Path
) -> None:
    given = [{} if it is None else {"pin": it} for it in (top, box, server)]
    tree = {**given[0], "toolboxes": {"dev": {**toolbox(fs={"command": "x", **given[2]}), **given[1]}}}
    assert load_content(tmp_path, tree).config.toolboxes["dev"].servers["fs"].pin == expected


@pytest.mark.parametrize("wrong", ["on", False])
def test_another_level_is_refused_with_those_that_there_are(wrong: object, tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, {"pin": wrong, "toolboxes": {}})
    what = 'should be a string, one of "scan", "strict", "off"'
    assert (problem.where, problem.what) == ("pin", what if wrong else f"{what}, not a boolean")
    assert problem.remedy == 'Write for example "pin": "strict"'
