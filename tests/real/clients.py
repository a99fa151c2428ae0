"""Real MCP clients, each made to do the same: connect, list the tools, make some calls, leave.

What a client saw is a `Transcript` of plain JSON, so that one test body runs over all of them, and so that
a client's view of a server can be compared: directly, and through the workbench.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.real.servers import NODE
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.http_bench import http_bench
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from mcp.client._transport import TransportStreams
    from pydantic import BaseModel

    from tests.support.client import Json

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

Transport = Literal["stdio", "http"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")

LONG = 3 * PATIENCE
"""Seconds for all that a client does: an SDK takes its time to load on a machine that is busy."""


@dataclass(frozen=True)
class Program:
    """What a client starts and talks to over stdio."""

    command: str
    args: list[str]
    env: dict[str, str]


@dataclass(frozen=True)
class Address:
    """What a client talks to over HTTP."""

    url: str


Target = Program | Address


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Json


@dataclass(frozen=True)
class Transcript:
    """What the client saw."""

    version: str | None
    instructions: str | None
    tools: list[Json]
    results: list[Json]


@contextlib.asynccontextmanager
async def workbench(home: Path, config: Json, transport: Transport) -> AsyncIterator[Target]:
    """A workbench that a client starts by itself, or finds at an address."""
    if transport == "http":
        async with http_bench(home, config) as bench:
            yield Address(bench.url)
    else:
        _, *args = serve_command(write_config(home, config))
        yield Program(sys.executable, args, clean_environment(home))


Drive = Callable[[Target, Sequence[Call]], Awaitable[Transcript]]


async def python(target: Target, calls: Sequence[Call], *, mode: str) -> Transcript:
    """The `Client` of the Python SDK."""
    async with asyncio.timeout(LONG), Client(reached(target), mode=mode) as client:
        return Transcript(
            client.protocol_version,
            client.instructions,
            [plain(tool) for tool in (await client.list_tools()).tools],
            [plain(await client.call_tool(call.name, call.arguments)) for call in calls],
        )


async def python_session(target: Target, calls: Sequence[Call]) -> Transcript:
    """The bare `ClientSession`, as programs written for the Python SDK 1.x use it."""
    async with (
        asyncio.timeout(LONG),
        streams_to(target) as streams,
        ClientSession(*streams) as session,
    ):
        greeting = await session.initialize()
        return Transcript(
            greeting.protocol_version,
            greeting.instructions,
            [plain(tool) for tool in (await session.list_tools()).tools],
            [plain(await session.call_tool(call.name, call.arguments)) for call in calls],
        )


async def typescript(
    target: Target, calls: Sequence[Call], *, sdk: Literal["v1", "v2"], negotiation: object = None
) -> Transcript:
    """The `Client` of the TypeScript SDK, in a process of its own."""
    plan = asdict(target) | {
        "sdk": sdk,
        "negotiation": negotiation,
        "calls": [asdict(call) for call in calls],
    }
    pipe = asyncio.subprocess.PIPE
    node = await asyncio.create_subprocess_exec(
        "node", str(NODE / "client.mjs"), stdin=pipe, stdout=pipe, stderr=pipe
    )
    async with asyncio.timeout(LONG):
        stdout, stderr = await node.communicate(json.dumps(plan).encode())
    assert node.returncode == 0, stderr.decode()
    return Transcript(**json.loads(stdout))


@dataclass(frozen=True)
class Kind:
    """A client in one of its ways to connect."""

    drive: Drive
    version: str
    drive_legacy: Drive
    """The same client as it talks to a server of the old era."""
    hears_instructions: bool = True


python_legacy = partial(python, mode="legacy")
typescript_v1 = partial(typescript, sdk="v1")
typescript_v2_legacy = partial(typescript, sdk="v2", negotiation="legacy")
typescript_v2_pinned = partial(typescript, sdk="v2", negotiation={"pin": MODERN})

KINDS = {
    "python legacy": Kind(python_legacy, LEGACY, python_legacy),
    "python auto": Kind(partial(python, mode="auto"), MODERN, python_legacy),
    # A pinned version makes this client skip discovery, and with it the instructions.
    "python pinned": Kind(partial(python, mode=MODERN), MODERN, python_legacy, hears_instructions=False),
    "python session": Kind(python_session, LEGACY, python_session),
    "typescript v1": Kind(typescript_v1, LEGACY, typescript_v1),
    "typescript v2 legacy": Kind(typescript_v2_legacy, LEGACY, typescript_v2_legacy),
    "typescript v2 auto": Kind(
        partial(typescript, sdk="v2", negotiation="auto"), MODERN, typescript_v2_legacy
    ),
    "typescript v2 pinned": Kind(typescript_v2_pinned, MODERN, typescript_v2_legacy),
}


def reached(target: Target) -> StdioServerParameters | str:
    """In the words of the Python SDK."""
    return target.url if isinstance(target, Address) else parameters(target)


def parameters(program: Program) -> StdioServerParameters:
    return StdioServerParameters(**asdict(program))


def streams_to(target: Target) -> AbstractAsyncContextManager[TransportStreams]:
    if isinstance(target, Address):
        return streamable_http_client(target.url)
    return stdio_client(parameters(target))


def plain(model: BaseModel) -> Json:
    """What the server sent, without the client's own defaults."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)
