"""Names that would control a terminal, or hide in it, are shown with escapes by every command."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.client import Json

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe0f\ufeff\U000e0041]"
)
"""What must not reach a terminal; line feeds and tabs are for those who lay out the text."""

TOOLBOX = "box\x1b]0;owned\x07\u202e\u200b\r\n\x9b31m"
SERVER = "[bold red]srv[/]\x1b[2J\x7f\u2066\ufe0f\tx\n  failed"
SHOWN_TOOLBOX = r"box\x1b]0;owned\x07\u202e\u200b\r\n\x9b31m"
SHOWN_SERVER = r"[bold red]srv[/]\x1b[2J\x7f\u2066\ufe0f\tx\n  failed"


@pytest.fixture
def hostile_bench(bench: Bench) -> Bench:
    servers = {SERVER: server(), f"web{SERVER}": {"url": "http://127.0.0.1:9/\u202emcp"}}
    bench.write(toolboxes(**{TOOLBOX: servers}))
    return bench


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("check", "--connect"),
        ("check", "--json"),
        ("check", "--connect", "--json"),
        ("index",),
        ("index", "--json"),
        ("index", f"absent{TOOLBOX}"),
        ("doctor",),
        ("doctor", "--json"),
        ("tokens",),
        ("tokens", "--json"),
        ("tokens", "--connect"),
        ("tools",),
        ("tools", "--json"),
        ("tools", TOOLBOX),
        ("tools", TOOLBOX, "--json"),
        ("tools", f"absent{TOOLBOX}"),
        ("tools", f"{TOOLBOX}/{SERVER}/echo"),
        ("tools", "--query", "again"),
        ("call", f"{TOOLBOX}/{SERVER}/{SERVER}"),
        ("call", f"{TOOLBOX}/{SERVER}/echo", f"{SERVER}=1", SERVER),
        ("login", f"absent{TOOLBOX}"),
        ("login", f"{TOOLBOX}/{SERVER}"),
        ("login", f"{TOOLBOX}/web{SERVER}", "--no-browser"),
        ("logout", f"{TOOLBOX}/web{SERVER}"),
        ("check", "--config", f"absent{TOOLBOX}.json"),
        ("serve", "--http", f"{SERVER}:x"),
        ("--log-level", "debug"),
    ],
    ids=lambda words: " ".join(word for word in words if word.strip("-").isalpha()),
)
def test_no_command_lets_a_name_reach_the_terminal_as_it_is(
    hostile_bench: Bench, arguments: tuple[str, ...]
) -> None:
    done = hostile_bench.run(*arguments)
    assert HIDDEN.findall(f"{done.stdout}{done.stderr}") == []
    assert "Traceback" not in done.stderr


def test_the_whole_name_is_in_one_line(hostile_bench: Bench) -> None:
    done = hostile_bench.run("check")
    lines = [line for line in done.stdout.splitlines() if SHOWN_TOOLBOX in line and "web" not in line]
    assert [line.rstrip() for line in lines] == [f"enabled   {SHOWN_TOOLBOX}/{SHOWN_SERVER}".rstrip()]


def test_on_a_terminal_only_we_move_the_cursor(hostile_bench: Bench) -> None:
    code, shown = hostile_bench.run_on_terminal("check", columns=200)
    assert code == 0
    assert re.findall(r"\x1b\]|\x1b\[2J|\x9b|\x07|\u202e", shown) == []
    assert SHOWN_TOOLBOX in shown
    assert "[bold red]srv[/]" in shown


def test_json_for_scripts_holds_the_names_themselves(hostile_bench: Bench) -> None:
    code, outcome = hostile_bench.run_json("check", "--json")
    assert code == 0
    row, _ = outcome["servers"]
    assert (row["toolbox"], row["server"]) == (TOOLBOX, SERVER)


def test_mistakes_are_explained_without_what_the_keys_would_do(bench: Bench) -> None:
    keys = [TOOLBOX, "a\u202eb", "dev\ufe0f", "a\u115f", "\x9b2J"]
    bench.config.write_text(json.dumps({"toolboxes": {key: {key: 1} for key in keys}}), encoding="utf-8")
    runs = [bench.run(*arguments) for arguments in (("check",), ("check", "--json"), ())]
    assert [done.returncode for done in runs] == [2, 2, 2]
    assert [HIDDEN.findall(f"{done.stdout}{done.stderr}") for done in runs] == [[], [], []]
    assert r'toolboxes["a\u202eb"]' in runs[0].stderr


def test_a_file_that_is_no_json_is_explained_without_what_its_text_would_do(bench: Bench) -> None:
    bench.config.write_text('{"toolboxes": \x1b]0;owned\x07\u202e nonsense}', encoding="utf-8")
    done = bench.run("check")
    assert done.returncode == 2
    assert HIDDEN.findall(done.stderr) == []


def test_names_that_look_alike_are_warned_of(bench: Bench) -> None:
    boxes: dict[str, dict[str, Json]] = {"dev": {}, "d\u0435v": {}}
    bench.write(toolboxes(**boxes))
    done = bench.run("check")
    assert done.returncode == 0
    assert (
        r'the names of the toolboxes "dev" and "d\u0435v" (U+0435 CYRILLIC SMALL LETTER IE) look alike'
        in (" ".join(done.stdout.split()))
    )
