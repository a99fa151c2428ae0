"""The fixtures of the grid: in each module one bench for each client, for each test its cell.

A cell is tried with a client over pipes and with one over HTTP.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.grid.benches import ASKING, Bench, Cell, open_bench
from tests.grid.questions import form

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era


@pytest.fixture(params=["stdio", "http"])
def over(request: pytest.FixtureRequest) -> Transport:
    """What the client comes by."""
    transport: Transport = request.param
    return transport


@pytest.fixture(scope="module")
def server_keys() -> Json:
    """Keys that the module's servers have in the configuration; a module may have its own."""
    return {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_bench(
    tmp_path_factory: pytest.TempPathFactory, server_keys: Json
) -> AsyncIterator[Callable[[Era, Transport], Awaitable[Bench]]]:
    """The module's benches, each started when it is first wanted."""
    benches: dict[tuple[Era, Transport], Bench] = {}
    async with contextlib.AsyncExitStack() as stack:

        async def bench(era: Era, over: Transport) -> Bench:
            if (era, over) not in benches:
                home = tmp_path_factory.mktemp(era)
                steps = {ASKING: [{"ask": [form("Which edition?")]}]}
                opening = open_bench(home, era, over=over, entry=server_keys, read_steps=steps)
                benches[era, over] = await stack.enter_async_context(opening)
            return benches[era, over]

        yield bench


@pytest_asyncio.fixture(loop_scope="module")
async def cell(
    shared_bench: Callable[[Era, Transport], Awaitable[Bench]],
    client_era: Era,
    server_era: Era,
    over: Transport,
) -> AsyncIterator[Cell]:
    """One combination of the eras; all that goes over the wire in a test has to keep the schemas."""
    bench = await shared_bench(client_era, over)
    yield Cell(bench, server_era)
    assert bench.faults() == []
