"""How the command looks: alive on a terminal, plain anywhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from tests.cli.commands import Bench

CONFIG = toolboxes(
    dev={
        "good": server(era="modern", start_delay=0.3),
        "bad": {"command": "/bin/sh", "args": ["-c", "echo last words >&2; exit 3"]},
        "off": {"command": "x", "disabled": True},
    }
)
ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d[;\d]*m")
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text: str) -> str:
    return SEQUENCE.sub("", text)


@pytest.mark.parametrize(
    "args", [("check",), ("check", "--connect"), ("check", "--connect", "--json"), ("--help",)]
)
def test_what_is_no_terminal_gets_no_escape_codes(bench: Bench, args: tuple[str, ...]) -> None:
    bench.write(CONFIG)
    done = bench.run(*args, env={"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    assert ESCAPE not in done.stdout + done.stderr


def test_colours_of_a_servers_own_words_do_not_get_through_either(bench: Bench) -> None:
    colourful = {"command": "/bin/sh", "args": ["-c", r"printf '\033[31mred\033[0m\n' >&2; exit 1"]}
    bench.write(toolboxes(dev={"bad": colourful}))
    done = bench.run("check", "--connect", "--log-level", "debug")
    assert "red" in done.stdout
    assert ESCAPE not in done.stdout


def test_a_terminal_shows_servers_starting_and_then_the_outcome(bench: Bench) -> None:
    bench.write(CONFIG)
    code, shown = bench.run_on_terminal("check", "--connect")
    assert code == 1
    live, _, final = plain(shown).rpartition("toolbox")
    assert "starting" in live
    assert re.search(r"good\W+ready\W+1\W+0\.\d\d s", final)
    assert re.search(r"bad\W+failed", final)
    assert re.search(r"off\W+disabled", final)
    assert "starting" not in final
    assert "last words" in final
    assert COLOUR.search(shown)


def test_the_live_table_is_taken_away_before_the_last_one(bench: Bench) -> None:
    bench.write(CONFIG)
    _, shown = bench.run_on_terminal("check", "--connect")
    erased = shown.rindex("\x1b[2K")
    assert shown.rindex("starting") < erased < shown.rindex("ready")
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is shown again"


def test_no_color_is_honoured_on_a_terminal(bench: Bench) -> None:
    bench.write(CONFIG)
    code, shown = bench.run_on_terminal("check", "--connect", env={"NO_COLOR": "1"})
    assert code == 1
    assert re.search(r"good\W+ready", plain(shown))
    assert COLOUR.findall(shown) == []


def test_a_narrow_terminal_loses_no_word_of_the_advice(bench: Bench) -> None:
    bench.write(toolboxes(dev={"bad": {"command": "no-such-command"}}))
    _, shown = bench.run_on_terminal("check", "--connect", columns=60)
    letters = re.sub(r"[\s│╭╮╰╯─]", "", plain(shown))
    assert "Command'no-such-command'wasnotfound.Installit,orgivethefullpathin\"command\"." in letters


def test_json_on_a_terminal_is_still_json_without_colours(bench: Bench) -> None:
    bench.write(CONFIG)
    code, shown = bench.run_on_terminal("check", "--json")
    assert code == 0
    assert ESCAPE not in shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_of_few_characters_is_no_crash(bench: Bench, encoding: str) -> None:
    bench.write(CONFIG)
    done = bench.run("check", "--connect", env={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (1, "")
    assert "good" in done.stdout
