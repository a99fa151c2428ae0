"""Everything that we send keeps the protocol's own schema, towards clients and towards servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.structure.schemas import LEGACY_VERSIONS, MODERN_VERSION, faults
from tests.support.configs import server, tool, toolboxes
from tests.support.sessions import LegacySession, ModernSession, Session, failure_of, text_of

if TYPE_CHECKING:
    from tests.conftest import Start
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era

REQUESTS_AND_NOTIFICATIONS = {
    "initialize": "InitializeRequest",
    "notifications/cancelled": "CancelledNotification",
    "notifications/initialized": "InitializedNotification",
    "server/discover": "DiscoverRequest",
    "subscriptions/listen": "SubscriptionsListenRequest",
    "tools/call": "CallToolRequest",
    "tools/list": "ListToolsRequest",
}


def counting(era: Era, journal: Journal | None = None) -> Json:
    """A server with a tool that reports progress, and one that hangs until it is cancelled."""
    tools = [tool("count"), tool("hang")]
    counts, hangs = {"do": "progress", "steps": 2}, {"do": "hang"}
    return server(journal, era=era, tools=tools, behaviours={"count": counts, "hang": hangs})


@pytest.fixture(params=[*LEGACY_VERSIONS, MODERN_VERSION])
def version(request: pytest.FixtureRequest) -> str:
    asked: str = request.param
    return asked


@pytest.fixture
async def session(version: str, start: Start) -> Session:
    boxed = {"legacy": counting("legacy"), "modern": counting("modern"), "broken": server(exit=3)}
    client = await start(toolboxes(dev=boxed))
    session = ModernSession(client) if version == MODERN_VERSION else LegacySession(client, version)
    await session.greet()
    return session


async def test_what_a_client_is_told_at_first_keeps_the_schema(session: Session, version: str) -> None:
    definition = "DiscoverResult" if version == MODERN_VERSION else "InitializeResult"
    listed = await session.request("tools/list")
    assert faults(version, definition, session.greeting) == []
    assert faults(version, "JSONRPCResponse", listed) == []
    assert faults(version, "ListToolsResult", listed["result"]) == []


async def test_results_keep_the_schema(session: Session, version: str) -> None:
    opened = await session.open_toolbox("dev")
    refused = await session.open_toolbox("nowhere")
    by_legacy = await session.use_tool("dev", "legacy", "count")
    by_modern = await session.use_tool("dev", "modern", "count")
    by_none = await session.use_tool("dev", "broken", "count")

    assert [failed["server"] for failed in json.loads(text_of(opened))["failed_servers"]] == ["broken"]
    assert [text_of(by_legacy), text_of(by_modern)] == ["done", "done"]
    assert failure_of(refused)
    assert failure_of(by_none)
    for result in (opened, refused, by_legacy, by_modern, by_none):
        assert faults(version, "CallToolResult", result) == []


async def test_progress_keeps_the_schema(session: Session, version: str) -> None:
    await session.use_tool("dev", "legacy", "count", meta={"progressToken": "mine"})
    await session.use_tool("dev", "modern", "count", meta={"progressToken": 7})
    sent = session.client.notifications
    assert [message["params"]["progressToken"] for message in sent] == ["mine", "mine", 7, 7]
    assert [fault for message in sent for fault in faults(version, "ProgressNotification", message)] == []


async def test_errors_keep_the_schema(session: Session, version: str) -> None:
    unknown_method = await session.request("tools/discard")
    unknown_tool = await session.request("tools/call", {"name": "no_such_tool", "arguments": {}})
    for response, code in ((unknown_method, -32601), (unknown_tool, -32602)):
        assert response["error"]["code"] == code
        assert faults(version, "JSONRPCError", response) == []


async def test_a_subscription_keeps_the_schema_from_its_beginning_to_its_end(start: Start) -> None:
    session = ModernSession(await start(toolboxes()))
    await session.begin("subscriptions/listen", '{"notifications":{}}', request_id="ear")
    await session.client.wait_for(lambda message: "method" in message)
    await session.client.close()
    (acknowledged,) = session.client.notifications
    (ended,) = (message["result"] for message in session.client.received if message.get("id") == "ear")
    assert faults(MODERN_VERSION, "SubscriptionsAcknowledgedNotification", acknowledged) == []
    assert faults(MODERN_VERSION, "SubscriptionsListenResult", ended) == []


async def test_the_refusal_of_a_version_keeps_the_schema(start: Start) -> None:
    session = ModernSession(await start(toolboxes()), "2099-01-01")
    refused = await session.request("server/discover")
    assert faults(MODERN_VERSION, "UnsupportedProtocolVersionError", refused) == []


async def test_what_a_server_is_sent_keeps_the_schema(
    start: Start, journal: Journal, server_era: Era
) -> None:
    session = LegacySession(await start(toolboxes(dev={"real": counting(server_era, journal)})))
    await session.greet()
    await session.use_tool("dev", "real", "count", {"a": 1}, meta={"progressToken": 1, "vendor/key": {}})
    await session.begin_tool("dev", "real", "hang", request_id="hanging")
    await journal.wait_for_call(2)
    await session.client.notify("notifications/cancelled", {"requestId": "hanging"})
    await journal.wait_until(lambda journal: journal.messages("notifications/cancelled"))

    # The server is tried in its client's version first.
    handshake = {"notifications/initialized"} if server_era == "legacy" else {"server/discover"}
    plain = {"initialize", "tools/list", "tools/call", "notifications/cancelled"}
    sent = [json.loads(line) for line in journal.lines]
    assert {message["method"] for message in sent} - {"subscriptions/listen"} == plain | handshake
    for message in sent:
        modern = server_era == "modern" and message["method"] != "initialize"
        version = MODERN_VERSION if modern else LEGACY_VERSIONS[-1]
        assert faults(version, REQUESTS_AND_NOTIFICATIONS[message["method"]], message) == []


def test_the_schemas_find_fault_with_what_is_wrong() -> None:
    no_tools = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    assert faults(MODERN_VERSION, "ListToolsResult", no_tools) == [
        "ListToolsResult $: 'tools' is a required property"
    ]
