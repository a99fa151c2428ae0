"""`mcp-workbench check --connect`: do the servers work?"""

from __future__ import annotations

import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.wares import TOOLS
from tests.support.configs import server, tool, toolboxes
from tests.support.ports import free_port, listening
from tests.support.processes import wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.commands import Bench
    from tests.support.client import Json
    from tests.support.journal import Journal

TWO_TOOLS = server(era="modern", tools=[tool("a"), tool("b")])
HINT = (
    "Run its command in a terminal to see more. "
    "Servers get a small safe environment (PATH, HOME, proxies, …), "
    'not all of yours: if this one needs a variable, put it into its "env", name it in "inheritEnv", or set '
    '"inheritEnv": true.'
)


def dying(script: str = "echo one >&2; echo two >&2; exit 3", **settings: object) -> Json:
    return {"command": "/bin/sh", "args": ["-c", script], **settings}


def mixed() -> Json:
    return toolboxes(
        dev={"good": TWO_TOOLS, "off": {"command": "x", "disabled": True}},
        ops={"dying": dying(), "absent": {"command": "no-such-command"}},
    )


def connected(bench: Bench, *args: str) -> tuple[int, list[Json]]:
    """The exit code and the rows, without the times."""
    code, outcome = bench.run_json("check", "--connect", "--json", *args)
    rows: list[dict[str, Any]] = outcome["servers"]
    for row in rows:
        assert 0 <= row.pop("seconds", 0) < 10
    return code, rows


def test_each_server_gets_a_row_with_its_state_its_tools_and_what_to_do(bench: Bench) -> None:
    bench.write(mixed())
    done = bench.run("check", "--connect")
    assert (done.returncode, done.stderr) == (1, "")
    summary, heading, *lines = (" ".join(line.split()) for line in done.stdout.splitlines())
    assert summary == "workbench-config.json is valid: 2 toolboxes, 4 servers"
    assert heading == "toolbox server state tools start what to do"
    rows = [line.split() for line in lines if line.startswith(("dev ", "ops "))]
    states = {row[1]: row[2:4] for row in rows}
    assert states["good"] == ["ready", "2"]
    assert states["off"] == ["disabled"]
    assert states["dying"][0] == states["absent"][0] == "failed"
    text = " ".join(done.stdout.split())
    assert "The server exited with code 3 before it could be used. Run its command in a terminal" in text
    assert "Command 'no-such-command' was not found. Install it, or give the full path" in text
    assert "Last lines of stderr of ops/dying:\n  one\n  two\n" in done.stdout


def test_the_same_as_json(bench: Bench) -> None:
    bench.write(mixed())
    assert connected(bench) == (
        1,
        [
            {"toolbox": "dev", "server": "good", "state": "ready", "tools": 2},
            {"toolbox": "dev", "server": "off", "state": "disabled"},
            {
                "toolbox": "ops",
                "server": "dying",
                "state": "failed",
                "cause": "failed",
                "error": "the server exited with code 3 before it could be used",
                "stderr": ["one", "two"],
                "hint": HINT,
            },
            {
                "toolbox": "ops",
                "server": "absent",
                "state": "failed",
                "cause": "failed",
                "error": "command 'no-such-command' was not found",
                "hint": 'Install it, or give the full path in "command".',
            },
        ],
    )


def test_all_is_well_when_every_server_works(bench: Bench) -> None:
    bench.write(toolboxes(dev={"one": TWO_TOOLS, "two": server(era="legacy")}))
    done = bench.run("check", "--connect")
    assert (done.returncode, done.stderr) == (0, "")
    assert "stderr of" not in done.stdout


def test_a_wrong_file_starts_nothing(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"good": server(journal), "bad": {}}))
    assert bench.run("check", "--connect").returncode == 2
    assert journal.starts == 0


def test_what_filters_hide_is_not_counted(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": {**TWO_TOOLS, "toolFilters": ["b"]}}))
    assert connected(bench) == (0, [{"toolbox": "dev", "server": "files", "state": "ready", "tools": 1}])


def test_a_remote_server_that_is_not_there_is_named(bench: Bench) -> None:
    with socket.socket() as taken:  # by somebody who does not listen
        taken.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{taken.getsockname()[1]}"
        bench.write(toolboxes(web={"api": {"url": f"{origin}/mcp"}}))
        code, (row,) = connected(bench)
    assert (code, row["state"]) == (1, "failed")
    assert row["error"] == f"no server answers at {origin}: connection refused"
    assert row["hint"] == 'Is the server running? Check "url".'


def test_a_remote_server_is_connected_to(bench: Bench) -> None:
    port = free_port()
    command = [sys.executable, "-S", "-m", "tests.servers.conversing_http", str(port), '{"era": "modern"}']
    with listening(command, port):
        bench.write(toolboxes(web={"api": {"url": f"http://127.0.0.1:{port}/mcp"}}))
        code, (row,) = connected(bench)
    assert (code, row["state"], row["tools"]) == (0, "ready", len(TOOLS))


def test_servers_are_started_in_parallel(bench: Bench) -> None:
    slow = {f"s{number}": server(era="modern", start_delay=0.7) for number in range(8)}
    bench.write(toolboxes(dev=slow))
    started = time.monotonic()
    code, rows = connected(bench)
    assert (code, len(rows)) == (0, 8)
    assert time.monotonic() - started < 8 * 0.7


async def test_no_process_is_left(bench: Bench, make_journal: Callable[[str], Journal]) -> None:
    journals = [make_journal("good"), make_journal("bad")]
    good, bad = server(journals[0], grandchild=True), server(journals[1], exit=1, grandchild=True)
    bench.write(toolboxes(dev={"good": good, "bad": bad}))
    assert bench.run("check", "--connect").returncode == 1
    for journal in journals:
        assert journal.pids
        await wait_until_gone(journal.pids)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_interrupted_check_leaves_no_process_and_no_traceback(
    bench: Bench, journal: Journal, number: signal.Signals
) -> None:
    bench.write(toolboxes(dev={"mute": server(journal, mute=True, grandchild=True)}))
    process = bench.start("check", "--connect")
    await journal.wait_until(lambda journal: journal.lines)
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (130, b"")
    await wait_until_gone(journal.pids)


def test_the_log_is_shown_when_it_is_asked_for(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": TWO_TOOLS}))
    assert bench.run("check", "--connect").stderr == ""
    assert (
        "mcp-workbench: [dev/files] ready: 2026-07-28, tools: 2"
        in bench.run("check", "--connect", "--log-level", "info").stderr
    )


def test_a_secret_stands_in_none_of_it(bench: Bench) -> None:
    failing = dying('echo "token $TOKEN" >&2; exit 1', env={"TOKEN": "hunter2-and-more"})
    bench.write(toolboxes(dev={"bad": failing}))
    for args in (("--log-level", "debug"), ("--json", "--log-level", "debug")):
        done = bench.run("check", "--connect", *args)
        assert done.returncode == 1
        assert "token <env TOKEN>" in done.stdout
        assert "token <env TOKEN>" in done.stderr
        assert "hunter2" not in done.stdout + done.stderr
