"""Sessions of legacy clients: how they begin, which principal they belong to, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.serve.http.raw_clients import Legacy, Modern
from tests.support.sessions import result_of

if TYPE_CHECKING:
    from tests.serve.http.conftest import SharedWorkbench

pytestmark = pytest.mark.asyncio(loop_scope="module")

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_both_eras_are_served_at_one_place_at_once(shared_workbench: SharedWorkbench) -> None:
    legacy, modern = await shared_workbench.legacy(), await shared_workbench.modern()
    for _ in range(3):
        for client in (legacy, modern):
            response = await client.send("tools/list")
            tools = result_of(await response.json())["tools"]
            assert [tool["name"] for tool in tools] == ["open_toolbox", "use_tool"]


async def test_ids_of_sessions_differ_and_are_long_and_visible_ascii(
    shared_workbench: SharedWorkbench,
) -> None:
    ids = [(await shared_workbench.legacy()).headers["Mcp-Session-Id"] for _ in range(20)]
    assert len(set(ids)) == 20
    assert all(len(it) >= 43 and it.isascii() and it.isprintable() for it in ids)
    beginnings = {it[:6] for it in ids}
    assert len(beginnings) == 20


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_version_is_answered_in_kind(shared_workbench: SharedWorkbench, version: str) -> None:
    client = Legacy(shared_workbench.url)
    async with client:
        assert (await client.greet(version))["protocolVersion"] == version


async def test_a_failed_handshake_begins_no_session(shared_workbench: SharedWorkbench) -> None:
    new_client = await shared_workbench.new_client()
    response = await new_client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert "mcp-session-id" not in response.headers
    assert (await response.json())["error"]["code"] == -32602


async def test_without_a_session_a_legacy_request_is_refused(shared_workbench: SharedWorkbench) -> None:
    new_client = await shared_workbench.new_client()
    for message in (PING, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
        response = await new_client.post(message)
        assert response.status == 400
        assert "Mcp-Session-Id" in (await response.json())["error"]["message"]
    for method in ("GET", "DELETE"):
        assert (await new_client.ask(method, {"Accept": "text/event-stream"})).status == 400


async def test_a_session_that_is_not_there_is_not_found(shared_workbench: SharedWorkbench) -> None:
    new_client = await shared_workbench.new_client()
    new_client.headers["Mcp-Session-Id"] = "0" * 43
    response = await new_client.post(PING)
    assert response.status == 404
    assert (await response.json())["id"] == 1
    assert (await new_client.ask("GET", {"Accept": "text/event-stream"})).status == 404
    assert (await new_client.ask("DELETE")).status == 404


async def test_a_session_that_was_ended_is_not_found_any_more(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    other = await shared_workbench.legacy()
    gone = await client.ask("DELETE")
    assert gone.status == 204
    assert "content-length" not in gone.headers
    assert (await client.post(PING)).status == 404
    assert (await client.ask("DELETE")).status == 404
    assert (await other.post(PING)).status == 200


async def test_ending_a_session_ends_its_streams_and_its_calls(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    stream = await client.listen()
    calling = await client.call({"progress": {"steps": 1}}, {"hang": True}, meta={"progressToken": 1})
    await calling.next_message()
    await client.ask("DELETE")
    assert await stream.messages() == []
    assert await calling.messages() == []
    await shared_workbench.journals["legacy"].wait_until(lambda it: it.events("cancelled"))


async def test_a_request_with_the_id_of_one_in_flight_is_refused(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    await client.call({"progress": {"steps": 1}}, {"hang": True}, request_id="x", meta={"progressToken": 1})
    again = await client.send("ping", request_id="x")
    assert again.status == 400
    await client.ask("DELETE")


async def test_an_unknown_version_in_the_header_is_refused(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    client.headers["MCP-Protocol-Version"] = "1999-01-01"
    response = await client.post(PING)
    assert response.status == 400


async def test_a_session_may_leave_the_version_out_of_its_requests(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    del client.headers["MCP-Protocol-Version"]
    assert result_of(await (await client.post(PING)).json()) == {}


async def test_a_modern_request_does_not_mind_a_session_id(shared_workbench: SharedWorkbench) -> None:
    """A client that used a legacy version before may still send it."""
    client = Modern(shared_workbench.url)
    async with client:
        client.headers["Mcp-Session-Id"] = "none"
        assert (await client.send("tools/list")).status == 200
