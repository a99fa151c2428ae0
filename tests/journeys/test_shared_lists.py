"""The resources, templates and prompts of all servers that are open are listed together."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import toolboxes
from tests.support.sessions import result_of
from tests.support.stocks import listing, stock
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

ONE = '{"uri":"test://one","name":"one"}'


@dataclass(frozen=True)
class Listed:
    """One of the lists."""

    method: str
    member: str
    key: str
    prefix: str

    def entry(self, name: str) -> str:
        return json.dumps({self.key: name})

    def ours(self, name: str) -> Json:
        return {self.key: self.prefix + name}


each_list = pytest.mark.parametrize(
    "listed",
    [
        Listed("resources/list", "resources", "uri", "workbench:dev/s/"),
        Listed("resources/templates/list", "resourceTemplates", "uriTemplate", "workbench:dev/s/"),
        Listed("prompts/list", "prompts", "name", "dev/s/"),
    ],
    ids=lambda listed: listed.method,
)


async def uris(session: Session) -> list[str]:
    listed = result_of(await session.request("resources/list"))["resources"]
    return [resource["uri"] for resource in listed]


async def changed(session: Session) -> None:
    """Returns when the client was told that there are other resources, and other prompts."""
    methods = {f"notifications/{kind}/list_changed" for kind in ("resources", "prompts")}
    await poll(lambda: methods <= {note["method"] for note in session.client.notifications})


@each_list
async def test_entries_are_listed_as_they_came_under_names_of_ours(
    connect: Connect, server_era: Era, listed: Listed
) -> None:
    rest = '"title":"\\u00fc \\u200b","_meta":{"v/k":null}}'
    first = f'{{"x":[1.50, 1e3],"{listed.key}":"a b/{{c}}",{rest}'
    answers = {listed.method: listing(listed.member, first, listed.entry("%2F"))}
    session = await connect(toolboxes(dev={"s": stock(server_era, answers=answers)}))
    await session.open_toolbox("dev")
    reply = await session.exchange(listed.method)
    names = [entry[listed.key] for entry in reply.message["result"][listed.member]]
    assert names == [f"{listed.prefix}a b/{{c}}", f"{listed.prefix}%2F"]
    assert f'{{"x":[1.50, 1e3],"{listed.key}":"{listed.prefix}a b/{{c}}",{rest}'.encode() in reply.line


@each_list
async def test_one_bad_entry_does_not_lose_the_list(
    connect: Connect, server_era: Era, listed: Listed
) -> None:
    deep = listed.entry("x:deep")[:-1] + f',"a":{"[" * 300}{"]" * 300}}}'
    bad = ['{"other":"x"}', f'{{"{listed.key}":7}}', listed.entry(""), "null", '"text"', deep]
    answers = {listed.method: listing(listed.member, *bad, listed.entry("x:good"))}
    session = await connect(toolboxes(dev={"s": stock(server_era, answers=answers)}))
    await session.open_toolbox("dev")
    assert result_of(await session.request(listed.method))[listed.member] == [listed.ours("x:good")]
    await session.client.wait_for_stderr(f"left out {len(bad)} of its")


@each_list
async def test_a_list_is_one_page_that_may_change_at_any_time(
    connect: Connect, client_era: Era, server_era: Era, listed: Listed
) -> None:
    answers = {listed.method: listing(listed.member, listed.entry("x:y"))}
    session = await connect(toolboxes(dev={"s": stock(server_era, answers=answers)}))
    await session.open_toolbox("dev")
    result = result_of(await session.request(listed.method))
    assert result.pop(listed.member) == [listed.ours("x:y")]
    if client_era == "modern":
        assert result.pop("_meta")["io.modelcontextprotocol/serverInfo"]["name"] == "mcp-workbench"
        assert result == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    else:
        assert result == {}
    refused = await session.request(listed.method, {"cursor": "2"})
    assert refused["error"]["code"] == -32602


async def test_a_server_that_does_not_know_the_method_has_none(connect: Connect, server_era: Era) -> None:
    answers = {"resources/list": listing("resources", ONE)}
    session = await connect(toolboxes(dev={"s": stock(server_era, answers=answers)}))
    await session.open_toolbox("dev")
    assert result_of(await session.request("resources/templates/list"))["resourceTemplates"] == []
    assert await uris(session) == ["workbench:dev/s/test://one"]


async def test_only_servers_that_are_open_are_listed(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    answers = {"resources/list": listing("resources", ONE)}
    journals = make_journal("open"), make_journal("closed")
    open_, closed = (stock(server_era, journal, answers=answers) for journal in journals)
    session = await connect(toolboxes(a={"s": closed}, b={"s": open_}))
    await session.open_toolbox("b")
    assert await uris(session) == ["workbench:b/s/test://one"]
    assert journals[1].starts == 0


async def test_a_server_that_has_died_since_is_connected_again(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    answers = {"resources/list": listing("resources", ONE)}
    session = await connect(toolboxes(dev={"s": stock(server_era, journal, answers=answers)}))
    await session.open_toolbox("dev")
    os.kill(journal.pids[0], SIGKILL)
    await session.client.wait_for_stderr("failed: ")
    assert await uris(session) == ["workbench:dev/s/test://one"]
    assert journal.starts == 2


async def test_a_server_that_cannot_be_connected_again_is_left_out(
    connect_modern: Connect, journal: Journal, tmp_path: Path, server_era: Era
) -> None:
    answers = {"resources/list": listing("resources", ONE)}
    healthy = tmp_path / "healthy"
    healthy.touch()
    weak = stock(server_era, journal, answers=answers, exit_unless=str(healthy))
    session = await connect_modern(toolboxes(dev={"weak": weak, "s": stock(server_era, answers=answers)}))
    await session.open_toolbox("dev")
    assert await uris(session) == ["workbench:dev/weak/test://one", "workbench:dev/s/test://one"]
    healthy.unlink()
    os.kill(journal.pids[0], SIGKILL)
    await session.client.wait_for_stderr("failed: ")
    assert await uris(session) == ["workbench:dev/s/test://one"]
    await session.client.wait_for_stderr("its resources could not be listed")


async def test_a_server_that_does_not_answer_holds_up_the_list_for_its_own_time_only(
    connect_modern: Connect, server_era: Era
) -> None:
    silent = stock(server_era, entry={"timeout": 0.5}, silent=["resources/list"])
    answers = {"resources/list": listing("resources", ONE)}
    session = await connect_modern(toolboxes(dev={"mute": silent, "s": stock(server_era, answers=answers)}))
    await session.open_toolbox("dev")
    started = time.monotonic()
    assert await uris(session) == ["workbench:dev/s/test://one"]
    assert time.monotonic() - started < 5


async def test_a_list_is_answered_by_when_an_opening_would_be_without_a_server_that_takes_longer(
    connect_modern: Connect, journal: Journal, server_era: Era
) -> None:
    silent = stock(server_era, journal, silent=["resources/list", "ping"])
    answers = {"resources/list": listing("resources", ONE)}
    config = toolboxes(dev={"busy": silent, "s": stock(server_era, answers=answers)})
    session = await connect_modern({**config, "openDeadline": 0.5})
    await session.open_toolbox("dev")
    started = time.monotonic()
    assert await uris(session) == ["workbench:dev/s/test://one"]
    assert time.monotonic() - started < 5
    await session.client.wait_for_stderr("its resources could not be listed: no answer within 0.5 s")
    assert journal.starts == 1


async def test_a_server_whose_list_never_ends_is_left_out(connect_modern: Connect, server_era: Era) -> None:
    endless = {"resources/list": listing("resources", ONE)[:-1] + ',"nextCursor":"again"}'}
    session = await connect_modern(toolboxes(dev={"s": stock(server_era, answers=endless)}))
    await session.open_toolbox("dev")
    assert await uris(session) == []
    await session.client.wait_for_stderr("its list of resources never ends")


async def test_what_a_reload_removes_is_told_and_no_longer_listed(
    connect: Connect, tmp_path: Path, client_era: Era, server_era: Era
) -> None:
    answers = {"resources/list": listing("resources", ONE)}
    config = toolboxes(dev={"s": stock(server_era, answers=answers)})
    session = await connect(config)
    if client_era == "modern":
        wanted = json.dumps({"notifications": {"resourcesListChanged": True, "promptsListChanged": True}})
        await session.begin("subscriptions/listen", wanted, request_id="lists")
    await session.open_toolbox("dev")
    await changed(session)
    assert await uris(session) == ["workbench:dev/s/test://one"]
    session.client.received.clear()
    del config["toolboxes"]["dev"]["mcpServers"]["s"]
    (tmp_path / "workbench-config.json").write_text(json.dumps(config), encoding="utf-8")
    await changed(session)
    assert await uris(session) == []
