"""Whoever subscribes to a resource hears of it, and a server is asked for each resource once."""

from __future__ import annotations

import json
import os
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import toolboxes
from tests.support.sessions import result_of, session_of
from tests.support.stocks import stock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect, Start
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

URI = "test://a"
OURS = f"workbench:dev/s/{URI}"
UPDATED = "notifications/resources/updated"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
NO_SUBSCRIPTIONS: Json = {"tools": {}, "resources": {}}


async def listen(session: Session, stream: str, *uris: str) -> list[str]:
    """Opens a stream of a modern client, and returns which of the resources it will bring."""
    wanted = json.dumps({"notifications": {"resourceSubscriptions": uris}})
    await session.begin("subscriptions/listen", wanted, request_id=stream)
    first = await session.client.wait_for(lambda it: tag(it) == stream)
    assert first["method"] == "notifications/subscriptions/acknowledged"
    served: list[str] = first["params"]["notifications"].get("resourceSubscriptions", [])
    return served


def tag(message: Json) -> object:
    return message.get("params", {}).get("_meta", {}).get(SUBSCRIPTION)


async def subscribe(session: Session, *uris: str) -> None:
    if session.era == "modern":
        assert await listen(session, "stream", *uris) == [*uris]
        return
    for uri in uris:
        assert result_of(await session.request("resources/subscribe", {"uri": uri})) == {}


async def leave(session: Session, *uris: str) -> None:
    if session.era == "modern":
        await session.client.notify("notifications/cancelled", {"requestId": "stream"})
        return
    for uri in uris:
        assert result_of(await session.request("resources/unsubscribe", {"uri": uri})) == {}


async def update(session: Session, uri: str) -> None:
    await session.use_tool("dev", "s", "update", {"uri": uri})


def updates(session: Session) -> list[Json]:
    return [note["params"] for note in session.client.notifications if note["method"] == UPDATED]


def watched(journal: Journal) -> list[str]:
    """The resources that the server was asked for, however."""
    found = [message["params"]["uri"] for message in journal.messages("resources/subscribe")]
    for message in journal.messages("subscriptions/listen"):
        found += message["params"]["notifications"].get("resourceSubscriptions", [])
    return found


def left(journal: Journal) -> int:
    """How often the server was told that a resource is not wanted any more."""
    return len(journal.messages("resources/unsubscribe")) + len(journal.messages("notifications/cancelled"))


async def test_an_update_comes_once_under_the_clients_name(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, journal)}))
    await subscribe(session, OURS)
    await update(session, URI)
    expected: Json = {} if server_era == "legacy" else {"vendor/key": 1}
    if session.era == "modern":
        expected[SUBSCRIPTION] = "stream"
    assert updates(session) == [{"uri": OURS, **({"_meta": expected} if expected else {})}]
    await leave(session, OURS)
    await journal.wait_until(left)
    await update(session, URI)
    assert len(updates(session)) == 1


@pytest.mark.parametrize("part", ["/b/c", "?q=1", "#there"])
async def test_a_part_of_a_resource_is_told_under_the_clients_name(
    connect: Connect, server_era: Era, part: str
) -> None:
    """The client may have another spelling of it."""
    ours = f"workbench:%64ev/s/{URI}"
    session = await connect(toolboxes(dev={"s": stock(server_era)}))
    await subscribe(session, ours)
    await update(session, f"{URI}bc")
    await update(session, URI + part)
    assert [params["uri"] for params in updates(session)] == [ours + part]


async def test_a_client_that_wants_a_resource_and_a_part_of_it_hears_once_of_the_part(
    connect: Connect, server_era: Era
) -> None:
    """A modern server says it twice: once on each stream."""
    session = await connect(toolboxes(dev={"s": stock(server_era)}))
    await subscribe(session, OURS, f"{OURS}/b")
    await update(session, f"{URI}/b")
    assert [params["uri"] for params in updates(session)] == [f"{OURS}/b"]


async def test_one_resource_is_asked_for_once_and_left_with_the_last_who_wants_it(
    connect_modern: Connect, journal: Journal, server_era: Era
) -> None:
    modern = await connect_modern(toolboxes(dev={"s": stock(server_era, journal)}))
    legacy = session_of("legacy", modern.client)
    await legacy.greet()
    await subscribe(legacy, OURS)
    await subscribe(legacy, OURS)
    await listen(modern, "one", OURS, OURS)
    await listen(modern, "two", OURS)
    assert watched(journal) == [URI]
    await update(modern, URI)
    assert sorted(str(tag(note)) for note in modern.client.notifications if note["method"] == UPDATED) == [
        *("None", "one", "two")
    ]
    await modern.client.notify("notifications/cancelled", {"requestId": "one"})
    await leave(legacy, OURS)
    await update(modern, URI)
    assert len(updates(modern)) == 4
    assert left(journal) == 0
    await modern.client.notify("notifications/cancelled", {"requestId": "two"})
    await journal.wait_until(left)
    assert left(journal) == 1


async def test_a_server_that_was_restarted_is_asked_again(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, journal)}))
    await subscribe(session, OURS)
    os.kill(journal.pids[0], SIGKILL)
    await session.client.wait_for_stderr("failed: ")
    await session.open_toolbox("dev")
    await journal.wait_until(lambda it: watched(it) == [URI, URI])
    await update(session, URI)
    assert [params["uri"] for params in updates(session)] == [OURS]
    await leave(session, OURS)
    await journal.wait_until(left)


async def test_a_server_whose_program_was_changed_is_asked_again(
    connect: Connect, journal: Journal, server_era: Era, tmp_path: Path
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, journal)}))
    await subscribe(session, OURS)
    changed = toolboxes(dev={"s": stock(server_era, journal, stderr=["anew"])})
    (tmp_path / "workbench-config.json").write_text(json.dumps(changed), encoding="utf-8")
    await session.client.wait_for_stderr("the configuration is reloaded")
    await session.open_toolbox("dev")
    await journal.wait_until(lambda it: watched(it) == [URI, URI])
    await update(session, URI)
    assert [params["uri"] for params in updates(session)] == [OURS]


async def test_a_server_that_cannot_be_subscribed_to_is_not_asked(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, journal, offers=NO_SUBSCRIPTIONS)}))
    if session.era == "modern":
        assert await listen(session, "stream", OURS) == []
    else:
        error = (await session.request("resources/subscribe", {"uri": OURS}))["error"]
        assert (error["code"], error["data"]) == (-32602, {"uri": OURS})
        assert "does not say when a resource has changed" in error["message"]
    assert watched(journal) == []


async def test_a_legacy_servers_refusal_is_the_clients_and_the_next_try_asks_again(
    connect: Connect, journal: Journal
) -> None:
    said = {"code": -32002, "message": "No such thing", "data": {"x": [1]}}
    errors = {"resources/subscribe": json.dumps(said)}
    session = await connect(toolboxes(dev={"s": stock("legacy", journal, errors=errors)}))
    for stream in ("one", "two"):
        if session.era == "modern":
            assert await listen(session, stream, OURS) == []
        else:
            assert (await session.request("resources/subscribe", {"uri": OURS}))["error"] == said
    assert watched(journal) == [URI, URI]
    assert left(journal) == 0


@pytest.mark.parametrize("answer", ["refuses", "does not agree"])
async def test_a_modern_servers_refusal_is_the_clients(
    connect: Connect, journal: Journal, answer: str
) -> None:
    said = {"code": -32602, "message": "No such thing", "data": {"x": [1]}}
    errors = {"subscriptions/listen": json.dumps(said)} if answer == "refuses" else {}
    reticent = stock("modern", journal, errors=errors, reticent=True)
    session = await connect(toolboxes(dev={"s": reticent}))
    if session.era == "modern":
        assert await listen(session, "stream", OURS) == []
    else:
        error = (await session.request("resources/subscribe", {"uri": OURS}))["error"]
        reason = "Error in server 's' (toolbox 'dev'): it has not agreed to say when this resource changes"
        assert error == (said if answer == "refuses" else {"code": -32603, "message": reason})
    if answer == "does not agree":
        await journal.wait_until(left)


async def test_a_stream_is_acknowledged_with_what_can_be_served(connect_modern: Connect) -> None:
    servers = {"s": stock("modern"), "without": stock("legacy", offers=NO_SUBSCRIPTIONS)}
    session = await connect_modern(toolboxes(dev={**servers, "broken": stock("legacy", exit=1)}))
    nowhere = [f"workbench:dev/{name}/{URI}" for name in ("none", "without", "broken")]
    assert await listen(session, "stream", "x:y", *nowhere, OURS, "workbench:none/s/x:y") == [OURS]


@pytest.mark.parametrize("uri", ["workbench:none/s/x:y", "workbench:dev", "x:y"])
async def test_a_legacy_client_is_told_that_a_resource_does_not_exist(start: Start, uri: str) -> None:
    session = session_of("legacy", await start(toolboxes(dev={"s": stock("modern")})))
    await session.greet()
    error = (await session.request("resources/subscribe", {"uri": uri}))["error"]
    assert (error["code"], error["data"]) == (-32002, {"uri": uri})


async def test_the_methods_of_the_older_era_are_not_for_modern_clients(connect_modern: Connect) -> None:
    session = await connect_modern(toolboxes(dev={"s": stock("modern")}))
    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert (await session.request(method, {"uri": OURS}))["error"]["code"] == -32601


async def test_a_client_is_told_when_it_wants_to_hear_of_too_many(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(toolboxes(dev={"s": stock("modern", journal)}))
    many = json.dumps({"notifications": {"resourceSubscriptions": [f"{OURS}/{n}" for n in range(1001)]}})
    refused = (await session.exchange("subscriptions/listen", many)).message["error"]
    assert "1,000 resources" in refused["message"]
    assert await listen(session, "stream", OURS) == [OURS]
    assert watched(journal) == [URI]


async def test_a_stream_that_is_cancelled_before_it_is_acknowledged_leaves_nothing(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(
        toolboxes(dev={"s": stock("legacy", journal, silent=["resources/subscribe"])})
    )
    wanted = json.dumps({"notifications": {"resourceSubscriptions": [OURS]}})
    await session.begin("subscriptions/listen", wanted, request_id="stream")
    await journal.wait_until(watched)
    await session.client.notify("notifications/cancelled", {"requestId": "stream"})
    await journal.wait_until(lambda it: it.messages("notifications/cancelled"))
    assert [it for it in session.client.received if tag(it) == "stream"] == []


async def test_streams_that_a_modern_server_ends_are_opened_again(connect: Connect, journal: Journal) -> None:
    session = await connect(toolboxes(dev={"s": stock("modern", journal)}))
    await subscribe(session, OURS)
    before = len(journal.messages("subscriptions/listen"))
    assert before == 2
    await session.use_tool("dev", "s", "end_streams")
    await journal.wait_until(lambda it: len(it.messages("subscriptions/listen")) == 2 * before)
    wanted = [it["params"]["notifications"] for it in journal.messages("subscriptions/listen")]
    assert wanted[:before] == wanted[before:]
    # What has changed in between nobody has said.
    await journal.wait_until(lambda it: len(it.messages("tools/list")) == 2)
    await update(session, URI)
    assert [params["uri"] for params in updates(session)] == [OURS]


async def test_a_stream_does_not_wait_for_a_server_that_does_not_answer(connect_modern: Connect) -> None:
    silent = stock("legacy", silent=["resources/subscribe"])
    config = toolboxes(dev={"s": silent, "other": stock("legacy")})
    session = await connect_modern({**config, "openDeadline": 1})
    heard = f"workbench:dev/other/{URI}"
    assert await listen(session, "both", OURS, heard) == [heard]
