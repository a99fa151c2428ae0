"""What a server says on its stderr: forwarded with its name, kept for failures, and never in the way."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import server, toolboxes
from tests.support.sessions import ModernSession, text_of
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.conftest import Start
    from tests.support.client import Json
    from tests.support.sessions import Session

FLOODING = """
import os, pathlib, sys

line, size, done = sys.argv[1].encode() + b"\\n", int(sys.argv[2]), pathlib.Path(sys.argv[3])
while size > 0:
    size -= os.write(2, line * (65536 // len(line)))
os.write(2, b"\\nthat was all\\n")
done.touch()
sys.exit(1)
"""
OPEN = '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}'

TALKING = toolboxes(dev={"chatty": server(stderr=["hello from below"])})


def flooding(line: str, size: int, done: Path) -> Json:
    """A server that writes so many bytes of these lines as fast as it can, and leaves."""
    return {
        "command": sys.executable,
        "args": ["-S", "-c", FLOODING, line, str(size), str(done)],
        "startupTimeout": 60,
        "protocol": "legacy",
    }


def memory(session: Session) -> int:
    """Bytes that the workbench has in memory."""
    statm = Path(f"/proc/{session.client.process.pid}/statm").read_text(encoding="ascii")
    return int(statm.split()[1]) * resource.getpagesize()


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


@pytest.mark.untraced
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("line", ["x" * 1000, "x"], ids=["long lines", "short lines"])
async def test_fifty_megabytes_of_it_cost_the_others_next_to_nothing(
    start: Start, tmp_path: Path, line: str
) -> None:
    done = tmp_path / "done"
    boxed = {"flood": flooding(line, 50_000_000, done), "quiet": server()}
    config = toolboxes(dev=boxed)
    config["toolboxes"]["dev"]["openDeadline"] = 60
    session = ModernSession(await start(config))
    await session.use_tool("dev", "quiet", "echo")
    before = memory(session)
    opening = await session.begin("tools/call", OPEN)
    slowest = 0.0
    async with asyncio.timeout(60):
        while not done.exists():
            asked_at = time.monotonic()
            assert text_of(await session.use_tool("dev", "quiet", "echo")) == "{}"
            slowest = max(slowest, time.monotonic() - asked_at)
    assert slowest < 1
    assert memory(session) - before < 20_000_000
    async with asyncio.timeout(PATIENCE):
        opened = (await opening).message["result"]["structuredContent"]
    (failure,) = opened["failed_servers"]
    assert failure["stderr"][-1] == "that was all"
    await session.client.close()
    assert "mcp-workbench: [dev/flood] (too much for the log: " in session.client.stderr
    # Our own events are none of these lines.
    assert "the server exited with code 1" in session.client.stderr
