"""`mcp-workbench demo` from outside: the whole story, in a pipe and on a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.cli.demo import run
from mcp_workbench.demo.config import configuration, definitions

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = (sys.executable, "-m", "mcp_workbench", "demo")


def environment(tmp_path: Path, **extra: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "NO_COLOR"}}
    return {**plain, "TMPDIR": str(tmp_path), "TERM": "xterm", **extra}


def on_a_terminal(env: dict[str, str]) -> str:
    """What the demo writes to a terminal."""
    terminal, end = os.openpty()
    with subprocess.Popen(COMMAND, stdout=end, stderr=end, stdin=subprocess.DEVNULL, env=env) as child:
        os.close(end)
        written = b""
        try:
            while piece := os.read(terminal, 65536):
                written += piece
        except OSError:
            pass  # how Linux reports that the other end is closed
        finally:
            os.close(terminal)
        assert child.wait(30) == 0
    return written.decode()


def test_the_demo_tells_the_whole_story_plainly_in_a_narrow_pipe(tmp_path: Path) -> None:
    started = time.perf_counter()
    done = subprocess.run(
        COMMAND,
        env=environment(tmp_path, HOME=str(tmp_path), NO_COLOR="1", COLUMNS="60"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    took = time.perf_counter() - started

    told = " ".join(re.sub("[│╭╮╰╯─]", " ", done.stdout).split())
    story = [
        *(
            "1. Connect",
            "Available Toolboxes:",
            "- writing (2 servers)",
            "the 2 tools",
            "the 11 tools behind",
        ),
        *("2. Open a toolbox", "count_words", "delete_note", "3. Use tools"),
        *('{"words": 7, "characters": 33, "lines": 1}', "2026-07-28: a modern server"),
        *('{"id": 1, "notes_kept": 1}', "2025-11-25: a legacy server, through the bridge"),
        *('"standard_deviation": 2.0}', '{"value": 8.04672, "unit": "kilometre"}'),
        *("4. Find a tool", "numbers / units / convert Convert a", "convert(value: number("),
        *("5. Make a mistake", "Tool 'count_word' not found in server 'text' (toolbox 'writing')"),
        *("6. Shut down", "Exit code 0. No process left of the 4 servers", "Next: your own servers"),
        *("mcp-workbench import", "check --connect", "mcp-workbench install"),
    ]
    assert (done.returncode, done.stderr) == (0, "")
    assert [part for part in story if part not in told] == []
    before_the_snippets = done.stdout.partition("Next:")[0]
    assert max(map(len, before_the_snippets.splitlines())) <= 60
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert took < 5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
@pytest.mark.parametrize(("extra", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_that_want_them(
    tmp_path: Path, extra: dict[str, str], coloured: bool
) -> None:
    written = on_a_terminal(environment(tmp_path, **extra))

    assert (re.search(r"\x1b\[[0-9;]*3[0-7]m", written) is not None) == coloured
    assert "No process left" in written


def test_an_output_that_knows_only_ascii_is_enough(tmp_path: Path) -> None:
    env = environment(tmp_path, PYTHONIOENCODING="ascii")
    done = subprocess.run(COMMAND, env=env, capture_output=True, timeout=60, check=False)

    assert (done.returncode, done.stdout.isascii(), done.stderr) == (0, True, b"")


def test_a_failure_ends_with_the_workbench_s_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))

    code = run()

    stderr = capsys.readouterr().err
    assert code == 1
    assert re.fullmatch("The demo failed: the workbench .+\nLast lines of stderr:\nno such module\n", stderr)


def test_the_embedded_configuration_holds_every_tool_that_is_counted() -> None:
    servers = [
        server["args"][-1].rpartition(".")[2]
        for toolbox in configuration()["toolboxes"].values()
        for server in toolbox["mcpServers"].values()
    ]

    assert (servers, len(definitions())) == (["text", "notes", "stats", "units"], 11)
