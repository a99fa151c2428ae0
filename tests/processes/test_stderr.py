"""What a server says on its stderr: forwarded with its name, kept for failures, and never in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.configs import server, toolboxes
from tests.support.sessions import ModernSession, text_of

if TYPE_CHECKING:
    from tests.conftest import Start

TALKING = toolboxes(dev={"chatty": server(stderr=["hello from below"])})


async def stderr_after_a_call(start: Start, *args: str) -> str:
    session = ModernSession(await start(TALKING, *args))
    assert text_of(await session.use_tool("dev", "chatty", "echo")) == "{}"
    await session.client.close()
    return session.client.stderr


async def test_it_is_forwarded_with_the_name_of_the_server(start: Start) -> None:
    stderr = await stderr_after_a_call(start)
    (line,) = [line for line in stderr.splitlines() if "hello from below" in line]
    assert "chatty" in line.partition("hello from below")[0]


@pytest.mark.parametrize(
    ("level", "forwarded"),
    [("debug", True), ("info", True), ("warning", False), ("error", False), ("off", False)],
)
async def test_the_level_decides_whether_it_is_forwarded(start: Start, level: str, forwarded: bool) -> None:
    assert ("hello from below" in await stderr_after_a_call(start, "--log-level", level)) is forwarded


async def test_no_level_at_all_is_silence(start: Start) -> None:
    assert await stderr_after_a_call(start, "--log-level", "off") == ""


async def test_only_the_last_lines_are_kept_for_a_failure(start: Start) -> None:
    lines = [f"line {number} " + "x" * 60 for number in range(1000)]
    config = toolboxes(dev={"bad": server(stderr=lines, exit=1), "good": server()})
    session = ModernSession(await start(config))
    (failure,) = (await session.open_toolbox("dev"))["structuredContent"]["failed_servers"]
    assert 1 <= len(failure["stderr"]) <= 100
    assert failure["stderr"] == lines[-len(failure["stderr"]) :]


async def test_a_flood_of_it_that_nobody_reads_blocks_no_call(start: Start) -> None:
    flooding = server(stderr=["x" * 1000], stderr_times=5000)
    session = ModernSession(await start(toolboxes(dev={"chatty": flooding})))
    session.client.stop_reading("stderr")
    assert text_of(await session.use_tool("dev", "chatty", "echo")) == "{}"
