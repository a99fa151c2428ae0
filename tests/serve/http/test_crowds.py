"""Many connections that say nothing, from one address and from many, and that all others are served."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from mcp_workbench.serve import connections
from mcp_workbench.serve.connection_limits import ConnectionLimits
from tests.serve.http.inside import serving
from tests.serve.http.raw_clients import JSON
from tests.support.configs import server, toolboxes
from tests.support.http import Wire
from tests.support.sessions import result_of
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.serve.http.inside import Inside

MOST = 100
PER_ADDRESS = 40
SILENT = 500
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    config = toolboxes(dev={"files": server()})
    async with serving(tmp_path, config, ConnectionLimits(MOST, PER_ADDRESS)) as inside:
        yield inside


@contextlib.asynccontextmanager
async def silent(url: str, *addresses: str) -> AsyncIterator[None]:
    """Connections that say nothing, by turns from each of these addresses."""
    place = urlsplit(url)
    writers = []
    try:
        async with asyncio.timeout(PATIENCE):
            for number in range(SILENT):
                source = (addresses[number % len(addresses)], 0)
                _, writer = await asyncio.open_connection(place.hostname, place.port, local_addr=source)
                writers.append(writer)
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


@pytest.mark.parametrize(
    ("addresses", "most"),
    [(["127.0.0.1"], PER_ADDRESS), ([f"127.0.0.{number}" for number in range(2, 12)], MOST)],
    ids=["one address", "ten addresses"],
)
async def test_silent_connections_lock_nobody_out(inside: Inside, addresses: list[str], most: int) -> None:
    client = await inside.legacy()
    established = await client.wire()
    response = await established.ask("POST", {**JSON, **client.headers}, PING)
    assert result_of(await response.json()) == {}
    authenticated = len(inside.connections)
    async with silent(inside.url, *addresses):
        await poll(lambda: len(inside.connections) <= most + authenticated)
        response = await established.ask("POST", {**JSON, **client.headers}, PING)
        assert result_of(await response.json()) == {}
        for _ in range(5):
            newcomer = await inside.legacy()
            assert result_of(await (await newcomer.send("ping")).json()) == {}


async def test_all_connections_are_counted_out_again(inside: Inside) -> None:
    async with silent(inside.url, "127.0.0.2", "127.0.0.3", "127.0.0.4"):
        pass
    async with await Wire.open(inside.url) as wire:
        assert (await wire.ask("GET", path="/healthz")).status == 200
    limits = inside.limits
    await poll(lambda: len(limits) == 0)
    assert (limits._trusted, limits._unknown, limits._unknown_of) == (set(), {}, {})


async def test_a_silent_connection_has_less_time_in_a_crowd(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with silent(inside.url, *[f"127.0.0.{number}" for number in range(2, 12)]):
        monkeypatch.setattr(connections, "CROWDED_HEADERS_TIMEOUT_SECONDS", 0.1)
        async with await Wire.open(inside.url) as wire:
            await wire.end(connections.HEADERS_TIMEOUT_SECONDS / 2)
