"""`mcp-workbench check --connect`: do the servers work?"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.cli.inspection import check
from mcp_workbench.cli.inspection.rows import rows_of
from mcp_workbench.config import load_data
from tests.servers.wares import TOOLS
from tests.support.configs import server, tool, toolboxes
from tests.support.ports import free_port, listening
from tests.support.processes import wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def test_the_outcome_as_json_has_the_cause_of_each_failure(bench: Bench) -> None:
    bench.write(mixed())
    code, rows = connected(bench)
    hint = rows[3].pop("hint")
    assert hint.startswith('Install it, or write its full path into "command"')
    assert (code, rows) == (
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
                "cause": "program-missing",
                "error": "command 'no-such-command' was not found",
            },
        ],
    )


def test_only_those_that_are_named_are_started(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"good": TWO_TOOLS, "idle": server(journal)}, ops={"one": TWO_TOOLS}))
    code, rows = connected(bench, "dev/good", "ops")
    assert (code, [row["server"] for row in rows]) == (0, ["good", "one"])
    assert journal.starts == 0
    done = bench.run("check", "--connect", "dev/absent")
    assert done.returncode == 2
    assert "there is no toolbox or server 'dev/absent'" in done.stderr


def test_all_is_well_when_every_server_works(bench: Bench) -> None:
    bench.write(toolboxes(dev={"one": TWO_TOOLS, "two": server(era="legacy")}))
    done = bench.run("check", "--connect")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "2 ready. Next: mcp-workbench install"


def test_without_a_server_the_next_step_is_to_add_one(bench: Bench) -> None:
    bench.write({"toolboxes": {}})
    done = bench.run("check", "--connect")
    added = "Add one: mcp-workbench add time -- uvx mcp-server-time"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"no servers. {added}")


def test_a_wrong_file_starts_nothing(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"good": server(journal), "bad": {}}))
    assert bench.run("check", "--connect").returncode == 2
    assert journal.starts == 0


def test_what_filters_hide_is_not_counted(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": {**TWO_TOOLS, "toolFilters": ["b"]}}))
    assert connected(bench) == (0, [{"toolbox": "dev", "server": "files", "state": "ready", "tools": 1}])


def test_a_remote_server_is_connected_to(bench: Bench) -> None:
    port = free_port()
    command = [sys.executable, "-S", "-m", "tests.servers.conversing_http", str(port), '{"era": "modern"}']
    with listening(command, port):
        bench.write(toolboxes(web={"api": {"url": f"http://127.0.0.1:{port}/mcp"}}))
        code, (row,) = connected(bench)
    assert (code, row["state"], row["tools"]) == (0, "ready", len(TOOLS))


async def test_a_startup_timeout_begins_with_the_start_of_its_own_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "MAX_RUNNING_SERVERS", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = {**server(mute=True), "startupTimeout": 3}, {**TWO_TOOLS, "startupTimeout": 3}
    loaded = load_data(toolboxes(dev={"first": first, "second": second}), os.environ)
    rows = rows_of(loaded)
    await check.connect(loaded, rows, lambda: None)
    assert [(row.state, row.cause) for row in rows.values()] == [("failed", "silent"), ("ready", None)]


async def test_no_process_is_left(bench: Bench, make_journal: Callable[[str], Journal]) -> None:
    journals = [make_journal("good"), make_journal("bad")]
    good, bad = server(journals[0], grandchild=True), server(journals[1], exit=1, grandchild=True)
    bench.write(toolboxes(dev={"good": good, "bad": bad}))
    assert bench.run("check", "--connect").returncode == 1
    for journal in journals:
        assert journal.pids
        await wait_until_gone(journal.pids)


@pytest.mark.parametrize(
    ("number", "args"), [(signal.SIGINT, ()), (signal.SIGTERM, ("--json",)), (signal.SIGHUP, ())]
)
async def test_an_interrupted_check_leaves_no_process_and_no_traceback(
    bench: Bench, journal: Journal, number: signal.Signals, args: tuple[str, ...]
) -> None:
    bench.write(toolboxes(dev={"mute": server(journal, mute=True, grandchild=True)}))
    process = bench.start("check", "--connect", *args)
    await journal.wait_until(lambda journal: journal.lines)
    process.send_signal(number)
    shown, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (130, b"")
    assert b'"state": "starting"' in shown if args else b"Still starting: dev/mute" in shown
    await wait_until_gone(journal.pids)


async def test_an_interrupted_check_keeps_what_is_known_and_names_what_was_starting(
    bench: Bench, journal: Journal
) -> None:
    bad = {"command": "no-such-command"}
    bench.write(toolboxes(dev={"mute": server(journal, mute=True), "bad": bad, "good": TWO_TOOLS}))
    process = bench.start("check", "--connect", "--log-level", "info")
    await journal.wait_until(lambda journal: journal.lines)
    assert process.stderr is not None
    assert any(b"[dev/good] ready" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=10)
    lines = shown.decode().splitlines()
    assert process.returncode == 130
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["starting", "dev/mute"],
        ["failed", "dev/bad"],
        ["ready", "dev/good"],
    ]
    assert "dev/bad: command 'no-such-command' was not found" in lines
    assert lines[-1] == "Interrupted: 1 ready, 1 failed, 1 starting. Still starting: dev/mute"


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
