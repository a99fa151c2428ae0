"""The log of calls: one line for each, written together, without secrets, and never waiting for a reader."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import Secrets
from mcp_workbench.serve.logs.call_log import MAX_COLLECTED, CallLog, line_of
from mcp_workbench.serve.logs.log_lines import MAX_LINE_BYTES
from mcp_workbench.serve.logs.stderr_handler import FORMATS, MAX_WAITING_LINES, StderrHandler
from mcp_workbench.workbench.door import CallEnd, CallRecord, Door
from tests.support.stderrs import without_times
from tests.wire.loops import JumpingLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

SECRET = "hunter2-and-some-more"  # noqa: S105 - made up for these tests
BEGUN_AT = 1785196800.0


def record(name: str = "git_status", **others: Any) -> CallRecord:
    given: dict[str, Any] = {
        "door": Door(),
        "number": 1,
        "method": "tools/call",
        "origin": ("dev", "git"),
        "principal": "",
        "client": "claude-code",
        "parent": None,
        "begun_at": BEGUN_AT,
        "request_bytes": 2,
        "started": 0.0,
    }
    return CallRecord(name=name, **given | others)


OK = CallEnd("answered", "", 0.012, 1400)


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (OK, "ok 12 ms 1.4 KB"),
        (CallEnd("answered", "", 0.0004, 999), "ok 0 ms 999 B"),
        (CallEnd("answered", "", 9.9994, 2_345_678), "ok 9999 ms 2.3 MB"),
        (CallEnd("answered", "", 75.4, 3), "ok 75 s 3 B"),
        (CallEnd("tool_error", "", 0.001, 80), "tool error 1 ms 80 B"),
        (CallEnd("asked", "", 0.001, 0), "asked the client 1 ms"),
        (CallEnd("failed", "ConnectionClosed", 0.001, 0), "failed (ConnectionClosed) 1 ms"),
        (CallEnd("refused", "CallRefused", 0.001, 0), "refused (CallRefused) 1 ms"),
        (CallEnd("cancelled", "", 0.001, 0), "cancelled 1 ms"),
        (CallEnd("timed_out", "RequestTimeout", 60.0, 0), "timed out (RequestTimeout) 60 s"),
        (CallEnd("client_gone", "", 0.001, 0), "client gone 1 ms"),
    ],
)
def test_a_line_says_how_a_call_ended(end: CallEnd, line: str) -> None:
    assert line_of(record(), end, str) == f"dev/git/git_status {line} (claude-code)"


@pytest.mark.parametrize(
    ("principal", "client", "end"),
    [("", "", ""), ("ann", "", " (ann)"), ("", "cursor", " (cursor)"), ("ann", "cursor", " (ann, cursor)")],
)
def test_a_line_says_who_called(principal: str, client: str, end: str) -> None:
    line = line_of(record(principal=principal, client=client), OK, str)
    assert line == f"dev/git/git_status ok 12 ms 1.4 KB{end}"


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "completion/complete"])
def test_a_line_about_something_else_than_a_tool_names_the_method(method: str) -> None:
    line = line_of(record("file:///a", method=method), OK, str)
    assert line == f"dev/git {method} file:///a ok 12 ms 1.4 KB (claude-code)"


def test_passwords_and_tokens_in_the_address_of_a_resource_are_masked() -> None:
    line = line_of(record("mem://u:s3cr3tpw@host/x?token=abcd", method="resources/read"), OK, str)
    assert line == "dev/git resources/read mem://u:***@host/x?token=*** ok 12 ms 1.4 KB (claude-code)"


class Pipe:
    """A pipe with the log of calls at one end and the test at the other."""

    def __init__(self, format_: str = "text") -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.handler = StderrHandler(FORMATS[format_], self.writer)
        self.log = CallLog(self.handler)

    def read(self) -> list[str]:
        data = b""
        with suppress(BlockingIOError):
            while more := os.read(self.reader, 1 << 20):
                data += more
        return data.decode().splitlines()

    def fill(self) -> None:
        """Leave no room for another byte."""
        os.set_blocking(self.writer, False)
        with suppress(BlockingIOError):
            while True:
                os.write(self.writer, b"x" * 4096)
        os.set_blocking(self.writer, True)


@pytest.fixture(params=["text", "json"])
def pipe(request: pytest.FixtureRequest) -> Iterator[Pipe]:
    it = Pipe(request.param)
    yield it
    for descriptor in (it.reader, it.writer):
        os.close(descriptor)


def messages(lines: list[str]) -> list[str]:
    """What lines of either format say."""
    if lines and lines[0].startswith("{"):
        return [json.loads(line)["message"] for line in lines]
    return [without_times(line).removeprefix("mcp-workbench: ") for line in lines]


def in_jumping_time(work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await work()

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(run())


def write(pipe: Pipe, *records: CallRecord) -> list[str]:
    async def end_them() -> None:
        for one in records:
            pipe.log.on_end(one, OK)
        await asyncio.sleep(1)

    in_jumping_time(end_them)
    return pipe.read()


def test_a_line_has_the_local_time_of_the_end(local_time_zone: Callable[[str], None]) -> None:
    local_time_zone("<-0330>03:30")
    pipe = Pipe()
    (line,) = write(pipe, record(begun_at=BEGUN_AT + 0.99))
    assert line == "2026-07-27T20:30:01-03:30 mcp-workbench: dev/git/git_status ok 12 ms 1.4 KB (claude-code)"


def test_an_event_for_machines_has_the_time_of_the_end_and_the_server(
    local_time_zone: Callable[[str], None],
) -> None:
    local_time_zone("UTC0")
    pipe = Pipe("json")
    (line,) = write(pipe, record())
    assert json.loads(line) == {
        "time": "2026-07-28T00:00:00.012+00:00",
        "level": "info",
        "logger": "mcp_workbench.calls",
        "server": "dev/git",
        "message": "dev/git/git_status ok 12 ms 1.4 KB (claude-code)",
    }


def test_calls_that_end_about_the_same_time_are_written_together_and_in_order(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    write_once = os.write

    def write_counted(descriptor: int, data: bytes) -> int:
        writes.append(descriptor)
        return write_once(descriptor, data)

    monkeypatch.setattr(os, "write", write_counted)
    shown = write(pipe, *(record(f"tool {number}") for number in range(200)))
    assert [message.split(" ok ")[0] for message in messages(shown)] == [
        f"dev/git/tool {number}" for number in range(200)
    ]
    size = sum(len(line) + 1 for line in shown)
    assert len(writes) <= size // MAX_LINE_BYTES + 2


def test_lines_come_after_a_moment_or_when_there_are_many(pipe: Pipe) -> None:
    async def watch() -> None:
        pipe.log.on_end(record(), OK)
        assert pipe.read() == []
        await asyncio.sleep(0.051)
        assert len(pipe.read()) == 1
        for _ in range(MAX_COLLECTED):
            pipe.log.on_end(record(), OK)
        assert len(pipe.read()) == MAX_COLLECTED
        await asyncio.sleep(1)
        assert pipe.read() == []

    in_jumping_time(watch)


def test_a_call_that_ends_after_the_log_was_closed_has_its_line_too(pipe: Pipe) -> None:
    """Over HTTP the clients are closed after the servers, and the loop ends right after."""

    async def close() -> None:
        pipe.log.on_end(record("first"), OK)
        pipe.log.close()
        assert [message.split()[0] for message in messages(pipe.read())] == ["dev/git/first"]
        pipe.log.on_end(record("second"), OK)
        assert [message.split()[0] for message in messages(pipe.read())] == ["dev/git/second"]

    in_jumping_time(close)


@pytest.mark.parametrize("others", [[], [record("line\nbreak")]], ids=["alone", "beside a line break"])
def test_no_secret_is_in_a_name(pipe: Pipe, others: list[CallRecord]) -> None:
    pipe.handler.hide(Secrets({SECRET: "<env TOKEN>"}))
    hidden = f"{SECRET[:5]}\u200b{SECRET[5:]}"
    records = [
        record(f"get-{SECRET}"),
        record(client=SECRET),
        record(principal=SECRET),
        record(hidden),
        *others,
    ]
    shown = write(pipe, *records)
    assert len(shown) == len(records)
    assert SECRET not in "".join(shown)
    assert [message.count("<env TOKEN>") for message in messages(shown)][:4] == [1, 1, 1, 1]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0b", "\n\n"])
def test_a_name_with_a_line_break_is_still_one_line(pipe: Pipe, end: str) -> None:
    forged = f"x{end}mcp-workbench: dev/git/forged ok"
    shown = write(pipe, record("first"), record(forged), record(client=f"a{end}b"), record("last"))
    assert len(shown) == 4
    assert [message.split()[0] for message in messages(shown)][::3] == ["dev/git/first", "dev/git/last"]
    assert messages(shown)[1].startswith("dev/git/x")


def test_hidden_characters_of_a_name_are_not_shown(pipe: Pipe) -> None:
    (message,) = messages(write(pipe, record("a\x1b[31mb\u202ec\ud800d")))
    assert message.startswith("dev/git/abcd ok ")


@pytest.mark.parametrize("sign", ["x", "é", "🙂"])
def test_no_line_is_longer_than_a_pipe_takes_at_once(pipe: Pipe, sign: str) -> None:
    long = sign * 10_000
    shown = write(pipe, record(long, principal=long, client=sign * 60, origin=(long, long)), record("after"))
    assert len(shown) == 2
    assert max(len(line.encode()) for line in shown) < MAX_LINE_BYTES
    assert "dev/git/after ok " in shown[1]


def test_a_long_name_is_shortened_and_the_rest_of_the_line_stays(pipe: Pipe) -> None:
    (message,) = messages(write(pipe, record("x" * 10_000)))
    assert len(message) < 300
    assert message.endswith(" ok 12 ms 1.4 KB (claude-code)")


def test_no_half_of_a_secret_is_left_where_a_name_is_cut(pipe: Pipe) -> None:
    pipe.handler.hide(Secrets({SECRET: "<env TOKEN>"}))
    records = [record(f"{'x' * at}{SECRET}{'y' * 300}") for at in range(150, 205)]
    records += [record(principal=f"{'x' * at}{SECRET}{'y' * 300}") for at in range(70, 105)]
    shown = write(pipe, *records)
    assert len(shown) == len(records)
    assert [line for line in shown if SECRET[:6] in line or SECRET[-6:] in line] == []


def test_a_reader_that_does_not_read_is_never_waited_for() -> None:
    pipe = Pipe()
    pipe.fill()

    async def flood() -> None:
        for _ in range(20_000):
            pipe.log.on_end(record(), OK)
        await asyncio.sleep(1)

    started = time.monotonic()
    in_jumping_time(flood)
    assert time.monotonic() - started < 30
    assert set("".join(pipe.read())) == {"x"}
    shown = write(pipe, record("after"))
    while "dev/git/after ok " not in shown[-1]:
        pipe.handler.flush()
        shown += pipe.read()
    (dropped,) = [line for line in shown if "log lines dropped: " in line]
    lost = int(dropped.rpartition(" ")[2])
    kept = sum("dev/git/git_status ok " in line for line in shown)
    assert (kept > MAX_WAITING_LINES, lost + kept) == (True, 20_000)


def test_a_secret_in_a_long_client_name_is_masked_before_the_name_is_cut() -> None:
    client = f"{'x' * 50}-s3cr3t-value-{'y' * 50}"
    line = line_of(record(client=client), OK, lambda text: text.replace("s3cr3t-value", "***"))
    assert "s3cr3t" not in line
    assert line.endswith("…)")
