"""What a workbench has recorded when it ends, however it ends."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.storage.audit.lines import directory, read
from tests.support.client import write_config
from tests.support.configs import server, toolboxes
from tests.support.sessions import LegacySession, ModernSession, failure_of, text_of
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect, Start

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("way", ["EOF", "SIGTERM", "SIGKILL"])
async def test_all_calls_are_recorded_at_an_orderly_end_and_whole_lines_at_any(
    start: Start, tmp_path: Path, way: str
) -> None:
    config = toolboxes(dev={"echo": server()})
    session = LegacySession(await start(config, env={"XDG_DATA_HOME": str(tmp_path)}))
    await session.greet()
    for number in range(5):
        await session.use_tool("dev", "echo", "echo", {"a": number})
    if way == "SIGKILL":
        await poll(lambda: len(read(tmp_path)) == 5)
        session.client.process.kill()
        await session.client.wait_exit()
        assert [record["outcome"] for record in read(tmp_path)] == ["answered"] * 5
        return
    ended = await (session.client.close() if way == "EOF" else session.client.signal(signal.SIGTERM))
    assert ended.code == 0
    records = read(tmp_path)
    assert [record["outcome"] for record in records] == ["answered"] * 5
    assert {(it["toolbox"], it["server"], it["name"], it["client"]) for it in records} == {
        ("dev", "echo", "echo", records[0]["client"])
    }


async def test_without_an_audit_in_the_configuration_no_argument_and_no_result_is_recorded(
    connect: Connect, tmp_path: Path
) -> None:
    session = await connect(toolboxes(dev={"echo": server()}), env={"XDG_DATA_HOME": str(tmp_path)})
    arguments = {"the-key": "the-value"}
    told = text_of(await session.use_tool("dev", "echo", "echo", arguments))
    assert json.loads(told) == arguments
    await session.client.close()
    (record,) = read(tmp_path)
    assert record.keys() == {
        *("time", "run", "pid", "number", "method", "toolbox", "server", "name"),
        *("outcome", "seconds", "request_bytes", "response_bytes", "client"),
    }
    written = b"".join(file.read_bytes() for file in directory(tmp_path).rglob("*") if file.is_file())
    assert b"the-" not in written


async def test_a_file_that_is_moved_away_while_calls_are_recorded_costs_no_record(
    start: Start, tmp_path: Path
) -> None:
    session = ModernSession(
        await start(toolboxes(dev={"echo": server()}), env={"XDG_DATA_HOME": str(tmp_path)})
    )
    newest = directory(tmp_path) / "calls-000001.jsonl"
    for rotation in range(1, 4):
        for _ in range(50):
            await session.use_tool("dev", "echo", "echo", {})
        await poll(newest.exists)
        newest.rename(newest.with_name(f"calls.log.{rotation}"))  # as logrotate does
    await session.use_tool("dev", "echo", "echo", {})
    await session.client.close()
    assert sorted(record["number"] for record in read(tmp_path)) == list(range(1, 152))
    assert newest.exists()


async def test_a_call_to_a_server_that_does_not_exist_is_recorded_once(
    connect: Connect, tmp_path: Path
) -> None:
    config = toolboxes(dev={"echo": server()})
    session = await connect(config, env={"XDG_DATA_HOME": str(tmp_path)})
    for toolbox, name in (("dev", "nobody"), ("nowhere", "echo")):
        assert "not found" in failure_of(await session.use_tool(toolbox, name, "echo", {"a": 1}))
    for method, params in (
        ("resources/read", {"uri": "workbench:dev/nobody/test://one"}),
        ("prompts/get", {"name": "nowhere/echo/one"}),
    ):
        assert "not found" in (await session.request(method, params))["error"]["message"]
    await session.client.close()
    found = [
        (it["method"], it["toolbox"], it["server"], it["name"], it["outcome"], it["error"])
        for it in read(tmp_path)
    ]
    assert found == [
        ("tools/call", "dev", "nobody", "echo", "refused", "ServerNotFound"),
        ("tools/call", "nowhere", "echo", "echo", "refused", "ToolboxNotFound"),
        ("resources/read", "dev", "nobody", "test://one", "refused", "ServerNotFound"),
        ("prompts/get", "nowhere", "echo", "one", "refused", "ToolboxNotFound"),
    ]


async def test_a_reload_switches_the_audit_on(start: Start, tmp_path: Path) -> None:
    config = toolboxes(dev={"echo": server()})
    client = await start({**config, "audit": "off"}, env={"XDG_DATA_HOME": str(tmp_path)})
    session = ModernSession(client)
    await session.use_tool("dev", "echo", "echo", {})
    write_config(tmp_path, {**config, "audit": "arguments"})
    await client.wait_for_stderr("the configuration is reloaded")
    assert not directory(tmp_path).exists()
    await session.use_tool("dev", "echo", "echo", {"a": 1})
    await client.close()
    assert [record["arguments"] for record in read(tmp_path)] == [{"a": 1}]
