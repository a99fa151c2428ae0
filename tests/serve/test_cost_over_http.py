"""What it costs to relay a call over HTTP, counted beyond what uvicorn does for it. No clock."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

from tests.serve.counting import Steps, allocated
from tests.serve.relayed_over_http import RelayedOverHttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.untraced

MEGABYTE = 1_000_000


@pytest.fixture(params=["legacy", "modern"])
async def relayed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RelayedOverHttp]:
    it = RelayedOverHttp(tmp_path, modern=request.param == "modern")
    relay(it)  # the first call of all reads the list of tools
    yield it
    it.clients.close()


def relay(it: RelayedOverHttp, size: int = 100) -> tuple[Steps, Steps]:
    """Relays one call; what the request has taken, and the answer."""
    request, answer, post = it.call(size)
    taken = Steps(request), Steps(answer)
    assert post.status == 200
    assert b"".join(post.body).count(b"~") == size
    return taken


async def test_nothing_of_a_call_is_left_to_the_garbage_collector(relayed: RelayedOverHttp) -> None:
    # What tests before it have left may take more than one look: some of it ends only when it is found.
    while gc.collect():
        pass
    gc.disable()
    try:
        for _ in range(20):
            relay(relayed)
        found = gc.collect()
    finally:
        gc.enable()
    # Else what comes with a request, which may be megabytes, would stay until the collector comes round.
    assert found == 0


async def test_only_the_request_and_the_answer_are_decoded(relayed: RelayedOverHttp) -> None:
    request, answer = relay(relayed)
    # A modern one also for what its headers have to repeat, and its result for what it lacks.
    assert (request.decodings, answer.decodings) == ((3, 2) if relayed.modern else (1, 1))


async def test_a_call_takes_few_steps(relayed: RelayedOverHttp) -> None:
    request, answer = relay(relayed)
    # With a few to spare. A second look at the message, or a task, would take more than these.
    allowed = (58, 42) if relayed.modern else (41, 30)
    assert len(request.own) <= allowed[0], request.own
    assert len(answer.own) <= allowed[1], answer.own


async def test_a_call_has_no_task_of_its_own_beyond_that_of_its_request(relayed: RelayedOverHttp) -> None:
    before = asyncio.all_tasks()
    request, answer, _ = relayed.call(100)
    request()
    assert asyncio.all_tasks() == before
    answer()


async def test_a_long_answer_is_handed_on_in_few_pieces_and_not_copied(relayed: RelayedOverHttp) -> None:
    relay(relayed, MEGABYTE)  # the first long one loads what looks for links in it
    request, answer, post = relayed.call(MEGABYTE)
    request()
    assert allocated(answer) < 20_000
    assert [len(piece) > MEGABYTE for piece in post.body] == [False, True, False, False]
    assert len(b"".join(post.body)) == int(post.headers[b"content-length"])
