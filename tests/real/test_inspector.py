"""The command line of the official MCP Inspector, in front of a workbench that listens."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.conformance.suite import node
from tests.real import servers
from tests.support.client import clean_environment
from tests.support.configs import toolboxes
from tests.support.http_bench import HttpBench, http_bench
from tests.support.sessions import names, text_of
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.client import Json

pytestmark = pytest.mark.asyncio(loop_scope="module")

INSPECTOR = servers.NODE / "node_modules" / "@modelcontextprotocol" / "inspector"
ERAS = ("legacy", "modern")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HttpBench]:
    config = toolboxes(dev={"everything": servers.everything()})
    async with http_bench(tmp_path_factory.mktemp("bench"), config) as bench:
        yield bench


async def inspect(home: Path, bench: HttpBench, era: str, *options: str) -> Json:
    """What the Inspector prints."""
    nothing, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    launcher = INSPECTOR / "clients" / "launcher" / "build" / "index.js"
    called = (str(launcher), "--cli", bench.url, "--transport", "http", "--protocol-era", era, *options)
    process = await asyncio.create_subprocess_exec(
        node(),
        *called,
        env=clean_environment(home),
        stdin=nothing,
        stdout=pipe,
        stderr=pipe,
    )
    async with asyncio.timeout(3 * PATIENCE):
        stdout, stderr = await process.communicate()
    assert process.returncode == 0, stderr.decode()
    printed: Json = json.loads(stdout)
    return printed


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_lists_the_two_tools(tmp_path: Path, bench: HttpBench, era: str) -> None:
    listed = await inspect(tmp_path, bench, era, "--method", "tools/list")
    assert names(listed["tools"]) == ["open_toolbox", "use_tool"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_calls_a_tool_of_a_server(tmp_path: Path, bench: HttpBench, era: str) -> None:
    identifier = {"toolbox": "dev", "server": "everything", "tool": "echo"}
    arguments = json.dumps({"tool": identifier, "arguments": {"message": "café ✓"}})
    called = ("--method", "tools/call", "--tool-name", "use_tool", "--tool-args-json", arguments)
    assert text_of(await inspect(tmp_path, bench, era, *called)) == "Echo: café ✓"
