"""A client that asks too much, says the wrong things or does not listen, and a stderr that nobody reads."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import EXIT_LIMIT, MARK, OPEN, Trial, processes_marked, replies, spoken
from tests.support.client import clean_environment, serve_command, write_config

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.sessions import Era


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
    """200 MB of answers wait: in the servers, and not in the memory of the workbench."""
    large = {name: trial.server(name, {"timeout": 4}, call="answers_with_1_mb") for name in ("one", "two")}
    async with trial.running(trial.config(**large)) as session:
        await session.open_toolbox("dev")
        trial.client.stop_reading("stdout")
        calls = [
            await session.begin_tool("dev", name, "fault") for _ in range(100) for name in ("one", "two")
        ]
        await asyncio.wait(calls, timeout=5)  # longer than the time that each call has
        trial.client.resume_reading("stdout")
        texts = await replies(calls, 30)
        assert [text[:200] for text in texts if len(text) != 1_000_000] == []


async def test_listings_for_a_client_that_reads_nothing_do_not_fill_the_memory(trial: Trial) -> None:
    """Fifteen of 20 MB each."""
    large = trial.server("large", start="lists_1_000_large_tools")
    async with trial.running(trial.config(large=large)) as session:
        await session.open_toolbox("dev")
        trial.client.stop_reading("stdout")
        opens = [await session.begin("tools/call", OPEN) for _ in range(15)]
        await asyncio.wait(opens, timeout=3)
        trial.weigh()
        trial.client.resume_reading("stdout")
        assert len(set(await replies(opens, 30))) == 1


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
