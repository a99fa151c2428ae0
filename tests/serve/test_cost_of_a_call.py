"""What it costs to relay a call, counted in decodings, steps, tasks, timers and copies. No clock."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import InlineConfig
from mcp_workbench.wire.lines import GROWTH_BYTES
from tests.serve.counting import Steps, allocated
from tests.serve.relayed import Relayed, arrived, written

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.untraced

MEGABYTE = 1_000_000
SIZES = [100, 10_000, MEGABYTE]


@pytest.fixture(params=["legacy", "modern"])
async def relayed(request: pytest.FixtureRequest, tmp_path: Path) -> Relayed:
    it = Relayed(tmp_path, modern=request.param == "modern")
    it.request()()  # the first call of all reads the list of tools
    it.answer(1)()
    return it


@pytest.mark.parametrize("size", SIZES)
async def test_only_envelopes_are_decoded_whatever_they_carry(relayed: Relayed, size: int) -> None:
    request = Steps(relayed.request(size))
    answer = Steps(relayed.answer(size))
    # The line. A modern result also says what it is and, in its metadata, who has made it.
    expected = (1, 3) if relayed.modern else (1, 1)
    assert (request.decodings, answer.decodings) == expected
    assert written(relayed.to_client[-1]).count(b"~") == size


async def test_a_call_takes_few_steps(relayed: Relayed) -> None:
    request = Steps(relayed.request())
    answer = Steps(relayed.answer(100))
    allowed = (10, 11) if relayed.modern else (9, 7)
    assert len(request.calls) <= allowed[0], request.calls
    assert len(answer.calls) <= allowed[1], answer.calls


async def test_results_that_may_be_kept_and_are_small_cost_nothing(tmp_path: Path, relayed: Relayed) -> None:
    keeping = Relayed(tmp_path, modern=relayed.modern, results=InlineConfig())
    keeping.request()()
    keeping.answer(1)()
    off, on = ([Steps(it.request(100)).calls, Steps(it.answer(100)).calls] for it in (relayed, keeping))
    assert off == on


async def test_a_call_has_no_task_and_no_timer_of_its_own(
    relayed: Relayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    timers: list[float] = []
    monkeypatch.setattr(loop, "call_at", lambda when, *_: timers.append(when))
    before = asyncio.all_tasks()
    for _ in range(100):
        relayed.request()()
    assert asyncio.all_tasks() == before
    assert len(timers) <= 1


async def test_a_long_result_is_written_from_where_it_was_read(relayed: Relayed) -> None:
    relayed.request()()
    relayed.answer(MEGABYTE)()  # the first long one loads what looks for links in it
    relayed.request()()
    answer = relayed.answer(MEGABYTE)
    assert allocated(answer) < 20_000
    assert written(relayed.to_client[-1]).count(b"~") == MEGABYTE


@pytest.mark.parametrize("meta", [{}, {"_meta": {"a": 1}}], ids=["bare", "with metadata"])
async def test_a_long_result_is_not_copied_to_be_stamped(
    tmp_path: Path, meta: dict[str, dict[str, int]]
) -> None:
    it = Relayed(tmp_path, modern=True, modern_server=False)
    it.request()()
    result = {"content": "~" * MEGABYTE, **meta}
    line = arrived(json.dumps({"jsonrpc": "2.0", "id": it.latest_id, "result": result}).encode())
    assert allocated(lambda: it.server_says(line)) < 20_000
    answer = json.loads(written(it.to_client[-1]))["result"]
    stamp = answer["_meta"].pop("io.modelcontextprotocol/serverInfo")
    assert stamp["name"] == "mcp-workbench"
    assert answer == {"resultType": "complete", "_meta": {}, **result}


async def test_long_arguments_are_written_from_where_they_were_read(relayed: Relayed) -> None:
    request = relayed.request(MEGABYTE)
    assert allocated(request) < 20_000
    assert written(relayed.to_server[-1]).count(b"~") == MEGABYTE


def test_a_long_line_takes_its_own_size_of_memory_while_it_arrives() -> None:
    text = b"x" * MEGABYTE
    arrived(text)
    tracemalloc.start()
    try:
        held = tracemalloc.get_traced_memory()[0]
        line = arrived(text)
        peak = tracemalloc.get_traced_memory()[1] - held
    finally:
        tracemalloc.stop()
    assert len(line) == MEGABYTE
    # The line, what the system is given to read it into, and the copy that the test makes of the text.
    assert peak < 2 * MEGABYTE + 2 * GROWTH_BYTES
