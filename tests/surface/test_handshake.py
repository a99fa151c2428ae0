"""The handshake of legacy clients and the discovery of modern ones, which may share one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.scripted import LEGACY_VERSIONS, MODERN_VERSION, RESERVED, SUBSCRIPTION
from tests.support.configs import server, toolboxes
from tests.support.sessions import NEWEST_LEGACY, LegacySession, ModernSession, names, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect, Start

CAPABILITIES = {
    "tools": {"listChanged": True},
    "logging": {},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
}
CONFIG = toolboxes(dev={"files": server()})


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
async def test_a_known_legacy_version_is_answered_in_kind(start: Start, version: str) -> None:
    greeting = await LegacySession(await start(CONFIG), version).greet()
    assert greeting["protocolVersion"] == version


@pytest.mark.parametrize("version", ["1999-01-01", "2030-01-01", MODERN_VERSION, ""])
async def test_any_other_version_is_offered_our_newest_legacy_one(start: Start, version: str) -> None:
    greeting = await LegacySession(await start(CONFIG), version).greet()
    assert greeting["protocolVersion"] == NEWEST_LEGACY


async def test_the_handshake_says_who_we_are_and_what_we_can(start: Start) -> None:
    greeting = await LegacySession(await start(CONFIG)).greet()
    assert greeting["serverInfo"]["name"] == "mcp-workbench"
    assert greeting["serverInfo"]["version"]
    assert greeting["capabilities"] == CAPABILITIES
    assert greeting["instructions"].startswith("Available Toolboxes:")


async def test_without_a_server_there_is_nothing_but_our_tools(start: Start) -> None:
    client = await start({"toolboxes": {}})
    greeting = await LegacySession(client).greet()
    found = await ModernSession(client).greet()
    assert greeting["capabilities"] == found["capabilities"] == {"tools": {"listChanged": True}}


async def test_discovery_says_who_we_are_and_what_we_can(start: Start) -> None:
    found = await ModernSession(await start(CONFIG)).greet()
    assert found["resultType"] == "complete"
    assert MODERN_VERSION in found["supportedVersions"]
    assert found["capabilities"] == CAPABILITIES
    assert found["instructions"].startswith("Available Toolboxes:")
    assert found["ttlMs"] >= 0
    assert found["cacheScope"] in ("public", "private")
    assert found["_meta"][RESERVED + "serverInfo"]["name"] == "mcp-workbench"


async def test_both_eras_read_the_same_instructions(start: Start) -> None:
    client = await start(CONFIG)
    legacy, modern = await LegacySession(client).greet(), await ModernSession(client).greet()
    assert legacy["instructions"] == modern["instructions"]


async def test_a_ping_is_answered_before_the_handshake(start: Start) -> None:
    client = await start(CONFIG)
    answer = await client.request("ping", request_id="early")
    assert answer == {"jsonrpc": "2.0", "id": "early", "result": {}}


@pytest.mark.parametrize("request_id", [0, 7, -1, 2**53, "7", "", "é\n\"'"])
async def test_an_answer_carries_the_very_id_of_its_request(start: Start, request_id: object) -> None:
    client = await start(CONFIG)
    assert await client.request("ping", {}, request_id) == {"jsonrpc": "2.0", "id": request_id, "result": {}}


async def test_a_modern_client_may_skip_discovery(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    assert text_of(await session.use_tool("dev", "files", "echo", {"a": 1})) == '{"a": 1}'


async def test_both_eras_work_in_turn_on_one_connection(start: Start) -> None:
    client = await start(CONFIG)
    modern, legacy = ModernSession(client), LegacySession(client)
    assert names(await modern.list_tools()) == ["open_toolbox", "use_tool"]
    await legacy.greet()
    for session in (legacy, modern, legacy):
        assert names(await session.list_tools()) == ["open_toolbox", "use_tool"]
        assert text_of(await session.use_tool("dev", "files", "echo", {"era": 1})) == '{"era": 1}'


async def test_every_modern_result_names_its_kind_and_its_server(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    requests = [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "open_toolbox", "arguments": {"toolbox_name": "dev"}}),
        ("tools/call", {"name": "open_toolbox", "arguments": {"toolbox_name": "nowhere"}}),
    ]
    for method, params in requests:
        result = (await session.request(method, params))["result"]
        assert result["resultType"] == "complete"
        assert result["_meta"][RESERVED + "serverInfo"]["name"] == "mcp-workbench"


async def test_the_modern_tool_list_says_how_long_it_keeps(start: Start) -> None:
    listed = (await ModernSession(await start(CONFIG)).request("tools/list"))["result"]
    assert listed["ttlMs"] >= 0
    assert listed["cacheScope"] in ("public", "private")


async def test_a_subscription_is_acknowledged_and_ended_by_us_in_good_order(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    mark = {"io.modelcontextprotocol/subscriptionId": "ear"}
    await session.begin(
        "subscriptions/listen", '{"notifications":{"toolsListChanged":true}}', request_id="ear"
    )
    await session.client.wait_for(lambda it: it.get("method", "").startswith("notifications/"))
    assert session.client.notifications == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": mark, "notifications": {"toolsListChanged": True}},
        }
    ]
    await session.client.close()
    (ended,) = (message for message in session.client.received if message.get("id") == "ear")
    assert ended["result"]["resultType"] == "complete"
    assert mark.items() <= ended["result"]["_meta"].items()


@pytest.mark.parametrize(
    ("asked", "promised"),
    [
        ("{}", {}),
        ('{"toolsListChanged":false}', {}),
        ('{"promptsListChanged":true,"tasksListChanged":true}', {"promptsListChanged": True}),
        (
            '{"toolsListChanged":true,"resourcesListChanged":true}',
            {"toolsListChanged": True, "resourcesListChanged": True},
        ),
    ],
)
async def test_a_subscription_is_promised_what_it_asks_for_and_there_is(
    start: Start, asked: str, promised: object
) -> None:
    session = ModernSession(await start(CONFIG))
    await session.begin("subscriptions/listen", f'{{"notifications":{asked}}}', request_id="ear")
    acknowledged = await session.client.wait_for(lambda it: "method" in it)
    assert acknowledged["params"]["notifications"] == promised


async def test_a_client_cannot_have_subscriptions_without_end(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    for number in range(1000):
        await session.begin("subscriptions/listen", '{"notifications":{}}', request_id=f"ear {number}")
    refused = await session.request("subscriptions/listen", {"notifications": {}})
    assert refused["error"]["code"] == -32600
    await session.client.notify("notifications/cancelled", {"requestId": "ear 0"})
    await session.begin("subscriptions/listen", '{"notifications":{}}', request_id="another")
    await session.client.wait_for(lambda it: it.get("params", {}).get("_meta") == {SUBSCRIPTION: "another"})


async def test_a_subscription_to_what_is_no_filter_is_refused(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    refused = await session.request("subscriptions/listen", {"notifications": {"toolsListChanged": "yes"}})
    assert refused["error"]["code"] == -32602


async def test_a_subscription_that_the_client_cancels_gets_no_answer(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    await session.begin("subscriptions/listen", '{"notifications":{}}', request_id="ear")
    await session.client.notify("notifications/cancelled", {"requestId": "ear"})
    await session.list_tools()
    await session.client.close()
    assert [message for message in session.client.received if message.get("id") == "ear"] == []


async def test_a_wrong_message_under_the_id_of_a_subscription_does_not_end_it(start: Start) -> None:
    session = ModernSession(await start(CONFIG))
    await session.begin("subscriptions/listen", '{"notifications":{}}', request_id="ear")
    await session.client.send({"jsonrpc": "2.0", "id": "ear", "method": 5})
    refusal = await session.client.wait_for(lambda message: "error" in message)
    assert (refusal.get("id"), refusal["error"]["code"]) == (None, -32600)


async def test_a_client_that_leaves_after_the_handshake_is_let_go(connect: Connect) -> None:
    session = await connect(CONFIG)
    assert (await session.client.close()).code == 0
