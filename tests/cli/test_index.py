"""`mcp-workbench index`: lists the tools of all servers, for later searches."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import server, tool, toolboxes
from tests.support.processes import wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.commands import Bench
    from tests.support.client import Json
    from tests.support.journal import Journal

TWO_TOOLS = server(era="modern", tools=[tool("a"), tool("b")])
ONE_TOOL = server(era="legacy", tools=[tool("c")])
DYING = {"command": "/bin/sh", "args": ["-c", "echo last words >&2; exit 3"]}


def mixed() -> Json:
    return toolboxes(
        dev={"good": TWO_TOOLS, "off": {"command": "x", "disabled": True}},
        ops={"old": ONE_TOOL, "dying": DYING, "absent": {"command": "no-such-command"}},
    )


def catalogue(bench: Bench) -> dict[str, str]:
    """The tools of each record, and the protocol version of their server."""
    records = [json.loads(file.read_bytes()) for file in directory(bench).glob("*")]
    return {" ".join(tool["name"] for tool in record["tools"]): record["era"] for record in records}


def directory(bench: Bench) -> Path:
    return bench.directory / "cache" / "mcp-workbench" / "catalogue"


def test_every_server_is_listed_and_kept_and_those_that_fail_are_explained(bench: Bench) -> None:
    bench.write(mixed())
    done = bench.run("index")
    assert (done.returncode, done.stderr) == (1, "")
    heading, *_, summary = done.stdout.splitlines()
    assert heading == "Listing the tools of 5 servers"
    assert summary == f"2 servers listed, 2 failed, 1 disabled: 3 tools, kept in {directory(bench)}"
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:6]] == [
        ["ready", "dev/good"],
        ["disabled", "dev/off"],
        ["ready", "ops/old"],
        ["failed", "ops/dying"],
        ["failed", "ops/absent"],
    ]
    assert "ops/absent: command 'no-such-command' was not found\n  Fix: Install it, or" in done.stdout
    assert "  Last lines of stderr:\n    last words\n" in done.stdout
    assert catalogue(bench) == {"a b": "2026-07-28", "c": "legacy"}


def test_the_same_as_json(bench: Bench) -> None:
    bench.write(toolboxes(dev={"good": TWO_TOOLS, "off": {"command": "x", "disabled": True}}))
    code, outcome = bench.run_json("index", "--json")
    assert 0 < outcome["servers"][0].pop("seconds") < 10
    assert (code, outcome) == (
        0,
        {
            "file": "workbench-config.json",
            "valid": True,
            "warnings": [],
            "catalogue": {"directory": str(directory(bench))},
            "servers": [
                {"toolbox": "dev", "server": "good", "state": "ready", "tools": 2},
                {"toolbox": "dev", "server": "off", "state": "disabled"},
            ],
        },
    )


def test_only_those_that_are_named_are_started(bench: Bench, journal: Journal) -> None:
    boxes = {
        "dev": {"good": TWO_TOOLS, "idle": server(journal)},
        "ops": {"old": ONE_TOOL},
        "web": {"x": DYING},
    }
    bench.write(toolboxes(**boxes))
    code, outcome = bench.run_json("index", "--json", "dev/good", "ops")
    assert (code, [row["server"] for row in outcome["servers"]]) == (0, ["good", "old"])
    assert set(catalogue(bench)) == {"a b", "c"}
    assert journal.starts == 0


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("prod", "The toolboxes: dev"),
        ("", "The toolboxes: dev"),
        ("dev/bad", "Did you mean: dev, dev/good?"),
        ("good", "Did you mean: dev/good?"),
        ("god", "Did you mean: dev/good?"),
        ("dev/", "Did you mean: dev?"),
    ],
)
def test_a_name_that_is_not_there_starts_nothing_and_is_answered_with_similar_ones(
    bench: Bench, journal: Journal, name: str, answer: str
) -> None:
    bench.write(toolboxes(dev={"good": server(journal)}))
    done = bench.run("index", "dev", name)
    assert (done.returncode, done.stdout) == (2, "")
    said = f"mcp-workbench: there is no toolbox or server '{name}' in workbench-config.json. {answer}\n"
    assert done.stderr == said
    assert journal.starts == 0


@pytest.mark.parametrize("args", [("index",), ("index", "--json")], ids=" ".join)
def test_a_wrong_file_is_explained(bench: Bench, args: tuple[str, ...]) -> None:
    bench.write(toolboxes(dev={"bad": {}}))
    done = bench.run(*args)
    assert done.returncode == 2
    assert "toolboxes.dev.mcpServers.bad" in (done.stdout if "--json" in args else done.stderr)


def test_a_second_time_refreshes_what_has_changed(bench: Bench) -> None:
    era = bench.directory / "era"
    era.write_text("legacy", "ascii")
    bench.write(toolboxes(dev={"good": server(era_file=str(era), tools=[tool("a")])}))
    assert bench.run("index").returncode == 0
    era.write_text("modern", "ascii")
    assert bench.run("index").returncode == 0
    assert catalogue(bench) == {"a": "2026-07-28"}


def test_what_filters_hide_is_kept_and_not_counted(bench: Bench) -> None:
    bench.write(toolboxes(dev={"good": {**TWO_TOOLS, "toolFilters": ["b"]}}))
    _, outcome = bench.run_json("index", "--json")
    assert outcome["servers"][0]["tools"] == 1
    assert set(catalogue(bench)) == {"a b"}


def test_a_cache_that_cannot_be_written_is_a_failure_with_its_reason(bench: Bench) -> None:
    (bench.directory / "cache").write_text("a file", "ascii")
    bench.write(toolboxes(dev={"good": TWO_TOOLS}))
    done = bench.run("index")
    assert done.returncode == 1
    assert done.stderr.startswith("mcp-workbench: the catalogue cannot be written: [Errno ")
    code, outcome = bench.run_json("index", "--json")
    assert (code, outcome["catalogue"]["error"][:7]) == (1, "[Errno ")


def test_servers_are_listed_in_parallel_a_few_at_a_time(
    bench: Bench, make_journal: Callable[[str], Journal]
) -> None:
    journal = make_journal("all")
    slow = {f"s{number}": server(journal, era="modern", start_delay=0.5) for number in range(12)}
    bench.write(toolboxes(dev=slow))
    code, outcome = bench.run_json("index", "--json")
    assert (code, len(outcome["servers"])) == (0, 12)
    up = most = 0
    for event in journal.events("start", "finished"):
        up += 1 if event["event"] == "start" else -1
        most = max(most, up)
    assert 1 < most <= 8


async def test_no_process_is_left(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"good": server(journal, grandchild=True)}))
    assert bench.run("index").returncode == 0
    assert journal.pids
    await wait_until_gone(journal.pids)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_index_leaves_no_process_and_no_traceback(
    bench: Bench, journal: Journal, number: signal.Signals
) -> None:
    bench.write(toolboxes(dev={"mute": server(journal, mute=True, grandchild=True), "good": TWO_TOOLS}))
    process = bench.start("index")
    await journal.wait_until(lambda journal: journal.lines)
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (130, b"")
    await wait_until_gone(journal.pids)
    assert [file for file in directory(bench).glob("*") if file.suffix != ".json"] == []


def test_what_check_connects_to_is_kept_too(bench: Bench) -> None:
    bench.write(toolboxes(dev={"good": TWO_TOOLS}))
    assert bench.run("check", "--connect").returncode == 0
    assert catalogue(bench) == {"a b": "2026-07-28"}
