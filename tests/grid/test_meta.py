"""What is said beside the words: `_meta`, and members that nobody has heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grid.features import proves
from tests.grid.questions import form
from tests.servers.wares import RESERVED
from tests.support.talking import using

if TYPE_CHECKING:
    from tests.grid.benches import Cell
    from tests.support.client import Json

pytestmark = pytest.mark.asyncio(loop_scope="module")


@proves("meta")
async def test_reserved_keys_are_those_of_each_hop_and_all_others_pass(cell: Cell) -> None:
    passed: Json = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate": "rojo=00f067aa0ba902b7",
        "baggage": "userId=ada",
        "vendor.example/key": {"deep": [1, None, "ü"]},
        "plain": True,
    }
    upstream = {RESERVED + "subscriptionId": "theirs"}
    meta = (await cell.call(meta={**passed, **upstream}))["meta"]
    of_hop = {name for name in meta if name.startswith(RESERVED)} | {"progressToken"}
    assert {name: value for name, value in meta.items() if name not in of_hop} == passed
    reserved = {
        name.removeprefix(RESERVED): value for name, value in meta.items() if name.startswith(RESERVED)
    }
    assert "subscriptionId" not in reserved
    if cell.server == "legacy":
        assert reserved == {}
    else:
        assert reserved["protocolVersion"] == "2026-07-28"
        assert reserved["clientInfo"]["name"] == "mcp-workbench"


@proves("meta")
async def test_what_a_server_says_of_its_result_passes(cell: Cell) -> None:
    said = {"vendor/key": [1], "traceparent": "00-1"}
    meta = (await cell.result({"result": {"content": [], "_meta": said}}))["_meta"]
    stamped = {RESERVED + "serverInfo"} if cell.session.era == "modern" else set()
    assert meta.keys() == said.keys() | stamped
    assert {name: meta[name] for name in said} == said


@proves("meta")
async def test_what_a_server_says_of_its_question_and_a_client_of_its_answer_passes(cell: Cell) -> None:
    kept = {"vendor/key": [1], "traceparent": "00-1"}
    question = form("by whom?")
    question["params"]["_meta"] = {**kept, RESERVED + "subscriptionId": "theirs"}
    answer = {"result": {"action": "decline", "_meta": {"vendor/answer": 1, "baggage": "a=b"}}}
    cell.talker.respond = lambda _: answer
    answers = await cell.answers({"ask": [question]})
    (asked,) = cell.talker.asked
    assert asked["params"]["_meta"] == kept
    assert answers == [[answer]]


@proves("unknown")
async def test_members_of_a_result_that_nobody_has_heard_of_are_kept(cell: Cell) -> None:
    said = {
        "content": [
            {"type": "text", "text": "", "annotations": {"x": 1.5}},
            {"type": "text", "text": "t", "y": None},
        ],
        "structuredContent": {"a": [1e100]},
        "x-unknown": {"deep": [True]},
    }
    result = await cell.result({"result": said})
    assert {name: result[name] for name in said} == said


@proves("unknown")
async def test_members_of_arguments_that_nobody_has_heard_of_are_kept(cell: Cell) -> None:
    arguments = {"steps": [], "x-unknown": {"deep": [1.5, None]}, "": "ü\U0001f9f0"}
    await cell.talker.request("tools/call", using(cell.server, arguments))
    (call,) = cell.sent("tools/call")
    assert call["params"]["arguments"] == arguments
