"""What changes in a server is heard by the client, in the way of its era."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import Cell, open_bench
from tests.grid.features import proves
from tests.grid.questions import form
from tests.servers.wares import RESOURCES, SUBSCRIPTION
from tests.support.sessions import names, text_of
from tests.support.talking import oblige
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

modern_client = pytest.mark.parametrize("client_era", ["modern"], indirect=True)
legacy_client = pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
URI = RESOURCES[0]["uri"]
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"


def wrapped(cell: Cell, uri: str = URI) -> str:
    return f"workbench:dev/{cell.server}/{uri}"


async def listen(cell: Cell, stream: str, **wanted: object) -> Json:
    """The acknowledgment, which comes first of all that the stream brings."""
    await cell.session.begin("subscriptions/listen", json.dumps({"notifications": wanted}), request_id=stream)
    await cell.client.wait_for(lambda it: it in on_stream(cell, stream))
    first = on_stream(cell, stream)[0]
    assert first["method"] == ACKNOWLEDGED
    return first


def on_stream(cell: Cell, stream: str) -> list[Json]:
    tagged = (it for it in cell.notifications if "_meta" in it.get("params", {}))
    return [it for it in tagged if it["params"]["_meta"].get(SUBSCRIPTION) == stream]


async def heard(cell: Cell, method: str, count: int = 1) -> list[Json]:
    def said() -> list[Json]:
        return [it for it in cell.notifications if it["method"] == method]

    await poll(lambda: len(said()) >= count)
    return said()


async def subscribe(cell: Cell, uri: str) -> None:
    """Asks to hear of a resource, and waits until the server has been asked too."""
    if cell.session.era == "legacy":
        assert await cell.talker.request("resources/subscribe", {"uri": uri}) is not None
    else:
        await listen(cell, "resources", resourceSubscriptions=[uri])
    await cell.journal.wait_until(
        lambda _: (
            cell.sent("resources/subscribe")
            or any(
                "resourceSubscriptions" in it["params"]["notifications"]
                for it in cell.sent("subscriptions/listen")
            )
        )
    )


async def downstream_listens(cell: Cell) -> None:
    """A legacy server tells of changes without being asked."""
    await cell.journal.wait_until(lambda it: cell.server == "legacy" or it.messages("subscriptions/listen"))


@proves("tools-changed")
async def test_a_tool_that_is_added_can_be_found_and_used(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        listed = await cell.session.list_tools()
        await cell.call({"change": "tools"})
        await cell.journal.wait_until(lambda _: cell.sent("tools/list"))
        used = await cell.result({"ask": [form()]}, tool="added")
        assert json.loads(text_of(used))["answers"] == [[oblige(form())]]
        opened = (await cell.session.open_toolbox("dev", detail="full"))["structuredContent"]["tools"]
        own = [tool for tool in opened if tool["source_server"] == server_era]
        assert names(own) == ["converse", "other", "added"]
        assert await cell.session.list_tools() == listed


@proves("lists-changed")
@pytest.mark.parametrize("kind", ["prompts", "resources"])
async def test_a_client_hears_of_changed_lists(
    client_era: Era, server_era: Era, tmp_path: Path, kind: str, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        if client_era == "modern":
            await listen(cell, "lists", **{f"{kind}ListChanged": True})
            await downstream_listens(cell)
        await cell.call({"change": kind})
        (note, *_) = await heard(cell, f"notifications/{kind}/list_changed")
        if client_era == "modern":
            assert note["params"]["_meta"][SUBSCRIPTION] == "lists"
        listed = (await cell.talker.request(f"{kind}/list", {}))[kind]
        assert [it for it in listed if f"dev/{server_era}/" in json.dumps(it) and "added" in json.dumps(it)]


@proves("lists-changed")
async def test_a_client_hears_of_what_an_opening_brings(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, opened=False, over=over) as bench:
        cell = Cell(bench, server_era)
        if client_era == "modern":
            await listen(cell, "lists", promptsListChanged=True, resourcesListChanged=True)
        assert (await cell.talker.request("resources/list", {}))["resources"] == []
        await cell.call()
        await heard(cell, "notifications/resources/list_changed")
        await heard(cell, "notifications/prompts/list_changed")
        assert (await cell.talker.request("resources/list", {}))["resources"] != []


@proves("subscribe")
async def test_a_client_hears_of_the_resource_that_it_subscribed_to_and_of_no_other(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        await cell.call({"update": RESOURCES[1]["uri"]}, {"update": URI})
        (note,) = await heard(cell, UPDATED)
        assert note["params"]["uri"] == wrapped(cell)
        assert note["params"]["x-unknown"] == 1
        if client_era == "modern":
            assert note["params"]["_meta"][SUBSCRIPTION] == "resources"


@proves("subscribe")
async def test_updates_carry_the_name_that_the_client_used(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        spelled_out = wrapped(cell).replace("workbench:dev/", "workbench:%64ev/")
        await subscribe(cell, spelled_out)
        await cell.call({"update": URI})
        (note,) = await heard(cell, UPDATED)
        assert note["params"]["uri"] == spelled_out


@proves("subscribe")
async def test_a_subscription_outlives_the_server(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        await cell.result({"die": True})
        await cell.call()
        method = "resources/subscribe" if server_era == "legacy" else "subscriptions/listen"
        await cell.journal.wait_until(
            lambda _: len([it for it in cell.sent(method) if URI in json.dumps(it)]) == 2
        )
        await cell.call({"update": URI})
        (note,) = await heard(cell, UPDATED)
        assert note["params"]["uri"] == wrapped(cell)


@proves("subscribe", client="modern")
async def test_one_stream_of_two_ends_alone(server_era: Era, tmp_path: Path, over: Transport) -> None:
    async with open_bench(tmp_path, "modern", over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        await listen(cell, "another", resourceSubscriptions=[wrapped(cell)])
        await cell.cancel("resources")
        await cell.call({"update": URI})
        await cell.call({"update": URI})
        await poll(lambda: len(on_stream(cell, "another")) == 3)
        assert [it["method"] for it in on_stream(cell, "another")[1:]] == [UPDATED, UPDATED]
        assert UPDATED not in [it["method"] for it in on_stream(cell, "resources")]


@proves("subscribe", client="legacy")
async def test_a_client_that_unsubscribes_hears_no_more(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "legacy", over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        await cell.talker.request("resources/unsubscribe", {"uri": wrapped(cell)})
        await cell.journal.wait_until(
            lambda _: cell.sent("resources/unsubscribe") or cell.sent("notifications/cancelled")
        )
        await cell.call({"update": URI})
        await cell.call()
        assert [it for it in cell.notifications if it["method"] == UPDATED] == []


@proves("subscribe", client="legacy")
async def test_a_subscription_that_is_taken_back_in_the_same_breath_is_none(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "legacy", over=over) as bench:
        cell = Cell(bench, server_era)
        uri = json.dumps({"uri": wrapped(cell)})
        requests = [await cell.session.begin(f"resources/{it}", uri) for it in ("subscribe", "unsubscribe")]
        assert ["result" in (await request).message for request in requests] == [True, True]
        await cell.call({"update": URI})
        await cell.call()
        assert [it for it in cell.notifications if it["method"] == UPDATED] == []


@proves("subscribe")
async def test_a_server_that_is_configured_again_is_subscribed_to_again(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        path = tmp_path / "workbench-config.json"
        text = path.read_text(encoding="utf-8")
        config = json.loads(text)
        del config["toolboxes"]["dev"]["mcpServers"][server_era]
        path.write_text(json.dumps(config), encoding="utf-8")
        await cell.client.wait_for_stderr("the configuration is reloaded")
        path.write_text(text, encoding="utf-8")
        await poll(lambda: cell.client.stderr.count("the configuration is reloaded") == 2)
        await cell.call({"update": URI})
        (note,) = await heard(cell, UPDATED)
        assert note["params"]["uri"] == wrapped(cell)


@proves("subscribe", client="modern")
async def test_a_stream_that_is_cancelled_brings_no_more(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "modern", over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        await cell.cancel("resources")
        await cell.journal.wait_until(
            lambda _: cell.sent("resources/unsubscribe") or cell.sent("notifications/cancelled")
        )
        await cell.call({"update": URI})
        await cell.call()
        assert [it for it in cell.notifications if it["method"] == UPDATED] == []
        assert [it for it in cell.received if it.get("id") == "resources"] == []


@proves("listen")
@modern_client
async def test_a_stream_is_acknowledged_first_with_what_it_will_bring(cell: Cell) -> None:
    wanted = {
        "promptsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": [wrapped(cell)],
    }
    acknowledged = await listen(cell, "acknowledged", **wanted)
    assert acknowledged["params"]["notifications"] == wanted
    await cell.cancel("acknowledged")


@proves("listen")
@modern_client
async def test_each_stream_brings_only_what_it_asked_for(cell: Cell) -> None:
    await listen(cell, "p", promptsListChanged=True)
    await listen(cell, "r", resourcesListChanged=True)
    await downstream_listens(cell)
    await cell.call({"change": "prompts"}, {"change": "resources"})
    await poll(lambda: len(on_stream(cell, "p")) >= 2 and len(on_stream(cell, "r")) >= 2)
    assert {it["method"] for it in on_stream(cell, "p")[1:]} == {"notifications/prompts/list_changed"}
    assert {it["method"] for it in on_stream(cell, "r")[1:]} == {"notifications/resources/list_changed"}
    await cell.cancel("p")
    await cell.cancel("r")


@proves("listen", client="modern")
async def test_a_stream_ends_with_a_result_when_the_workbench_does(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "modern", over=over) as bench:
        cell = Cell(bench, server_era)
        await subscribe(cell, wrapped(cell))
        await listen(cell, "lists", promptsListChanged=True)
        await bench.client.close()
        ends = {it["id"]: it["result"] for it in cell.received if it.get("id") in ("resources", "lists")}
        assert {stream: end["_meta"][SUBSCRIPTION] for stream, end in ends.items()} == {
            "resources": "resources",
            "lists": "lists",
        }
