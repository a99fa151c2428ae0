"""The fixtures of the grid: in each module one bench for each era of the client, for each test its cell."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest_asyncio

from tests.grid.benches import ASKING, Bench, Cell, open_bench
from tests.grid.questions import form

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import pytest

    from tests.support.sessions import Era


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_bench(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Callable[[Era], Awaitable[Bench]]]:
    """The module's benches, each started when it is first wanted."""
    benches: dict[Era, Bench] = {}
    async with contextlib.AsyncExitStack() as stack:

        async def bench(era: Era) -> Bench:
            if era not in benches:
                home = tmp_path_factory.mktemp(era)
                benches[era] = await stack.enter_async_context(
                    open_bench(home, era, read_steps={ASKING: [{"ask": [form("Which edition?")]}]})
                )
            return benches[era]

        yield bench


@pytest_asyncio.fixture(loop_scope="module")
async def cell(
    shared_bench: Callable[[Era], Awaitable[Bench]], client_era: Era, server_era: Era
) -> AsyncIterator[Cell]:
    """One combination of the eras; all that goes over the wire in a test has to keep the schemas."""
    bench = await shared_bench(client_era)
    yield Cell(bench, server_era)
    assert bench.faults() == []
