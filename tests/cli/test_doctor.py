"""`mcp-workbench doctor`: its screens, its JSON and its exit codes."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from mcp_workbench.cli.doctor.report import Report
from mcp_workbench.setup.diagnosis.diagnose import Diagnosis
from mcp_workbench.setup.diagnosis.examined import examine
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.diagnosis.machine_area import versions
from tests.cli.commands import MODULE
from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.setup.diagnosis.findings import Finding
    from tests.cli.commands import Bench

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"  # noqa: S105 - an invented one
FILE = "workbench-config.json"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d[;\d]*m")
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

MISSING = found(
    "program-missing",
    "The command 'uvx' was not found on the PATH. It is needed by dev/time.",
    servers=("dev/time",),
    file=FILE,
    line=7,
    remedy='It comes with uv: install that, or give the full path in "command".',
    command="pipx install uv",
)
LONG = found(
    "client-version-differs",
    "Cursor starts version 0.0.9 of the workbench. This is 0.1.0, and the sentence is a long one, "
    "to be wrapped.",
    client="cursor",
    file="/home/me/.cursor/mcp.json",
    line=3,
    command="mcp-workbench install cursor --config '/home/me/a directory with a long name/workbench.json'",
)
INCOMPLETE = found(
    "catalogue-incomplete",
    "The tools of dev/time were never listed, so that a search cannot find them.",
    servers=("dev/time",),
    command="mcp-workbench index dev/time",
)

SCREEN = """\
workbench-config.json: 1 toolbox, 1 server

1 problem

  program-missing  dev/time  workbench-config.json:7
    The command 'uvx' was not found on the PATH. It is needed by dev/time.
    It comes with uv: install that, or give the full path in "command".
    $ pipx install uv

1 warning

  client-version-differs  cursor  /home/me/.cursor/mcp.json:3
    {sentence}
    $ mcp-workbench install cursor --config '/home/me/a directory with a long name/workbench.json'

1 note

  catalogue-incomplete  dev/time
    The tools of dev/time were never listed, so that a search cannot find them.
    $ mcp-workbench index dev/time

Looked at
   ok  file       workbench-config.json: 1 toolbox, 1 server
    1  programs   node 22.1.0
    1  clients    Cursor starts the workbench
    1  catalogue  0 of 1 servers listed, kept in ~/.cache/mcp-workbench, which {end}

1 problem, 1 warning, 1 note. Next: pipx install uv
"""
SCREENS = {
    80: SCREEN.format(
        sentence="Cursor starts version 0.0.9 of the workbench. This is 0.1.0, and the\n"
        "    sentence is a long one, to be wrapped.",
        end="…",
    ),
    120: SCREEN.format(
        sentence="Cursor starts version 0.0.9 of the workbench. This is 0.1.0, and the sentence is a long "
        "one, to\n    be wrapped.",
        end="is shown in short",
    ),
}
"""What is shown on terminals of these widths."""


def plain(text: str) -> str:
    return SEQUENCE.sub("", text)


def area(name: str, summary: str, *findings: Finding) -> Area:
    return Area(name, summary, findings)


AREAS = (
    area("file", f"{FILE}: 1 toolbox, 1 server"),
    area("programs", "node 22.1.0", MISSING),
    area("clients", "Cursor starts the workbench", LONG),
    area(
        "catalogue",
        "0 of 1 servers listed, kept in /home/me/.cache/mcp-workbench, which is shown in short",
        INCOMPLETE,
    ),
)


def screen(areas: tuple[Area, ...], columns: int = 80, **settings: Any) -> str:
    """What is printed about these findings on a terminal of that width."""
    output = StringIO()
    console = Console(file=output, width=columns, highlight=False, legacy_windows=False, **settings)
    examined = examine(FILE, None, {"HOME": "/home/me"})
    Report(examined, Diagnosis(areas, versions()), console, has_connected=False).print()
    return output.getvalue()


@pytest.mark.parametrize(("columns", "expected"), SCREENS.items())
def test_the_whole_screen(columns: int, expected: str) -> None:
    coloured = screen(AREAS, columns, force_terminal=True, color_system="truecolor")
    without = screen(AREAS, columns, force_terminal=True, color_system="truecolor", no_color=True)
    piped = screen(AREAS, columns, force_terminal=False)
    assert piped == expected
    assert (plain(coloured), plain(without)) == (expected, expected)
    assert COLOUR.search(coloured)
    assert not COLOUR.search(without)


def test_where_nothing_is_found_a_closer_look_is_the_next_step() -> None:
    assert screen((area("file", f"{FILE}: 1 toolbox, 1 server"),)) == (
        "workbench-config.json: 1 toolbox, 1 server\n\nLooked at\n"
        "   ok  file  workbench-config.json: 1 toolbox, 1 server\n\n"
        "No problems. To try the servers too: mcp-workbench doctor --connect\n"
    )


def test_many_findings_of_one_code_are_shown_in_short() -> None:
    many = [
        found("unpinned-package", f"Number {number}.", servers=(f"dev/s{number}",), command="x")
        for number in range(30)
    ]
    shown = screen((area("packages", "0 with a version, 30 without", *many),))
    assert shown.count("  unpinned-package  dev/s") == 5
    assert "unpinned-package: 25 more (dev/s5, dev/s6," in shown
    assert len(shown.splitlines()) < 40


def test_a_broken_file_is_one_problem_among_others_and_the_exit_code_is_1(bench: Bench) -> None:
    bench.config.write_text('{"toolboxes": {"dev": {,}}', encoding="utf-8")
    done = bench.run("doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    outcome = json.loads(done.stdout)
    assert list(outcome) == ["file", "versions", "counts", "findings", "areas"]
    assert outcome["findings"][0] == {
        "area": "file",
        "code": "file-mistake",
        "severity": "problem",
        "message": "line 1, column 24: invalid JSON: a comma without a value before or after it.",
        "file": "workbench-config.json",
        "line": 1,
        "remedy": "Delete the comma.",
        "command": "${EDITOR:-vi} +1 workbench-config.json",
    }
    assert [found["area"] for found in outcome["areas"]] == [
        *("file", "entries", "packages", "programs", "clients", "logins", "catalogue", "pins"),
        *("directories", "processes", "installation"),
    ]


def test_warnings_alone_are_no_failure_and_no_secret_is_shown(bench: Bench) -> None:
    bench.write(toolboxes(dev={"echo": server(entry={"env": {"GITHUB_TOKEN": SECRET}})}))
    code, shown = bench.run_on_terminal("doctor", "--log-level", "debug", columns=80)
    assert code == 0
    assert "secret-in-plain-text" in shown
    assert SECRET not in shown
    assert COLOUR.search(shown)
    assert re.search(r"No problems, \d+ warnings, \d+ notes\.", plain(shown))


def test_with_connect_the_causes_of_failed_starts_are_findings(bench: Bench) -> None:
    silent = {"command": "/bin/sh", "args": ["-c", "exit 3"]}
    bench.write(toolboxes(dev={"good": server(), "bad": silent, "off": {"command": "x", "disabled": True}}))
    done = bench.run("doctor", "--connect", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    outcome = json.loads(done.stdout)
    assert outcome["areas"][-1] == {"area": "servers", "summary": "1 of 2 servers started", "findings": 1}
    failure = outcome["findings"][-1]
    assert (failure["area"], failure["servers"], failure["severity"]) == ("servers", ["dev/bad"], "problem")
    assert failure["message"].startswith("dev/bad cannot be used: ")
    assert failure["code"] == "exited-silently"
    # The other one was listed when it was started.
    never = [one["servers"] for one in outcome["findings"] if one["code"] == "catalogue-incomplete"]
    assert never == [["dev/bad"]]


def test_what_is_known_without_starting_a_server_is_not_said_twice(bench: Bench) -> None:
    bench.write(toolboxes(dev={"absent": {"command": "no-such-program"}}))
    done = bench.run("doctor", "--connect", env={"NO_COLOR": "1"})
    assert done.returncode == 1
    assert done.stdout.count("  program-missing  ") == 1
    assert "\x1b" not in done.stdout


def test_a_wrong_command_line_is_a_misuse(bench: Bench) -> None:
    assert bench.run("doctor", "--fix").returncode == 2


def test_a_directory_that_was_deleted_is_no_crash(bench: Bench, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    bench.directory = gone
    command = ("/bin/sh", "-c", f'rmdir {gone} && exec "$0" "$@"', *MODULE)
    done = bench.run("doctor", "--json", command=command)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
