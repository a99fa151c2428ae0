"""What a server says while a call is under way: progress and log messages."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import Cell, open_bench
from tests.grid.features import proves
from tests.grid.questions import form
from tests.servers.wares import CAPABILITIES, RESERVED
from tests.support.sessions import RpcError
from tests.support.talking import oblige, using

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOG_LEVEL = RESERVED + "logLevel"
MESSAGES: list[Json] = [
    {"level": "debug", "data": "a"},
    {"level": "info", "logger": "db", "data": {"x": [1.5, None]}, "x-unknown": 1},
    {"level": "warning", "logger": "a/b", "data": None, "_meta": {"vendor/key": 1}},
    {"level": "emergency", "data": 4},
]


def progress_of(cell: Cell, token: object) -> list[Json]:
    told = [it["params"] for it in cell.notifications if it["method"] == "notifications/progress"]
    return [it for it in told if type(it["progressToken"]) is type(token) and it["progressToken"] == token]


def kinds(cell: Cell) -> list[str]:
    """Of what the client received, in order: answers, and what may not follow the answer of its call."""
    own = ("notifications/progress", "notifications/message")
    received = [it.get("method", "answer") for it in cell.received]
    return [it for it in received if it == "answer" or it in own]


def logged(cell: Cell) -> list[Json]:
    return [it["params"] for it in cell.notifications if it["method"] == "notifications/message"]


def prefixed(cell: Cell, messages: list[Json]) -> list[Json]:
    origin = f"dev/{cell.server}"
    return [{**it, "logger": f"{origin}/{it['logger']}" if "logger" in it else origin} for it in messages]


@proves("progress")
@pytest.mark.parametrize("token", ["mine", "", 7, 0, -1], ids=repr)
async def test_progress_carries_the_callers_token_and_all_else_as_it_came(cell: Cell, token: object) -> None:
    extra = {"message": "on the way", "x-unknown": {"kept": 1}}
    await cell.call({"progress": {"steps": 3, "with": extra}}, meta={"progressToken": token})
    assert progress_of(cell, token) == [
        {"progressToken": token, "progress": step, "total": 3, **extra} for step in (1, 2, 3)
    ]
    assert kinds(cell)[-1] == "answer"


@proves("progress")
async def test_progress_is_not_crossed_between_callers(cell: Cell) -> None:
    tokens = [1, "1", "one", 2]
    await asyncio.gather(
        *(
            cell.call(
                {"progress": {"steps": 4, "every": 0.01, "with": {"message": repr(token)}}},
                meta={"progressToken": token},
            )
            for token in tokens
        )
    )
    for token in tokens:
        assert [it["message"] for it in progress_of(cell, token)] == [repr(token)] * 4
    downstream = [json.dumps(it["params"]["_meta"]["progressToken"]) for it in cell.sent("tools/call")]
    assert len({*downstream}) == len(tokens)


@proves("progress")
async def test_progress_goes_on_after_a_question(cell: Cell) -> None:
    steps: list[Json] = [{"progress": {"steps": 1}}, {"ask": [form()]}, {"progress": {"steps": 2}}]
    await cell.call(*steps, meta={"progressToken": "mine"})
    assert [it["total"] for it in progress_of(cell, "mine")] == [1, 2, 2]


@proves("progress-up", client="legacy", server="legacy")
async def test_progress_on_a_question_reaches_the_server_that_asked(tmp_path: Path, over: Transport) -> None:
    async with open_bench(tmp_path, "legacy", over=over) as bench:
        cell = Cell(bench, "legacy")
        cell.talker.respond = lambda _: None
        question = form("think hard")
        question["params"]["_meta"] = {"progressToken": "theirs"}
        call = await cell.begin({"ask": [question]})
        pushed = await cell.client.wait_for(lambda it: it.get("method") == "elicitation/create")
        token = pushed["params"]["_meta"]["progressToken"]
        told = {"progress": 0.5, "message": "thinking", "x-unknown": 1}
        await cell.client.notify("notifications/progress", {"progressToken": token, **told})
        await cell.client.send({"jsonrpc": "2.0", "id": pushed["id"], **oblige(pushed)})
        assert "result" in (await call).message
        (heard,) = cell.sent("notifications/progress")
        assert heard["params"] == {"progressToken": "theirs", **told}


@proves("progress-flood")
async def test_a_flood_is_thinned_and_its_last_word_is_delivered(cell: Cell) -> None:
    await cell.call({"progress": {"steps": 3000}}, meta={"progressToken": "mine"})
    told = [it["progress"] for it in progress_of(cell, "mine")]
    assert told == sorted({*told})
    assert told[-1] == 3000
    assert 90 <= len(told) <= 400
    assert kinds(cell)[-1] == "answer"


@proves("progress-flood")
async def test_one_callers_flood_is_not_anothers(cell: Cell) -> None:
    flooded = cell.call({"progress": {"steps": 3000}}, meta={"progressToken": "flood"})
    modest = cell.call({"progress": {"steps": 10}}, meta={"progressToken": "modest"})
    await asyncio.gather(flooded, modest)
    assert len(progress_of(cell, "modest")) == 10


@proves("logging", client="legacy")
@pytest.mark.parametrize("offers", [CAPABILITIES, {"tools": {}}], ids=["declared", "undeclared"])
async def test_a_legacy_client_that_has_chosen_no_level_hears_all(
    server_era: Era, tmp_path: Path, offers: Json, over: Transport
) -> None:
    """Also of a server that does not say that it logs: the official Python SDK never does."""
    async with open_bench(tmp_path, "legacy", offers=offers, over=over) as bench:
        cell = Cell(bench, server_era)
        await cell.call({"log": MESSAGES})
        assert logged(cell) == prefixed(cell, MESSAGES)


@proves("logging")
@pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
async def test_a_legacy_client_hears_what_it_chose(cell: Cell) -> None:
    for level, expected in (("debug", 4), ("info", 3), ("warning", 2), ("critical", 1), ("emergency", 1)):
        await cell.talker.request("logging/setLevel", {"level": level})
        before = len(logged(cell))
        await cell.call({"log": MESSAGES})
        assert logged(cell)[before:] == prefixed(cell, MESSAGES[-expected:])
    await cell.talker.request("logging/setLevel", {"level": "debug"})


@proves("logging")
@pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
async def test_a_level_that_is_chosen_in_mid_call_counts_from_then_on(cell: Cell, tmp_path: Path) -> None:
    await cell.talker.request("logging/setLevel", {"level": "debug"})
    now = tmp_path / "now"
    call = await cell.begin({"wait": str(now)}, {"log": MESSAGES})
    await cell.talker.request("logging/setLevel", {"level": "critical"})
    now.touch()
    assert "result" in (await call).message
    assert logged(cell) == prefixed(cell, MESSAGES[-1:])
    await cell.talker.request("logging/setLevel", {"level": "debug"})


@proves("logging")
@pytest.mark.parametrize("client_era", ["modern"], indirect=True)
async def test_a_modern_client_hears_what_each_request_asks_for(cell: Cell) -> None:
    for level, expected in (("debug", 4), ("notice", 2), ("critical", 1), (None, 0), ("info", 3)):
        before = len(logged(cell))
        await cell.call({"log": MESSAGES}, meta={} if level is None else {LOG_LEVEL: level})
        assert logged(cell)[before:] == (prefixed(cell, MESSAGES[-expected:]) if expected else [])
    assert kinds(cell)[-1] == "answer"


@proves("logging")
@pytest.mark.parametrize("client_era", ["modern"], indirect=True)
async def test_a_level_that_there_is_not_is_refused(cell: Cell) -> None:
    with pytest.raises(RpcError) as refused:
        await cell.talker.request("tools/call", using(cell.server, {}), {LOG_LEVEL: "loud"})
    assert refused.value.error["code"] == -32602


@proves("logging")
@pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
async def test_a_level_that_there_is_not_cannot_be_set(cell: Cell) -> None:
    with pytest.raises(RpcError) as refused:
        await cell.talker.request("logging/setLevel", {"level": "loud"})
    assert refused.value.error["code"] == -32602
