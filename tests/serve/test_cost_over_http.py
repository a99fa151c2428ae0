"""What it costs to relay a call over HTTP, counted beyond what uvicorn does for it. No clock."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.serve.counting import Steps
from tests.serve.relayed_over_http import RelayedOverHttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


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
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            relay(relayed)
        found = gc.collect()
    finally:
        gc.enable()
    # Else what comes with a request, which may be megabytes, would stay until the collector comes round.
    assert found == 0


async def test_a_call_takes_few_steps(relayed: RelayedOverHttp) -> None:
    request, answer = relay(relayed)
    allowed = (100, 100)
    assert len(request.calls) <= allowed[0], request.calls
    assert len(answer.calls) <= allowed[1], answer.calls
