"""Real clients in front of the workbench, each in every way it can connect."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from mcp import Client

from tests.real import servers
from tests.real.clients import (
    KINDS,
    MODERN,
    TRANSPORTS,
    Call,
    Kind,
    Program,
    Transcript,
    Transport,
    plain,
    reached,
    workbench,
)
from tests.real.processes import processes_of
from tests.real.results import substance, without_advice
from tests.support.configs import toolboxes
from tests.support.sessions import failure_of, names, text_of
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_types import CallToolResult

    from tests.support.client import Json

CALLS = [
    Call("echo", {"message": "café ✓"}),
    Call("get-structured-content", {"location": "Chicago"}),
    Call("get-tiny-image", {}),
    Call("get-annotated-message", {"messageType": "error", "includeImage": True}),
    Call("get-sum", {"a": "not a number", "b": 2}),
]


def use(call: Call) -> Call:
    identifier = {"toolbox": "dev", "server": "everything", "tool": call.name}
    return Call("use_tool", {"tool": identifier, "arguments": call.arguments})


def everything() -> Json:
    return toolboxes(dev={"everything": servers.everything()})


@dataclass(frozen=True)
class Visit:
    """One client's dealings with the workbench, and with the server behind it."""

    kind: Kind
    home: Path
    seen: Transcript
    direct: Transcript

    @property
    def opened(self) -> Json:
        return self.seen.results[0]

    @property
    def used(self) -> list[Json]:
        return self.seen.results[1:-1]

    @property
    def refused(self) -> Json:
        return self.seen.results[-1]


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[(kind, transport) for transport in TRANSPORTS for kind in KINDS],
    ids=lambda param: f"{param[0]} over {param[1]}",
)
async def visit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    named, transport = request.param
    kind = KINDS[named]
    home = tmp_path_factory.mktemp("visit")
    opening = Call("open_toolbox", {"toolbox_name": "dev", "detail": "full"})
    refused = Call("open_toolbox", {"toolbox_name": "nowhere"})
    entry = servers.everything()
    async with workbench(home, everything(), transport) as target:
        seen, direct = await asyncio.gather(
            kind.drive(target, [opening, *map(use, CALLS), refused]),
            kind.drive_legacy(Program(entry["command"], entry["args"], {}), CALLS),
        )
    return Visit(kind, home, seen, direct)


def test_a_client_connects_in_its_own_era(visit: Visit) -> None:
    assert visit.seen.version == visit.kind.version


def test_a_client_finds_exactly_two_tools(visit: Visit) -> None:
    assert names(visit.seen.tools) == ["open_toolbox", "use_tool"]


def test_a_client_reads_the_toolboxes_in_the_instructions(visit: Visit) -> None:
    instructions = visit.seen.instructions or ""
    assert ("Available Toolboxes:" in instructions) is visit.kind.hears_instructions


def test_a_client_opens_a_toolbox_and_gets_its_tools(visit: Visit) -> None:
    opened = json.loads(text_of(visit.opened))
    assert opened == visit.opened["structuredContent"]
    assert names(opened["tools"]) == names(visit.direct.tools)


def test_a_client_gets_the_results_that_the_server_gave(visit: Visit) -> None:
    assert [substance(without_advice(result)) for result in visit.used] == visit.direct.results


def test_a_client_is_told_what_does_not_fit_and_how_the_tool_is_defined(visit: Visit) -> None:
    *_, (failure, advice) = (result["content"] for result in visit.used)
    assert failure["text"].startswith("MCP error -32602: Input validation error")
    front, _, shown = advice["text"].partition("The tool's input schema: ")
    assert front == "The arguments do not fit the tool's schema: 'a' must be number, not string. "
    listed = {tool["name"]: tool for tool in visit.opened["structuredContent"]["tools"]}
    assert json.loads(shown) == {"name": "get-sum", "inputSchema": listed["get-sum"]["inputSchema"]}


def test_a_client_that_names_an_unknown_toolbox_is_told_which_there_are(visit: Visit) -> None:
    assert failure_of(visit.refused).startswith("Toolbox 'nowhere' not found. Available toolboxes: dev")


def test_no_process_outlives_the_client(visit: Visit) -> None:
    assert processes_of(visit.home) == set()


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_twenty_calls_at_once_keep_their_own_results_and_progress(
    tmp_path: Path, mode: str, transport: Transport
) -> None:
    steps_seen: dict[int, list[tuple[float, float | None]]] = {steps: [] for steps in range(1, 21)}

    async def call(client: Client, steps: int) -> CallToolResult:
        async def note(progress: float, total: float | None, message: str | None) -> None:
            steps_seen[steps].append((progress, total))

        used = use(Call("trigger-long-running-operation", {"duration": 1, "steps": steps}))
        return await client.call_tool(used.name, used.arguments, progress_callback=note)

    async with (
        asyncio.timeout(PATIENCE),
        workbench(tmp_path, everything(), transport) as target,
        Client(reached(target), mode=mode) as client,
    ):
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        async with asyncio.timeout(5):
            results = await asyncio.gather(*(call(client, steps) for steps in steps_seen))
        serving = processes_of(tmp_path)

    assert [text_of(plain(result)) for result in results] == [
        f"Long running operation completed. Duration: 1 seconds, Steps: {steps}." for steps in steps_seen
    ]
    assert steps_seen == {steps: [(done, steps) for done in range(1, steps + 1)] for steps in steps_seen}
    assert len(serving) == 2
    assert processes_of(tmp_path) == set()
