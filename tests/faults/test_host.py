"""A client, a system or a configuration that asks too much of the workbench."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import EXIT_LIMIT, MARK, Trial, processes_marked, spoken
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.sessions import names
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.client import Json, Reply
    from tests.support.sessions import Era

OPEN = '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}'


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """A trial that nobody may complain of."""
    trial = Trial(tmp_path)
    yield trial
    assert trial.complaints == []


async def replies(calls: list[asyncio.Future[Reply]], within: float = PATIENCE) -> list[str]:
    async with asyncio.timeout(within):
        return [spoken((await call).message) for call in calls]


# ---- Many at once.


async def test_of_fifty_servers_forty_are_usable_and_ten_are_named(trial: Trial) -> None:
    deaths = ("exits", "exits_without_a_word", "never_answers", "closes_its_output", "refuses")
    dead = {
        f"dead{number}": trial.server(f"dead{number}", {"startupTimeout": 5}, start=deaths[number % 5])
        for number in range(10)
    }
    healthy = {
        f"well{number}": trial.server(f"well{number}", era="modern" if number % 2 else "legacy")
        for number in range(39)
    }
    async with trial.running(trial.config(**dead, **healthy)) as session:
        began = time.monotonic()
        opening = await session.begin("tools/call", OPEN)
        (text,) = await replies([opening], 30)
        assert time.monotonic() - began < 20
        listing = json.loads(text)
        assert listing["servers_connected"] == 40
        assert sorted(failure["server"] for failure in listing["failed_servers"]) == sorted(dead)
        calls = [await session.begin_tool("dev", name, "echo") for name in healthy]
        assert await replies(calls) == ["echo"] * 39


async def test_fifty_opens_at_once_start_each_server_once(trial: Trial) -> None:
    servers = {name: trial.server(name) for name in ("one", "two")}
    async with trial.running(trial.config(**servers)) as session:
        opens = [await session.begin("tools/call", OPEN) for _ in range(50)]
        texts = await replies(opens)
        assert len(set(texts)) == 1
        assert [trial.journal(name).starts for name in ("one", "two", "sibling")] == [1, 1, 1]


async def test_fifty_opens_at_once_of_a_server_that_dies_are_all_answered(trial: Trial) -> None:
    async with trial.running(trial.config(dead=trial.server("dead", start="exits"))) as session:
        opens = [await session.begin("tools/call", OPEN) for _ in range(50)]
        for text in await replies(opens):
            assert [failure["server"] for failure in json.loads(text)["failed_servers"]] == ["dead"]


async def test_five_thousand_calls_at_once_are_all_answered(trial: Trial) -> None:
    async with trial.running(trial.config()) as session:
        calls = [await session.begin_tool("dev", "sibling", "echo") for _ in range(5000)]
        assert set(await replies(calls, 30)) == {"echo"}


async def test_five_thousand_calls_to_a_server_that_never_answers_all_end(trial: Trial) -> None:
    silent = trial.server("silent", {"timeout": 2}, call="never_answers")
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "silent", "fault") for _ in range(5000)]
        assert await trial.use("sibling", "echo", 5) == "echo"
        front = "(error) Error executing tool 'fault' in server 'silent' (toolbox 'dev'): "
        assert all(text.startswith(front) for text in await replies(calls, 30))
        assert await trial.use("silent", "echo", 10) == "echo"


async def test_twelve_thousand_calls_are_too_many_and_each_is_told(trial: Trial) -> None:
    """More than may be in flight and may wait: the rest fails at once, and what was accepted is answered."""
    silent = trial.server("silent", {"timeout": 5}, call="stops_reading")
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "silent", "fault") for _ in range(12_500)]
        async with asyncio.timeout(4):
            while sum(call.done() for call in calls) < 12_500 - 11_001:
                await asyncio.wait(
                    [call for call in calls if not call.done()], return_when=asyncio.FIRST_COMPLETED
                )
        refused = [spoken(call.result().message) for call in calls if call.done()]
        front = "(error) Error executing tool 'fault' in server 'silent' (toolbox 'dev'): "
        assert all(text.startswith(front) for text in refused)
        assert await trial.use("sibling", "echo", 5) == "echo"


async def test_large_calls_to_a_server_that_does_not_read_do_not_fill_the_memory(trial: Trial) -> None:
    silent = trial.server("silent", {"timeout": 2}, call="stops_reading")
    padding = json.dumps({"padding": "x" * 1_000_000})
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "silent", "fault", padding) for _ in range(250)]
        assert await trial.use("sibling", "echo", 5) == "echo"
        front = "(error) Error executing tool 'fault' in server 'silent' (toolbox 'dev'): "
        assert all(text.startswith(front) for text in await replies(calls, 20))
        # Calls that waited have stalled its next life too, so that it may be left alone for a moment.
        async with asyncio.timeout(10):
            while "the next try is in" in (text := await trial.use("silent", "echo", 10)):
                assert await trial.use("sibling", "echo", 5) == "echo"
        assert text == "echo"


async def test_every_kind_of_fault_at_once_harms_nobody_else(trial: Trial) -> None:
    kinds = (
        *("exits", "is_killed", "never_answers_anything_any_more", "stops_reading", "stops_itself"),
        *("closes_its_output", "closes_its_input", "says_half_a_line_and_no_more", "babbles_without_end"),
        *("notifies_without_end", "says_a_line_without_end", "answers_with_100_mb", "answers_null"),
    )
    servers = {kind: trial.server(kind, {"timeout": 3}, call=kind) for kind in kinds}
    async with trial.running(trial.config(**servers)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", kind, "fault") for kind in kinds]
        everything = asyncio.ensure_future(asyncio.gather(*calls))
        while not everything.done():
            assert await trial.use("sibling", "echo", 5) == "echo"
            await asyncio.wait([everything], timeout=0.1)
        for kind, text in zip(kinds, await replies(calls), strict=True):
            front = f"(error) Error executing tool 'fault' in server '{kind}' (toolbox 'dev'): "
            assert text.startswith(front), text[:500]
        calls = [await session.begin_tool("dev", kind, "echo") for kind in kinds]
        assert await replies(calls, 15) == ["echo"] * len(kinds)


async def test_a_death_ends_all_the_calls_of_its_server_and_no_other(trial: Trial) -> None:
    dying = trial.server("dying", call="never_answers", tools={"die": "exits"})
    async with trial.running(
        trial.config(dying=dying, other=trial.server("other", call="answers_too_late"))
    ) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "dying", "fault") for _ in range(100)]
        slow = await session.begin_tool("dev", "other", "fault")
        calls.append(await session.begin_tool("dev", "dying", "die"))
        began = time.monotonic()
        texts = await replies(calls, 5)
        assert time.monotonic() - began < 2
        assert all("exited with code 7" in text and "server 'dying'" in text for text in texts)
        assert await replies([slow]) == ["too late"]
        assert await trial.use("dying", "echo", 5) == "echo"


# ---- Back-off and soft deadlines.


async def test_a_server_that_keeps_dying_is_left_alone_for_a_while(trial: Trial) -> None:
    async with trial.running(trial.config(dead=trial.server("dead", start="exits"))) as session:
        await session.open_toolbox("dev")
        began = time.monotonic()
        texts = [await trial.use("dead", "echo", 5) for _ in range(30)]
        assert time.monotonic() - began < 5
        assert trial.journal("dead").starts < 12
        front = "(error) Error executing tool 'echo' in server 'dead' (toolbox 'dev'): "
        assert all(text.startswith(front) and "no such database" in text for text in texts)
        waiting = [text for text in texts if re.search(r"next\b.* \d+(\.\d+)? s\b", text)]
        assert len(waiting) > 20, texts[-1]


async def test_a_slow_start_does_not_hold_the_opening_up(trial: Trial) -> None:
    config = trial.config(slow=trial.server("slow", start="answers_after_3_s"))
    config["openDeadline"] = 1
    async with trial.running(config) as session:
        began = time.monotonic()
        listing = (await session.open_toolbox("dev"))["structuredContent"]
        assert time.monotonic() - began < 2.5
        assert names(listing["tools"]) == ["echo", "fault"]
        assert [entry["server"] for entry in listing["starting_servers"]] == ["slow"]
        assert "failed_servers" not in listing
        assert await trial.use("slow", "echo", 6) == "echo"
        listing = (await session.open_toolbox("dev"))["structuredContent"]
        assert listing["servers_connected"] == 2
        assert "starting_servers" not in listing
        assert trial.journal("slow").starts == 1


async def test_a_toolbox_of_slow_servers_alone_opens_empty_and_fills_up(trial: Trial) -> None:
    config = {
        "openDeadline": 1,
        "toolboxes": {
            "dev": {
                "description": "Slow",
                "mcpServers": {"slow": trial.server("slow", start="answers_after_3_s")},
            }
        },
    }
    async with trial.running(config) as session:
        began = time.monotonic()
        result = await session.open_toolbox("dev")
        assert time.monotonic() - began < 2.5
        assert [entry["server"] for entry in result["structuredContent"]["starting_servers"]] == ["slow"]
        assert await trial.use("slow", "echo", 6) == "echo"


# ---- The client.


GARBAGE = (
    b"\n",
    b"garbage\n",
    b"\xff\xfe\xfd\n",
    b"\x00\x00\n",
    b"{\n",
    b"[]\n",
    b"[[]]\n",
    b"null\n",
    b"42\n",
    b'"text"\n',
    b"{}\n",
    b'{"jsonrpc":"2.0"}\n',
    b'{"jsonrpc":"2.0","id":1}\n',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":[1],"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":"' + b"x" * 100_000 + b'","method":"ping"}\n',
    b'{"jsonrpc":"1.0","id":77,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":78,"method":5}\n',
    b'{"jsonrpc":"2.0","id":79,"method":"tools/call","params":5}\n',
    b'{"jsonrpc":"2.0","id":80,"method":"tools/call","params":{"name":"use_tool","arguments":[1]}}\n',
    b'{"jsonrpc":"2.0","id":81,"method":"tools/call","params":{"name":5}}\n',
    b'{"jsonrpc":"2.0","id":82,"method":"tools/call","params":{"name":"use_tool","arguments":{"tool":5}}}\n',
    b'{"jsonrpc":"2.0","id":83,"method":"tools/call","params":NaN}\n',
    b'{"jsonrpc":"2.0","id":84,"method":"ping","params":{"_meta":7}}\n',
    b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":85,"method":"\\ud83d"}\n',
    b'{"jsonrpc":"2.0","id":86,"result":{}}\n',
    b'{"jsonrpc":"2.0","id":87,"error":{"code":1,"message":"x"}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/nobody/knows","params":[1,2,3]}\n',
    b"[" * 100_000 + b"\n",
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n",
    b'{"jsonrpc":"2.0","id":88,"method":"ping","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":89,"method":"ping"}\r\n',
)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_garbage_from_the_client_harms_nothing(trial: Trial, era: Era) -> None:
    async with trial.running(trial.config(), era) as session:
        call = await session.begin_tool("dev", "sibling", "echo", request_id="before")
        for line in GARBAGE:
            await trial.client.send_raw(line)
            assert await trial.use("sibling", "echo", 5) == "echo", line[:100]
        assert await replies([call]) == ["echo"]


@pytest.mark.parametrize(
    "line",
    [
        b"x" * 20_000_000,
        b"[" * 20_000_000,
        b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"' + b"x" * 20_000_000 + b'"}}',
        b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * 20_000_000 + b'"}',
        b'{"jsonrpc":"2.0","id":"' + b"x" * 20_000_000 + b'","method":"nobody/knows"}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"use_tool","arguments":"'
        + b"x" * 20_000_000
        + b'"}}',
        b"\xff" * 20_000_000,
        b"x" * 100_000_000,
    ],
    ids=["text", "brackets", "params", "method", "id", "arguments", "bytes", "100-mb"],
)
async def test_a_long_line_from_the_client_costs_neither_time_nor_memory(trial: Trial, line: bytes) -> None:
    async with trial.running(trial.config()) as session:
        await session.open_toolbox("dev")
        await trial.client.send_raw(line + b"\n")
        assert await trial.use("sibling", "echo", 5) == "echo"


async def test_a_call_of_20_mb_is_passed_on(trial: Trial) -> None:
    async with trial.running(trial.config()) as session:
        await session.open_toolbox("dev")
        padding = json.dumps({"padding": "x" * 20_000_000})
        call = await session.begin_tool("dev", "sibling", "echo", padding)
        assert await replies([call]) == ["echo"]


@pytest.mark.parametrize("half", [b'{"jsonrpc":"2.0","id":9,"meth', b"\xf0\x9f", b"x" * 1_000_000, b""])
async def test_half_a_line_and_then_the_end_is_an_end(trial: Trial, half: bytes) -> None:
    async with trial.running(trial.config()) as session:
        await session.open_toolbox("dev")
        await trial.client.send_raw(half)


async def test_a_client_that_cancels_everything_gets_no_late_answer(trial: Trial) -> None:
    silent = trial.server("silent", call="never_answers")
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = {}
        for number in range(500):
            request_id = f"cancel-{number}"
            calls[request_id] = await session.begin_tool("dev", "silent", "fault", request_id=request_id)
        for unwanted in (*calls, *calls, "never-there", 123456):
            await trial.client.notify("notifications/cancelled", {"requestId": unwanted, "reason": "enough"})
        assert await trial.use("silent", "echo", 5) == "echo"
        await trial.journal("silent").wait_until(lambda it: len(it.events("cancelled")) == 500)
        assert [request_id for request_id, call in calls.items() if call.done()] == []
        opening = await session.begin("tools/call", OPEN, request_id="opening")
        await trial.client.notify("notifications/cancelled", {"requestId": "opening"})
        assert await trial.use("sibling", "echo", 5) == "echo"
        opening.cancel()


async def test_a_cancelled_opening_is_no_harm_to_the_next(trial: Trial) -> None:
    slow = trial.server("slow", start="answers_after_3_s")
    async with trial.running(trial.config(slow=slow)) as session:
        opening = await session.begin("tools/call", OPEN, request_id="first")
        await trial.journal("slow").wait_until(lambda it: it.starts)
        await trial.client.notify("notifications/cancelled", {"requestId": "first"})
        listing = (await session.open_toolbox("dev"))["structuredContent"]
        assert listing["servers_connected"] == 2
        assert not opening.done()


async def test_a_client_that_reads_nothing_for_a_while_loses_nothing(trial: Trial) -> None:
    """300 MB of answers wait: in the servers, and not in the memory of the workbench."""
    large = {name: trial.server(name, {"timeout": 3}, call="answers_with_1_mb") for name in ("one", "two")}
    async with trial.running(trial.config(**large)) as session:
        await session.open_toolbox("dev")
        trial.client.stop_reading("stdout")
        calls = [
            await session.begin_tool("dev", name, "fault") for _ in range(150) for name in ("one", "two")
        ]
        await asyncio.wait(calls, timeout=4)  # longer than the time that each call has
        trial.client.resume_reading("stdout")
        texts = await replies(calls, 30)
        assert [text[:200] for text in texts if len(text) != 1_000_000] == []


async def test_progress_for_a_client_that_reads_nothing_does_not_fill_the_memory(trial: Trial) -> None:
    eager = trial.server("eager", call="reports_progress_200_000_times")
    async with trial.running(trial.config(eager=eager)) as session:
        await session.open_toolbox("dev")
        trial.client.stop_reading("stdout")
        call = await session.begin_tool("dev", "eager", "fault", meta={"progressToken": "x" * 1000})
        await asyncio.wait([call], timeout=3)
        trial.weigh()
        trial.client.resume_reading("stdout")
        assert await replies([call], 30) == ["done"]


async def test_a_client_that_never_reads_does_not_keep_it(trial: Trial) -> None:
    large = trial.server("large", call="answers_with_1_mb")
    async with trial.running(trial.config(large=large)) as session:
        await session.open_toolbox("dev")
        trial.client.stop_reading("stdout")
        for _ in range(100):
            await session.begin_tool("dev", "large", "fault")
        await trial.leave(trial.client.close)


async def test_a_client_that_goes_away_without_a_word_is_noticed(trial: Trial) -> None:
    """Both its pipes end at once, in the middle of calls."""
    large = trial.server("large", call="answers_with_1_mb")
    async with trial.running(trial.config(large=large)) as session:
        await session.open_toolbox("dev")
        trial.client.stop_reading("stdout")
        for _ in range(20):
            await session.begin_tool("dev", "large", "fault")
        trial.client.close_reading("stdout")
        await trial.leave(trial.client.close)


# ---- Our own stderr.


def talk(trial: Trial, stderr: int | None, tmp_path: Path) -> tuple[int, list[Json], float]:
    """A whole conversation with a workbench whose stderr is what it is."""
    noisy = trial.server("noisy", call="writes_5_mb_to_stderr")
    config = write_config(tmp_path, trial.config(noisy=noisy))
    closing = (lambda: os.close(2)) if stderr is None else None
    process = subprocess.Popen(
        serve_command(config),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=clean_environment(tmp_path, {MARK: trial.mark}),
        preexec_fn=closing,  # noqa: PLW1509 - there are no threads here
    )
    assert process.stdin is not None
    assert process.stdout is not None
    messages = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "use_tool", "arguments": tool("noisy", "fault")},
        },
        {
            "id": 3,
            "method": "tools/call",
            "params": {"name": "use_tool", "arguments": tool("sibling", "echo")},
        },
    ]
    answers = []
    try:
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        began = time.monotonic()
        code = process.wait(EXIT_LIMIT)
        return code, answers, time.monotonic() - began
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def tool(server: str, name: str) -> Json:
    return {"tool": {"toolbox": "dev", "server": server, "tool": name}}


@pytest.mark.parametrize("kind", ["not read", "closed", "without a reader", "full device"])
def test_it_works_whatever_becomes_of_its_stderr(trial: Trial, tmp_path: Path, kind: str) -> None:
    reader, writer = os.pipe()
    descriptor: int | None = writer
    if kind == "closed":
        descriptor = None
    elif kind == "without a reader":
        os.close(reader)
    elif kind == "full device":
        os.close(writer)
        descriptor = writer = os.open("/dev/full", os.O_WRONLY)
    try:
        code, answers, seconds = talk(trial, descriptor, tmp_path)
    finally:
        os.close(writer)
        if kind != "without a reader":
            os.close(reader)
    assert code == 0
    assert seconds < EXIT_LIMIT
    assert [spoken(answer) for answer in answers[1:]] == ["done", "echo"]
    assert processes_marked(trial.mark) == {}


# ---- A long life.


async def test_no_descriptor_is_lost_over_many_deaths(trial: Trial) -> None:
    async with trial.running(trial.config(dying=trial.server("dying", call="exits"))) as session:
        await session.open_toolbox("dev")
        assert await trial.use("dying", "echo", 5) == "echo"
        before = trial.descriptors()
        for _ in range(15):
            assert "exited with code 7" in await trial.use("dying", "fault", 5)
            assert await trial.use("dying", "echo", 5) == "echo"
        await poll(lambda: trial.descriptors() <= before)
