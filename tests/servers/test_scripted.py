"""The scripted server itself, spoken to directly: a test double that lies would prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import pytest

from tests.servers.scripted import MODERN_VERSION, Script, members
from tests.support.client import RawClient, clean_environment
from tests.support.configs import server, tool
from tests.support.processes import is_running, wait_until_gone
from tests.support.sessions import LegacySession, ModernSession, session_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.journal import Journal
    from tests.support.sessions import Era


def directly(home: Path, journal: Journal, **script: Unpack[Script]) -> RawClient:
    entry = server(journal, **script)
    return RawClient([entry["command"], *entry["args"]], clean_environment(home))


async def test_it_serves_either_era_and_echoes_the_arguments_as_they_came(
    tmp_path: Path, journal: Journal, server_era: Era
) -> None:
    async with directly(tmp_path, journal, era=server_era) as client:
        session = session_of(server_era, client)
        await session.greet()
        (listed,) = await session.list_tools()
        reply = await session.exchange("tools/call", '{"name":"echo","arguments":{"b" : 1.0, "a":1e400}}')
    assert listed["name"] == "echo"
    assert text_of(reply.message["result"]) == '{"b" : 1.0, "a":1e400}'
    (methods,) = journal.lives
    assert methods[-2:] == ["tools/list", "tools/call"]


async def test_a_legacy_server_refuses_the_probe_and_a_modern_one_refuses_the_handshake(
    tmp_path: Path, journal: Journal
) -> None:
    async with directly(tmp_path, journal, era="legacy") as client:
        refusal = await ModernSession(client).request("server/discover")
    assert refusal["error"]["code"] == -32602
    async with directly(tmp_path, journal, era="modern") as client:
        refusal = await client.request("initialize", {"protocolVersion": "2025-11-25"})
    assert refusal["error"]["data"] == {"supported": [MODERN_VERSION], "requested": "2025-11-25"}


async def test_a_silent_server_takes_the_handshake_after_a_probe_that_it_ignored(
    tmp_path: Path, journal: Journal
) -> None:
    async with directly(tmp_path, journal, era="silent-legacy") as client:
        probe = await ModernSession(client).begin("server/discover")
        await LegacySession(client).greet()
        assert not probe.done()
        probe.cancel()


async def test_a_server_that_dies_on_the_probe_leaves_with_code_1(tmp_path: Path, journal: Journal) -> None:
    async with directly(tmp_path, journal, era="dies-on-probe") as client:
        probe = await ModernSession(client).begin("server/discover")
        with pytest.raises(ConnectionError):
            await probe
        assert (await client.wait_exit()).code == 1


async def test_a_changed_tool_list_is_announced_and_listed_in_pages(
    tmp_path: Path, journal: Journal, server_era: Era
) -> None:
    script = {"grow": {"do": "change_tools", "tools": [tool("a"), tool("b"), tool("c")]}}
    async with directly(tmp_path, journal, era=server_era, page_size=2, behaviours=script) as client:
        session = session_of(server_era, client)
        await session.greet()
        if server_era == "modern":
            await session.begin("subscriptions/listen", '{"notifications":{"toolsListChanged":true}}')
        await session.request("tools/call", {"name": "grow", "arguments": {}})
        await client.wait_for(lambda message: message.get("method") == "notifications/tools/list_changed")
        first = (await session.request("tools/list"))["result"]
        last = (await session.request("tools/list", {"cursor": first["nextCursor"]}))["result"]
    assert [it["name"] for it in first["tools"] + last["tools"]] == ["a", "b", "c"]
    assert "nextCursor" not in last


async def test_a_stubborn_server_outlives_the_end_of_its_input_with_its_grandchild(
    tmp_path: Path, journal: Journal
) -> None:
    script: Script = {"ignore_term": True, "ignore_eof": True, "grandchild": True}
    async with directly(tmp_path, journal, **script) as client:
        await LegacySession(client).greet()
        assert client.process.stdin is not None
        client.process.stdin.close()
        await journal.wait_until(lambda it: it.events("eof"))
        client.process.terminate()
        await journal.wait_until(lambda it: it.events("sigterm"))
        assert len(journal.pids) == 2
        assert all(is_running(pid) for pid in journal.pids)
        client.kill_group()
        assert (await client.wait_exit()).code == -9
        await wait_until_gone(journal.pids)


def test_members_keep_the_text_of_each_value() -> None:
    line = ' { "a" : [1.0, {"x":"}"}] ,"b":"\\u00e9\\"", "c":{ } }'
    assert members(line) == {"a": '[1.0, {"x":"}"}]', "b": '"\\u00e9\\""', "c": "{ }"}
    assert members("{}") == {}
