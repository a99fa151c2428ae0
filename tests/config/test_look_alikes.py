"""Names that can be taken for each other are warned of, and all of them still work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.validation.look_alikes import warn_of_look_alikes
from mcp_workbench.config.validation.problems import Problems
from tests.config.loading import load_content, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = {"command": "cat"}


def warnings(*names: str) -> list[str]:
    findings = Problems()
    warn_of_look_alikes(names, "toolboxes", ("toolboxes",), findings)
    return findings.warnings


@pytest.mark.parametrize(
    "twin",
    [
        "Dev",
        "d\u0435v",  # Cyrillic
        "D\u0415V",
        "de\u03bd",  # Greek
        "\uff44\uff45\uff56",  # full width
        "\U0001d41d\U0001d41e\U0001d42f",  # mathematical
        "de\u200bv",
        "dev\ufeff",
        "d\xadev",
        "dev\ufe0f",
        "dev\u115f",
        "dev\U000e0041",
        "\u202edev\u202c",
        "dev\x07",
        "\x1bdev",
        " dev ",
        "dev\xa0",
        "dev\n",
    ],
    ids=ascii,
)
def test_a_name_that_looks_like_another_is_warned_of(twin: str) -> None:
    for names in (("dev", twin), (twin, "dev")):
        (warning,) = warnings(*names, "other")
        assert "look alike: rename one of them" in warning
        assert warning.isprintable()


def test_both_names_are_told_with_the_code_points_that_tell_them_apart() -> None:
    (warning,) = warnings("dev", "d\u0435v\u200b")
    points = "(U+0435 CYRILLIC SMALL LETTER IE, U+200B ZERO WIDTH SPACE)"
    assert warning == (
        'toolboxes["d\\u0435v\\u200b"]: the names of the toolboxes "dev" and "d\\u0435v\\u200b" '
        f"{points} look alike: rename one of them"
    )
    assert warnings("dev", "Dev") == [
        'toolboxes.Dev: the names of the toolboxes "dev" and "Dev" look alike: rename one of them'
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("dev", "ops", "dev2", "devs"),
        ("my-box", "my_box", "mybox"),
        ("resume", "r\xe9sum\xe9"),
        ("\u6587\u4ef6", "\u6587\u4ef6\u5939"),
        ("\u0434\u0435\u0432", "dev"),  # Russian letters of their own
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc"),
    ],
    ids=ascii,
)
def test_names_that_differ_are_not_warned_of(names: tuple[str, ...]) -> None:
    assert warnings(*names) == []


def test_capitals_and_small_letters_of_other_scripts_are_alike_too() -> None:
    assert len(warnings("\u041d\u0415\u0422", "\u043d\u0435\u0442")) == 1


def test_toolboxes_and_the_servers_of_one_toolbox_are_compared_and_keep_their_names(tmp_path: Path) -> None:
    boxes = {"dev": toolbox(fs=ENTRY, FS=ENTRY), "d\u0435v": toolbox(fs=ENTRY)}
    loaded = load_content(tmp_path, {"toolboxes": boxes})
    assert [warning.partition(" (U+0435")[0].partition(" look")[0] for warning in loaded.warnings] == [
        'toolboxes.d\u0435v: the names of the toolboxes "dev" and "d\\u0435v"',
        'toolboxes.dev.mcpServers.FS: the names of the servers "fs" and "FS"',
    ]
    assert list(loaded.config.toolboxes) == ["dev", "d\u0435v"]
    assert list(loaded.config.toolboxes["dev"].servers) == ["fs", "FS"]


@pytest.mark.parametrize("hidden", ["\ufe0f", "\u034f", "\u115f", "\u202e", "\x1b", "\n"], ids=ascii)
def test_a_place_shows_what_cannot_be_seen_in_a_name(tmp_path: Path, hidden: str) -> None:
    (problem,) = problems(tmp_path, {"toolboxes": {f"dev{hidden}": 1}})
    escape = hidden.encode("unicode_escape").decode().replace("\\x", "\\u00")
    assert problem.where == f'toolboxes["dev{escape}"]'


def test_plain_names_do_not_even_load_what_compares_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_workbench.config.validation.look_alikes", None)
    assert (
        load_content(
            tmp_path, {"toolboxes": {"dev": toolbox(fs=ENTRY), "my ops": toolbox(fs=ENTRY)}}
        ).warnings
        == ()
    )
    for twin in ("Dev", "my  ops", "d\u0435v", "dev ", "dev\x07"):
        with pytest.raises(ImportError):
            load_content(tmp_path, {"toolboxes": {"dev": toolbox(fs=ENTRY), twin: toolbox(fs=ENTRY)}})
