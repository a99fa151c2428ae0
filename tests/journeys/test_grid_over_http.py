"""The cells of the grid once more, with servers over HTTP: each test that needs nothing but its cell."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.grid import (
    test_cancellation,
    test_changes,
    test_contents,
    test_meanwhile,
    test_meta,
    test_questions,
    test_rounds,
    test_waiting,
)
from tests.grid.benches import ASKING, ERAS, Cell, open_bench
from tests.grid.questions import form
from tests.support.ports import free_port, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.grid.benches import Bench
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

GIVEN = {"cell"}
MODULES = (
    *(test_cancellation, test_contents, test_meanwhile, test_meta),
    *(test_questions, test_rounds, test_waiting, test_changes),
)
"""All share their servers, so what changes those comes last."""


def parametrized(test: Callable[..., object]) -> set[str]:
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    names = [mark.args[0] for mark in marks]
    return {
        name.strip() for given in names for name in (given.split(",") if isinstance(given, str) else given)
    }


def needs_its_cell_only(test: Callable[..., object]) -> bool:
    needed, given = set(inspect.signature(test).parameters), parametrized(test)
    # One that is not for all ways to the client says so to its cell.
    return "cell" in needed and needed - given <= GIVEN and given <= needed


for module in MODULES:
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    globals().update({name: test for name, test in tests.items() if needs_its_cell_only(test)})


def serve(stack: contextlib.AsyncExitStack, home: Path, era: Era) -> Json:
    """Starts a conversing server, and returns its entry."""
    steps = {ASKING: [{"ask": [form("Which edition?")]}]}
    options = json.dumps({"era": era, "journal": str(home / f"{era}.journal"), "read_steps": steps})
    port = free_port()
    command = [sys.executable, "-S", "-m", "tests.servers.conversing_http", str(port), options]
    stack.enter_context(listening(command, port))
    return {"url": f"http://127.0.0.1:{port}/mcp"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def benches(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Callable[[Era], Awaitable[Bench]]]:
    """One for each era of the client, each started when it is first wanted."""
    opened: dict[Era, Bench] = {}
    async with contextlib.AsyncExitStack() as stack:

        async def bench(era: Era) -> Bench:
            if era not in opened:
                home = tmp_path_factory.mktemp(era)
                servers: dict[str, Json] = {server: serve(stack, home, server) for server in ERAS}
                opened[era] = await stack.enter_async_context(open_bench(home, era, servers=servers))
            return opened[era]

        yield bench


@pytest_asyncio.fixture(loop_scope="module")
async def cell(
    benches: Callable[[Era], Awaitable[Bench]], client_era: Era, server_era: Era
) -> AsyncIterator[Cell]:
    """One combination of the eras; all that goes over the wire in a test has to keep the schemas."""
    bench = await benches(client_era)
    yield Cell(bench, server_era)
    assert bench.faults() == []


async def test_much_of_the_grid_is_here() -> None:
    assert len([name for name in globals() if name.startswith("test_")]) > 30
