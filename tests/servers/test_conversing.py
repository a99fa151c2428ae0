"""The conversing server itself, spoken to directly: a test double that lies would prove nothing."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Unpack

import pytest

from tests.grid.benches import conversing_server
from tests.grid.messages import faults_to_client, faults_to_server
from tests.grid.questions import ROOTS, form, sample
from tests.servers.wares import PROMPTS, RESERVED, RESOURCES, SUBSCRIPTION, TEMPLATES
from tests.support.client import RawClient, clean_environment
from tests.support.sessions import RpcError, session_of, text_of
from tests.support.talking import Talker, able, oblige

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.servers.conversing import Script
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era


@asynccontextmanager
async def directly(home: Path, journal: Journal, era: Era, **script: Unpack[Script]) -> AsyncIterator[Talker]:
    """Nothing between the client and the server; what either says keeps the schemas."""
    entry = conversing_server(era, journal, **script)
    async with RawClient([entry["command"], *entry["args"]], clean_environment(home, entry["env"])) as client:
        session = session_of(era, client)
        session.capabilities = able(era)
        await session.greet()
        yield Talker(session)
        assert faults_to_client(client, era, 0) == []
        assert faults_to_server(journal, era, 0) == []


def calling(*steps: Json) -> Json:
    return {"name": "converse", "arguments": {"steps": list(steps)}}


async def test_it_asks_in_either_era_and_tells_what_it_got(
    tmp_path: Path, journal: Journal, server_era: Era
) -> None:
    rounds = [[form("one"), sample("two")], [ROOTS]]
    steps = calling(*({"ask": questions} for questions in rounds), {"pause": True})
    async with directly(tmp_path, journal, server_era) as talker:
        result = await talker.request("tools/call", steps, {"vendor/key": 1})
    told = json.loads(text_of(result))
    answers = [[oblige(question) for question in questions] for questions in rounds]
    assert told["answers"] == (answers if server_era == "legacy" else [*answers, []])
    assert told["meta"]["vendor/key"] == 1
    assert talker.asked == [form("one"), sample("two"), ROOTS]
    assert talker.rounds == (0 if server_era == "legacy" else 3)


async def test_it_reports_progress_and_logs_what_it_was_asked_to(
    tmp_path: Path, journal: Journal, server_era: Era
) -> None:
    messages = [{"level": "info", "data": 1}, {"level": "error", "data": 2, "logger": "db"}]
    meta: Json = {"progressToken": "mine"}
    async with directly(tmp_path, journal, server_era) as talker:
        if server_era == "legacy":
            await talker.request("logging/setLevel", {"level": "warning"})
        else:
            meta[RESERVED + "logLevel"] = "warning"
        await talker.request("tools/call", calling({"progress": {"steps": 2}}, {"log": messages}), meta)
        await talker.request("tools/call", calling({"progress": {"steps": 2}}))
    said = [note["params"] for note in talker.session.client.notifications]
    assert [it["progress"] for it in said if "progress" in it] == [1, 2]
    assert [it for it in said if "level" in it] == [messages[1]]


async def test_it_lists_in_pages_and_reads_and_completes(
    tmp_path: Path, journal: Journal, server_era: Era
) -> None:
    reading = {"uri": "test://third"}
    script: Script = {"page_size": 1, "read_steps": {"test://third": [{"ask": [form("why")]}]}}
    getting = {"name": "review", "arguments": {"steps": json.dumps([{"ask": [form("who")]}])}}
    reference = {"type": "ref/prompt", "name": "review"}
    completing = {"ref": reference, "argument": {"name": "steps", "value": "a"}}
    async with directly(tmp_path, journal, server_era, **script) as talker:
        found: list[Json] = []
        for method, kind in (
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ):
            page = await talker.request(method, {})
            found += page[kind]
            while "nextCursor" in page:
                page = await talker.request(method, {"cursor": page["nextCursor"]})
                found += page[kind]
        read = await talker.request("resources/read", reading)
        got = await talker.request("prompts/get", getting)
        completed = await talker.request("completion/complete", completing)
    assert found == RESOURCES + TEMPLATES + PROMPTS
    assert json.loads(read["contents"][0]["text"])["answers"] == [[oblige(form("why"))]]
    assert json.loads(got["messages"][0]["content"]["text"])["answers"] == [[oblige(form("who"))]]
    assert [json.loads(value) for value in completed["completion"]["values"]] == [completing]


async def test_it_announces_changes_to_those_who_listen(
    tmp_path: Path, journal: Journal, server_era: Era
) -> None:
    uri = RESOURCES[0]["uri"]
    steps = [{"change": "prompts"}, {"update": uri}, {"update": "test://third"}]
    async with directly(tmp_path, journal, server_era) as talker:
        session = talker.session
        if server_era == "legacy":
            await talker.request("resources/subscribe", {"uri": uri})
        else:
            wanted = {"promptsListChanged": True, "resourceSubscriptions": [uri]}
            await session.begin(
                "subscriptions/listen", json.dumps({"notifications": wanted}), request_id="ear"
            )
            await session.client.wait_for(lambda it: it.get("method", "").endswith("acknowledged"))
        await talker.request("tools/call", calling(*steps))
        prompts = (await talker.request("prompts/list", {}))["prompts"]
    heard = session.client.notifications[0 if server_era == "legacy" else 1 :]
    assert [note["method"].removeprefix("notifications/") for note in heard] == [
        "prompts/list_changed",
        "resources/updated",
    ]
    tags = [note.get("params", {}).get("_meta", {}).get(SUBSCRIPTION) for note in heard]
    assert tags == [None if server_era == "legacy" else "ear"] * 2
    assert prompts[-1] == {"name": "added"}


async def test_it_hangs_until_it_is_cancelled(tmp_path: Path, journal: Journal, server_era: Era) -> None:
    async with directly(tmp_path, journal, server_era) as talker:
        client = talker.session.client
        await talker.session.begin("tools/call", json.dumps(calling({"hang": True})), request_id="h")
        await journal.wait_for_call()
        await client.notify("notifications/cancelled", {"requestId": "h"})
        await journal.wait_until(lambda it: it.events("cancelled"))
        with pytest.raises(RpcError) as refused:
            await talker.request("tools/call", calling({"refuse": {"code": -32042, "message": "no"}}))
    assert refused.value.error["code"] == -32042
    assert [message for message in client.received if message.get("id") == "h"] == []


async def test_a_legacy_server_takes_a_question_back(tmp_path: Path, journal: Journal) -> None:
    asked = tmp_path / "asked"

    def notice(_: Json) -> None:
        asked.touch()

    async with directly(tmp_path, journal, "legacy") as talker:
        talker.respond = notice
        await talker.request("tools/call", calling({"withdraw": {"question": form(), "when": str(asked)}}))
    (note,) = talker.session.client.notifications
    assert note["method"] == "notifications/cancelled"
    assert note["params"]["requestId"] == "ask-1"
