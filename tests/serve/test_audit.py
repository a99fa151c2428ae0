"""The audit of a running workbench: one record for every call, without secrets, whatever the disk does."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import logging
import os
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_workbench.config import Secrets
from mcp_workbench.errors import CallRefused, RequestTimeout, ServerNotFound
from mcp_workbench.library.log_masking import MaskingHandler
from mcp_workbench.serve.audit import audit_writer
from mcp_workbench.serve.audit.call_audit import CLOSE_SECONDS, CallAudit
from mcp_workbench.storage.audit.audit_files import AuditFiles
from mcp_workbench.workbench.call_counts import CallCounts
from mcp_workbench.workbench.door import CallDecision, Door, LostCall
from tests.storage.audit.lines import directory, line, read
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from mcp_workbench.config.model.workbench import AuditLevel
    from mcp_workbench.workbench.door import CallRecord

SECRET = "hunter2-hunter2"  # noqa: S105 - it has to be recognised
NOT_RECORDED = "calls are not recorded now, because the audit cannot be written: "
TOO_FAST = "600 calls are missing in the audit: they came faster than it could be written"
RESULT = msgspec.Raw(b'{"content":[{"type":"text","text":"hello"}]}')


class Bench:
    """A door with an audit, and calls that pass it."""

    def __init__(self, home: Path, level: AuditLevel = "metadata") -> None:
        self.home = home
        self.log_handler = MaskingHandler()
        self.log_handler.hide(Secrets({SECRET: "<env TOKEN>"}))
        self.door = Door(observers=[CallCounts()])
        self.audit = CallAudit(self.door, {"XDG_DATA_HOME": str(home)}, self.log_handler)
        self.audit.set_level(level)

    def begin(self, name: str = "status", arguments: bytes = b"{}", principal: str = "alice") -> CallRecord:
        return self.door.begin(LostCall("tools/call", ("dev", "git"), name, principal, "cursor", arguments))

    def call(self, name: str = "status", arguments: bytes = b"{}", result: bytes = RESULT) -> None:
        self.begin(name, arguments).answered(msgspec.Raw(result))

    async def records(self) -> list[dict[str, Any]]:
        """What was recorded by the end of the workbench."""
        await self.audit.close()
        return read(self.home)


async def test_a_call_is_recorded_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    first = bench.begin(arguments=b'{"a": 1}')
    first.parent = 7
    first.decision = CallDecision("ask", '"*": "ask" of toolbox dev', "user")
    first.sources = (("dev", "crm"), ("ops", "logs"))
    first.answered(RESULT)
    (record,) = await bench.records()
    assert abs(time.time() - datetime.fromisoformat(record["time"]).timestamp()) < 60
    assert record["time"][-6] in "+-"
    seconds = record.pop("seconds", 0.0)
    assert 0 <= seconds < 60
    assert {key: value for key, value in record.items() if key not in ("time", "run")} == {
        "pid": os.getpid(),
        "number": 1,
        "method": "tools/call",
        "toolbox": "dev",
        "server": "git",
        "name": "status",
        "outcome": "answered",
        "request_bytes": 8,
        "response_bytes": len(RESULT),
        "principal": "alice",
        "client": "cursor",
        "parent": 7,
        "sources": ["dev/crm", "ops/logs"],
        "decision": "ask",
        "rule": '"*": "ask" of toolbox dev',
        "decided_by": "user",
    }


async def test_every_call_is_recorded_once_however_it_ends(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for outcome in ("asked", "cancelled", "client_gone"):
        bench.begin().close(outcome)
    bench.begin().failed(RequestTimeout(1.0, capped=False))
    bench.begin().failed(CallRefused("status", "git", "dev", "not today"))
    bench.call(result=b'{"content":[],"isError":true}')
    for _ in range(1000):
        bench.call()
    nowhere = LostCall("tools/call", ("dev", "gut"), "status", "alice", "cursor", b"{}")
    bench.door.turn_away(nowhere, ServerNotFound("gut", "dev", ["git"], disabled=False))
    records = await bench.records()
    late = bench.begin()
    late.close("client_gone")  # as a parked call over HTTP, whose client is told last
    records = read(tmp_path)
    assert [record["number"] for record in records] == list(range(1, len(records) + 1))
    ends = [(record["outcome"], record.get("error", "")) for record in records]
    assert ends[:6] == [
        *(("asked", ""), ("cancelled", ""), ("client_gone", ""), ("timed_out", "RequestTimeout")),
        *(("refused", "CallRefused"), ("tool_error", "")),
    ]
    assert ends[6:] == [*[("answered", "")] * 1000, ("refused", "ServerNotFound"), ("client_gone", "")]


async def test_calls_to_nowhere_are_not_counted_among_tools() -> None:
    counts = CallCounts()
    door = Door(observers=[counts])
    nowhere = LostCall("tools/call", ("dev", "gut"), "status", "", "", b"{}")
    door.turn_away(nowhere, ServerNotFound("gut", "dev", ["git"], disabled=False))
    assert counts.snapshot() == {}


async def test_no_secret_is_recorded_in_any_member_also_if_it_is_added_later(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "full")
    body = json.dumps({"a": SECRET, SECRET: 1, "list": [f"x{SECRET}"], "number": 12345678}).encode()
    for _ in range(2):
        record = bench.begin(SECRET, body, principal=SECRET)
        record.decision = CallDecision("deny", f"{SECRET} says so")
        record.answered(msgspec.Raw(body))
        bench.log_handler.hide(Secrets({"12345678": "<env PIN>"}))
    one, two = await bench.records()
    assert SECRET not in json.dumps([one, two])
    masked = {"a": "<env TOKEN>", "<env TOKEN>": "***", "list": ["x<env TOKEN>"]}
    assert two["arguments"] == two["result"] == {**masked, "number": "<env PIN>"}
    assert (two["name"], two["rule"]) == ("<env TOKEN>", "<env TOKEN> says so")


async def test_the_address_of_a_resource_is_recorded_without_its_password_and_tokens(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for method in ("resources/read", "tools/call"):
        record = bench.begin("mem://u:s3cr3tpw@host/x?token=abcd")
        record.method = method
        record.answered(msgspec.Raw(b"{}"))
    resource, tool = await bench.records()
    assert resource["name"] == "mem://u:***@host/x?token=***"
    # The name of a tool is no address, and has to be recognised.
    assert tool["name"] == "mem://u:s3cr3tpw@host/x?token=abcd"


async def test_a_secret_that_is_spelled_with_escapes_is_masked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "full")
    escaped = "".join(f"\\u{ord(character):04x}" for character in SECRET)
    body = f'{{"a": "{escaped}", "{escaped}": [1]}}'.encode()
    bench.call(arguments=body, result=body)
    (record,) = await bench.records()
    assert record["arguments"] == record["result"]
    assert SECRET not in json.dumps(record)


async def test_hostile_names_cost_no_record(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    names = ["\ud800", "a\n{}\x1b[2J\0", "x" * 10_000_000, "\U0010ffff" * 300, "plain"]
    for name in names:
        record = bench.begin(name, principal=name)
        record.decision = CallDecision("deny", name)
        record.sources = ((name, name),)
        record.failed(CallRefused(name, "git", "dev", "not today"))
    records = await bench.records()
    assert [record["number"] for record in records] == [1, 2, 3, 4, 5]
    assert [record.get("name", "")[:5] for record in records][:3] == ["", "a {}", "xxxxx"]
    assert records[4]["sources"] == ["plain/plain"]
    assert max(len(json.dumps(record, ensure_ascii=False)) for record in records) < 2000


async def test_the_level_says_how_much_is_recorded_and_can_change(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "off")
    assert bench.door.on_end == (bench.door.on_end[0],)
    levels: list[AuditLevel] = ["off", "metadata", "arguments", "full", "full", "metadata", "off"]
    for level in levels:
        bench.audit.set_level(level)
        bench.call(level, b'{"a":1}')
    found = [(it["name"], it.get("arguments"), it.get("result")) for it in await bench.records()]
    result = json.loads(bytes(RESULT))
    assert found == [
        ("metadata", None, None),
        ("arguments", {"a": 1}, None),
        *[("full", {"a": 1}, result)] * 2,
        ("metadata", None, None),
    ]


async def test_a_call_in_flight_is_recorded_at_the_level_of_its_beginning(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    levels: list[AuditLevel] = ["metadata", "off", "full", "arguments", "off"]
    calls = []
    for level in levels:
        bench.audit.set_level(level)
        calls.append(bench.begin(level, b'{"a":1}'))
    bench.audit.set_level("full")
    for call in calls:
        call.answered(RESULT)
    found = [(it["name"], it.get("arguments"), it.get("result")) for it in await bench.records()]
    assert found == [
        ("metadata", None, None),
        ("full", {"a": 1}, json.loads(bytes(RESULT))),
        ("arguments", {"a": 1}, None),
    ]


async def test_bodies_are_bounded_and_values_of_secret_keys_and_tokens_masked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "full")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    cut = f"{'long ' * 396}\n{token}{'long ' * 400}"
    keys = {"password": "x", "apiKey": "y", "Authorization": "z", "nested": [{"client_secret": {"a": 1}}]}
    bench.call(arguments=json.dumps({**keys, "text": "long " * 1000, "max_tokens": 5}).encode())
    bench.call(arguments=json.dumps({"command": f"curl -H 'X: {token}'", "cut": cut}).encode())
    bench.call(arguments=b'["%b"]' % (b"x" * 300_000), result=json.dumps({"a": ["y" * 1000] * 150}).encode())
    bench.call(arguments=b"[" * 500 + b"]" * 500, result=b"nonsense")
    records = await bench.records()
    shown = records[0]["arguments"]
    assert shown.pop("text") == f"{'long ' * 400}… (3,000 characters left out)"
    assert shown == {
        **dict.fromkeys(("password", "apiKey", "Authorization"), "***"),
        "nested": [{"client_secret": "***"}],
        "max_tokens": 5,
    }
    assert records[1]["arguments"]["command"] == "curl -H 'X: ***'"
    assert token[:8] not in json.dumps(records[1])
    assert records[2]["arguments"] == "(left out: 300,004 bytes)"
    assert records[3]["result"] == "(left out: no valid JSON)"
    assert max(len(json.dumps(record)) for record in records) < 66_000


async def test_secrets_in_the_texts_of_a_result_are_masked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "full")
    text = '{"user": "ada", "password": "s3cr3t-word"} then https://ada:s3cr3t-word@host/?token=s3cr3t-word'
    bench.call(result=json.dumps({"content": [{"type": "text", "text": text}]}).encode())
    (record,) = await bench.records()
    shown = record["result"]["content"][0]["text"]
    assert "s3cr3t-word" not in shown
    assert shown.startswith('{"user": "ada", "password": ')


async def test_other_observers_do_not_keep_bodies_alive(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "full")
    record = bench.begin(arguments=b'{"a":1}')
    record.answered(RESULT)
    assert (record.arguments, record.result) == (None, None)
    await bench.audit.close()


async def test_nothing_is_made_before_the_first_call_nor_without_an_audit(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    await Bench(tmp_path).audit.close()
    off = Bench(tmp_path, "off")
    off.call()
    assert (await off.records(), set(threading.enumerate()) - before) == ([], set())
    assert not directory(tmp_path).exists()


async def test_the_thread_ends_with_the_workbench(tmp_path: Path) -> None:
    before = set(threading.enumerate())  # and not their number: threads of earlier tests may end meanwhile
    bench = Bench(tmp_path)
    bench.call()
    assert len(await bench.records()) == 1
    await poll(lambda: before.issuperset(threading.enumerate()))


async def test_an_outage_is_said_once_and_what_is_missing_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audit_writer, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(audit_writer, "MAX_WAITING_IN_OUTAGE", 5)
    directory(tmp_path).parent.mkdir()
    directory(tmp_path).write_bytes(b"")
    bench = Bench(tmp_path)
    bench.call("before")
    await poll(lambda: caplog.messages)
    for number in range(10):
        bench.call(f"meanwhile {number}")
        bench.audit._hand_over()
    directory(tmp_path).unlink()
    await poll(lambda: len(caplog.messages) == 2)
    assert [record["name"] for record in await bench.records() if "name" in record] == [
        *("before", *(f"meanwhile {number}" for number in range(4))),
    ]
    assert [record["missing"] for record in read(tmp_path) if "missing" in record] == [6]
    assert caplog.messages == [
        f"{NOT_RECORDED}Not a directory: {directory(tmp_path)}",
        "the audit can be written again: 6 calls are missing in it",
    ]


async def test_what_could_never_be_written_is_said_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory(tmp_path).parent.mkdir()
    directory(tmp_path).write_bytes(b"")
    bench = Bench(tmp_path)
    for _ in range(3):
        bench.call()
    began = time.monotonic()
    await bench.audit.close()
    assert time.monotonic() - began < CLOSE_SECONDS
    assert caplog.messages[1:] == [
        f"3 calls were not recorded in the audit: Not a directory: {directory(tmp_path)}"
    ]


async def test_a_disk_that_hangs_delays_neither_a_call_nor_the_end_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp_workbench.serve.audit.call_audit.CLOSE_SECONDS", 0.2)
    bench = Bench(tmp_path)
    directory(tmp_path).mkdir(parents=True)
    file = directory(tmp_path) / "calls-000001.jsonl"
    file.write_bytes(line(1))
    file.chmod(0o600)
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as a process that hangs in the middle of a write
        began = time.monotonic()
        for _ in range(2000):
            bench.call()
        await bench.audit.close()
        bench.call("later")
        assert time.monotonic() - began < 2
        assert len(read(tmp_path)) == 1
        assert caplog.records[0].levelno == logging.WARNING
    await poll(lambda: len(read(tmp_path)) >= 2001)


async def test_a_flood_beyond_all_bounds_is_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audit_writer, "MAX_WAITING", 400)
    bench = Bench(tmp_path)
    for _ in range(1000):
        bench.call()
    records = await bench.records()
    assert len([record for record in records if "name" in record]) == 400
    assert records[-1]["missing"] == 600
    assert caplog.messages == [TOO_FAST]


async def test_long_names_wait_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_writer, "MAX_WAITING_BYTES", 500_000)
    bench = Bench(tmp_path)
    for _ in range(1000):
        bench.call("\U0001f6e0" * 200)  # 800 bytes
    records = await bench.records()
    assert sum(record.get("missing", 1) for record in records) == 1000
    assert sum(len(json.dumps(record)) for record in records) < 3_000_000


async def test_a_disk_that_takes_only_some_lines_gets_none_of_them_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_writer, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(audit_writer, "MAX_WAITING", 400)
    append, attempts = AuditFiles.append, iter(range(1000))

    def refuse_every_other(files: AuditFiles, data: bytes) -> None:
        if next(attempts) % 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(files, data)

    monkeypatch.setattr(AuditFiles, "append", refuse_every_other)
    bench = Bench(tmp_path)
    for _ in range(1000):
        bench.call()
    await poll(lambda: len(read(tmp_path)) > 400)
    numbers = [record["number"] for record in await bench.records() if "number" in record]
    assert numbers == list(range(1, 401))


async def test_two_workbenches_of_a_process_record_side_by_side(tmp_path: Path) -> None:
    one, two = Bench(tmp_path), Bench(tmp_path)
    one.call()
    two.call()
    await asyncio.gather(one.audit.close(), two.audit.close())
    runs = {(record["run"], record["number"]) for record in read(tmp_path)}
    assert len(runs) == 2
    assert {number for _, number in runs} == {1}
