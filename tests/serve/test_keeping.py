"""Keeping a large result while other things go on."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import InlineConfig
from mcp_workbench.surface.kept.shortening import INLINE_BYTES
from tests.serve.relayed import Relayed, written
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["legacy", "modern"])
async def relayed(request: pytest.FixtureRequest, tmp_path: Path) -> Relayed:
    modern = request.param == "modern"
    return Relayed(tmp_path, modern=modern, results=InlineConfig(inline_limit=5000))


def last(relayed: Relayed) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(written(relayed.to_client[-1]))
    return message


def kept(relayed: Relayed) -> int:
    """How many contents are kept for the client."""
    assert relayed.view.client_results is not None
    return len(relayed.view.client_results)


async def test_what_can_be_done_at_once_is(relayed: Relayed) -> None:
    relayed.request()()
    relayed.answer(6000)()
    message = last(relayed)
    assert message["id"] == 1
    assert "6,000 bytes of text, handle res_" in message["result"]["content"][0]["text"]
    assert kept(relayed) == 1


async def test_what_takes_longer_holds_nobody_up(relayed: Relayed) -> None:
    relayed.request()()
    relayed.answer(2 * INLINE_BYTES)()
    relayed.request()()
    relayed.answer(10)()
    assert last(relayed)["id"] == 2
    await poll(lambda: last(relayed)["id"] == 1)
    assert "bytes of text, handle res_" in last(relayed)["result"]["content"][0]["text"]
    assert kept(relayed) == 1


async def test_a_call_that_is_cancelled_meanwhile_gets_no_answer_and_nothing_is_kept(
    relayed: Relayed,
) -> None:
    relayed.request()()
    relayed.answer(2 * INLINE_BYTES)()
    count = len(relayed.to_client)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    relayed.client_says(json.dumps(cancelled).encode())
    (task,) = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait([task])
    assert len(relayed.to_client) == count
    assert kept(relayed) == 0


async def test_a_result_in_which_nothing_can_be_kept_is_passed_on(relayed: Relayed) -> None:
    for size in (6000, 2 * INLINE_BYTES):
        relayed.request()()
        answer = {"jsonrpc": "2.0", "id": relayed.latest_id, "result": {"content": "~" * size}}
        relayed.server_says(json.dumps(answer).encode())
        await poll(lambda: last(relayed)["result"].get("content") == "~" * size)  # noqa: B023 - used here
    assert kept(relayed) == 0


async def test_what_is_kept_goes_with_its_client(relayed: Relayed) -> None:
    relayed.request()()
    relayed.answer(6000)()
    relayed.view.close()
    assert kept(relayed) == 0
