"""How the commands that start servers look: alive on a terminal, plain anywhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from mcp_workbench.cli.inspection.failure_blocks import failure_blocks
from mcp_workbench.cli.inspection.rows import Row
from tests.support.configs import server, toolboxes
from tests.support.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.commands import Bench

HINT = (
    "Run its command in a terminal to see more. "
    "Servers get a small safe environment (PATH, HOME, proxies, …), not all of yours: if this one needs a "
    'variable, put it into its "env", name it in "inheritEnv", or set "inheritEnv": true.'
)
CONFIG = toolboxes(
    dev={
        "good": server(era="modern", start_delay=0.3),
        "key": {
            "command": "/bin/sh",
            "args": ["-c", "echo one >&2; echo \"KeyError: 'API_KEY'\" >&2; exit 3"],
        },
        "odd": {"command": "/bin/sh", "args": ["-c", "echo last words >&2; exit 3"]},
        "mute": {"command": "/bin/sh", "args": ["-c", "exit 4"]},
        "off": {"command": "x", "disabled": True},
    },
    ops={"a": {"command": "no-such-program"}, "b": {"command": "no-such-program"}},
)
ESCAPE = "\x1b"
TIME = re.compile(r"\d+\.\d s")
AT_80 = """\
workbench-config.json is valid: 2 toolboxes, 7 servers
ready     dev/good  1 tool            0.0 s
failed    dev/key   variable-missing  0.0 s
failed    dev/odd   failed            0.0 s
failed    dev/mute  exited-silently   0.0 s
disabled  dev/off
failed    ops/a     program-missing   0.0 s
failed    ops/b     program-missing   0.0 s

dev/key: KeyError: 'API_KEY' (the server exited with code 3)
  Fix: Add "env": {"API_KEY": "${keyring:API_KEY}"} to this server, and store
    the value: mcp-workbench secret set API_KEY
  Last lines of stderr:
    one

dev/odd: the server exited with code 3 before it could be used
  Last lines of stderr:
    last words

dev/mute: the server exited with code 4 before it could be used, and wrote
  nothing to stderr

ops/a, ops/b: command 'no-such-program' was not found
  Fix: Install it, or write its full path into "command" (a desktop program has
    a shorter PATH than a terminal). It is not on the PATH: /nowhere:/bin

Fix for dev/odd, dev/mute: Run its command in a terminal to see more. Servers
  get a small safe environment (PATH, HOME, proxies, …), not all of yours: if
  this one needs a variable, put it into its "env", name it in "inheritEnv", or
  set "inheritEnv": true.

1 ready, 5 failed, 1 disabled. After a fix: mcp-workbench check --connect
"""


def on_terminal(
    bench: Bench, *args: str, rows: int = 40, columns: int = 80, env: Mapping[str, str] | None = None
) -> tuple[int, Screen]:
    code, shown = bench.run_on_terminal(
        *args, columns=columns, rows=rows, env={"PATH": "/nowhere:/bin", **(env or {})}
    )
    screen = Screen(rows, columns)
    screen.feed(shown)
    return code, screen


def timeless(lines: list[str]) -> str:
    """The lines as one text, with all seconds the same."""
    return TIME.sub("0.0 s", "\n".join(lines))


@pytest.mark.parametrize("no_color", [False, True])
@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_a_line_for_each_server_and_then_the_failures(
    bench: Bench, columns: int, no_color: bool
) -> None:
    bench.write(CONFIG)
    env = {"NO_COLOR": "1"} if no_color else {}
    code, screen = on_terminal(bench, "check", "--connect", columns=columns, env=env)
    shown = timeless(screen.transcript)
    assert code == 1
    if columns == 80:
        assert shown == AT_80
    assert max(map(len, screen.transcript)) <= columns
    assert shown.split() == AT_80.split()
    assert bool({style for style in screen.colours if re.search(r"\b3[1-7]\b", style)}) is not no_color
    assert screen.is_cursor_shown


def test_servers_are_shown_while_they_start_with_the_seconds_so_far(bench: Bench) -> None:
    bench.write(toolboxes(dev={"slow": server(era="modern", start_delay=1.5), "bad": {"command": "absent"}}))
    _, screen = on_terminal(bench, "check", "--connect")
    times = [
        re.fullmatch(r"starting  dev/slow\s+(\d\.\d) s", line) for frame in screen.frames for line in frame
    ]
    seconds = [float(found[1]) for found in times if found]
    assert seconds == sorted(seconds)
    assert len(set(seconds)) > 1
    assert any("1 failed, 1 starting" in frame for frame in screen.frames)
    assert "starting" not in "\n".join(screen.transcript)


def test_fifty_servers_fit_on_a_screen_of_24_rows(bench: Bench) -> None:
    failing = {"command": "/bin/sh", "args": ["-c", "exit 4"]}
    servers = {f"server-{number:02}": failing for number in range(48)}
    good = {
        "good": server(era="modern"),
        "a-server-with-a-name-of-more-than-eighty-characters-" + "x" * 60: failing,
    }
    bench.write(toolboxes(dev={**servers, **good}))
    code, screen = on_terminal(bench, "check", "--connect", rows=24)
    lines = screen.transcript
    assert code == 1
    assert lines[0] == "workbench-config.json is valid: 1 toolbox, 50 servers"
    assert [line.split()[0] for line in lines[1:51]] == [*["failed"] * 48, "ready", "failed"]
    assert lines[50].split()[1].endswith("…")
    assert "Fix for dev/server-00" not in "\n".join(lines), "all fail in the same way, and share a block"
    assert lines[51] == "", "nothing of what was shown before is left"
    assert screen.frames
    assert all(len(frame) <= 24 for frame in screen.frames)
    assert all(re.match(r"\d+ \w+", [line for line in frame if line][-1]) for frame in screen.frames)
    assert lines[-2].startswith("1 ready, 49 failed. After a fix")


def test_wide_characters_and_long_words_fit_into_a_narrow_terminal() -> None:
    wide = "\N{CJK UNIFIED IDEOGRAPH-65E5}" * 60
    hint = "It is not on the PATH: " + ":".join(f"/opt/directory-{number}/bin" for number in range(3))
    row = Row(
        toolbox="dev",
        server=wide[:20],
        state="failed",
        cause="failed",
        error=wide,
        hint=hint,
        stderr=("a" + wide,),
    )
    lines = "\n".join(failure_blocks([row], 40)).splitlines()
    assert max(map(cell_len, lines)) == 40
    assert lines[2] == f"  {wide[:19]}"
    assert lines[-6:] == [
        "  Fix: It is not on the PATH:",
        "    /opt/directory-0/bin:",
        "    /opt/directory-1/bin:",
        "    /opt/directory-2/bin",
        "  Last lines of stderr:",
        f"    a{wide[:17]}…",
    ]


def test_a_pipe_gets_whole_lines_without_escape_codes(bench: Bench) -> None:
    bench.write(CONFIG)
    env = {"TERM": "xterm-256color", "FORCE_COLOR": "1", "COLUMNS": "40", "PATH": "/nowhere:/bin"}
    done = bench.run("check", "--connect", env=env)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1, "")
    assert ESCAPE not in done.stdout
    assert timeless(lines[:8]) == "\n".join(AT_80.splitlines()[:8])
    assert "  Fix: Install it, or write its full path into" in done.stdout
    assert f"Fix for dev/odd, dev/mute: {HINT}" in lines
    assert lines[-1].startswith("1 ready, 5 failed, 1 disabled. After a fix")


@pytest.mark.parametrize("args", [("check",), ("check", "--connect", "--json"), ("--help",)])
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


def test_a_terminal_without_abilities_gets_plain_lines(bench: Bench) -> None:
    bench.write(CONFIG)
    code, shown = bench.run_on_terminal("check", "--connect", columns=80, env={"TERM": "dumb"})
    assert code == 1
    assert ESCAPE not in shown
    assert "ready     dev/good" in shown


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
