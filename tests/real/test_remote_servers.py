"""Real servers over HTTP behind the workbench, in every way that their SDKs serve."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.support import ports
from tests.support.configs import toolboxes
from tests.support.sessions import names, text_of
from tests.support.talking import Talker, able, using

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.sessions import Session

WAYS = ("stream", "json", "stateless stream", "stateless json", "sse")


@pytest.fixture(params=WAYS, scope="module")
def official(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """How the server on the official Python SDK serves, and its address."""
    with ports.official(request.param) as url:
        yield request.param, url


@pytest.fixture(params=["streamableHttp", "sse"], scope="module")
def everything(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the reference server in TypeScript."""
    with ports.everything_over(request.param) as url:
        yield url


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_a_server_on_the_python_sdk_serves_clients_of_both_eras(
    connect: Connect, official: tuple[str, str], protocol: str
) -> None:
    _, url = official
    session = await connect(toolboxes(dev={"web": {"url": url, "protocol": protocol}}))
    opened = json.loads(text_of(await session.open_toolbox("dev", detail="full")))
    assert "mutter" in names(opened["tools"])
    calls = [session.use_tool("dev", "web", "count", {"steps": 2}) for _ in range(5)]
    assert {text_of(result) for result in await asyncio.gather(*calls)} == {"counted"}


async def test_what_such_a_server_asks_in_the_middle_of_a_call_is_answered(
    connect: Connect, official: tuple[str, str]
) -> None:
    way, url = official
    session = await connect(toolboxes(dev={"web": {"url": url}}))
    session.capabilities = able(session.era)
    await session.greet()
    answered = await Talker(session).request("tools/call", using("web", {}, tool="greet"))
    assert text_of(answered).startswith("Hello, "), way


async def test_the_reference_server_serves_over_both_transports(connect: Connect, everything: str) -> None:
    session = await connect(toolboxes(dev={"web": {"url": everything}}))
    assert text_of(await session.use_tool("dev", "web", "get-sum", {"a": 1, "b": 2})).endswith("is 3.")
    progress = await long_running(session)
    assert [note["params"]["progress"] for note in progress] == [1, 2]


async def long_running(session: Session) -> list[dict[str, dict[str, int]]]:
    arguments = {"duration": 0.2, "steps": 2}
    await session.use_tool("dev", "web", "trigger-long-running-operation", arguments, {"progressToken": "p"})
    return [note for note in session.client.notifications if note["method"] == "notifications/progress"]


@pytest.mark.parametrize(
    ("serve", "way", "tool", "arguments"),
    [
        (ports.official, "stream", "count", {"steps": 1}),
        (ports.everything_over, "streamableHttp", "get-sum", {"a": 1, "b": 2}),
        (ports.everything_over, "sse", "get-sum", {"a": 1, "b": 2}),
    ],
    ids=["Python SDK", "reference server", "reference server over SSE"],
)
async def test_a_legacy_server_that_was_restarted_is_found_again_by_the_next_call(
    connect_modern: Connect,
    serve: Callable[[str, int], AbstractContextManager[str]],
    way: str,
    tool: str,
    arguments: Json,
) -> None:
    port = ports.free_port()
    with serve(way, port) as url:
        session = await connect_modern(toolboxes(dev={"web": {"url": url, "protocol": "legacy"}}))
        text_of(await session.use_tool("dev", "web", tool, arguments))
    with serve(way, port):
        text_of(await session.use_tool("dev", "web", tool, arguments))
