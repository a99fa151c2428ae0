"""Sessions of the older era: how they begin, whose they are, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.serve.http.visitors import Legacy, Modern
from tests.support.sessions import result_of

if TYPE_CHECKING:
    from tests.serve.http.conftest import House

pytestmark = pytest.mark.asyncio(loop_scope="module")

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_both_eras_are_served_at_one_place_at_once(house: House) -> None:
    legacy, modern = await house.legacy(), await house.modern()
    for _ in range(3):
        for visitor in (legacy, modern):
            response = await visitor.send("tools/list")
            tools = result_of(await response.json())["tools"]
            assert [tool["name"] for tool in tools] == ["open_toolbox", "use_tool"]


async def test_ids_of_sessions_differ_and_are_long_and_visible_ascii(house: House) -> None:
    ids = [(await house.legacy()).headers["Mcp-Session-Id"] for _ in range(20)]
    assert len(set(ids)) == 20
    assert all(len(it) >= 43 and it.isascii() and it.isprintable() for it in ids)
    beginnings = {it[:6] for it in ids}
    assert len(beginnings) == 20


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_version_is_answered_in_kind(house: House, version: str) -> None:
    visitor = Legacy(house.url)
    async with visitor:
        assert (await visitor.greet(version))["protocolVersion"] == version


async def test_a_failed_handshake_begins_no_session(house: House) -> None:
    stranger = await house.stranger()
    response = await stranger.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert "mcp-session-id" not in response.headers
    assert (await response.json())["error"]["code"] == -32602


async def test_without_a_session_a_legacy_request_is_refused(house: House) -> None:
    stranger = await house.stranger()
    for message in (PING, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
        response = await stranger.post(message)
        assert response.status == 400
        assert "Mcp-Session-Id" in (await response.json())["error"]["message"]
    for method in ("GET", "DELETE"):
        assert (await stranger.ask(method, {"Accept": "text/event-stream"})).status == 400


async def test_a_session_that_is_not_there_is_not_found(house: House) -> None:
    stranger = await house.stranger()
    stranger.headers["Mcp-Session-Id"] = "0" * 43
    response = await stranger.post(PING)
    assert response.status == 404
    assert (await response.json())["id"] == 1
    assert (await stranger.ask("GET", {"Accept": "text/event-stream"})).status == 404
    assert (await stranger.ask("DELETE")).status == 404


async def test_a_session_that_was_ended_is_not_found_any_more(house: House) -> None:
    visitor = await house.legacy()
    other = await house.legacy()
    gone = await visitor.ask("DELETE")
    assert gone.status == 204
    assert "content-length" not in gone.headers
    assert (await visitor.post(PING)).status == 404
    assert (await visitor.ask("DELETE")).status == 404
    assert (await other.post(PING)).status == 200


async def test_ending_a_session_ends_its_streams_and_its_calls(house: House) -> None:
    visitor = await house.legacy()
    stream = await visitor.listen()
    calling = await visitor.call({"progress": {"steps": 1}}, {"hang": True}, meta={"progressToken": 1})
    await calling.next_message()
    await visitor.ask("DELETE")
    assert await stream.messages() == []
    assert await calling.messages() == []
    await house.journals["legacy"].wait_until(lambda it: it.events("cancelled"))


async def test_a_request_with_the_id_of_one_in_flight_is_refused(house: House) -> None:
    visitor = await house.legacy()
    await visitor.call({"progress": {"steps": 1}}, {"hang": True}, request_id="x", meta={"progressToken": 1})
    again = await visitor.send("ping", request_id="x")
    assert again.status == 400
    await visitor.ask("DELETE")


async def test_an_unknown_version_in_the_header_is_refused(house: House) -> None:
    visitor = await house.legacy()
    visitor.headers["MCP-Protocol-Version"] = "1999-01-01"
    response = await visitor.post(PING)
    assert response.status == 400


async def test_a_session_may_leave_the_version_out_of_its_requests(house: House) -> None:
    visitor = await house.legacy()
    del visitor.headers["MCP-Protocol-Version"]
    assert result_of(await (await visitor.post(PING)).json()) == {}


async def test_a_modern_request_does_not_mind_a_session_id(house: House) -> None:
    """A client that was of the older era before may still send it."""
    visitor = Modern(house.url)
    async with visitor:
        visitor.headers["Mcp-Session-Id"] = "none"
        assert (await visitor.send("tools/list")).status == 200
