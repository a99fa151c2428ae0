"""Serving over stdio loads the event loop, msgspec and our own modules, and next to nothing else.

Every MCP client starts the workbench with itself, some of them twice, and imports are what that costs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.structure.package import PACKAGE
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import server, toolboxes
from tests.support.sessions import LegacySession, ModernSession
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json

pytestmark = [pytest.mark.slow, pytest.mark.untraced]

IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)

FOUNDATION = "import argparse, asyncio, json, msgspec, runpy, uvloop"
"""What the workbench stands on: whatever this loads is paid for already, `runpy` by `python -m`."""

ALSO = {"encodings.utf_8_sig", "fnmatch", "gettext"}
"""What it may load beyond that: for reading the file, for filters, and by argparse."""


def modules_loaded(stderr: str) -> set[str]:
    return set(IMPORTED.findall(stderr))


def loaded_by_the_foundation(home: Path) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-c", FOUNDATION]
    done = subprocess.run(command, env=clean_environment(home), capture_output=True, check=True)
    return modules_loaded(done.stderr.decode())


def traced(home: Path, **others: Json) -> RawClient:
    """A workbench that tells on stderr what it loads."""
    python, *rest = serve_command(write_config(home, toolboxes(dev={"echo": server(), **others})))
    return RawClient([python, "-X", "importtime", *rest], clean_environment(home))


async def loaded_when_serving(home: Path) -> set[str]:
    """What is loaded once clients of both eras have asked for the tools."""
    async with traced(home) as client:
        for session in (LegacySession(client), ModernSession(client)):
            await session.greet()
            await session.list_tools()
        await client.close()
    return modules_loaded(client.stderr)


async def loaded_when_used(home: Path) -> set[str]:
    """What is loaded once a tool has been called."""
    async with traced(home) as client:
        await ModernSession(client).use_tool("dev", "echo", "echo", {"a": 1})
        await client.close()
    return modules_loaded(client.stderr)


async def test_serving_loads_little_beyond_its_foundation(tmp_path: Path) -> None:
    extra = await loaded_when_serving(tmp_path) - loaded_by_the_foundation(tmp_path)
    others = {name for name in extra if name.partition(".")[0] != PACKAGE}
    assert sorted(others - ALSO) == []


async def test_serving_loads_nothing_that_is_for_people_or_for_the_network(tmp_path: Path) -> None:
    loaded = await loaded_when_serving(tmp_path)
    assert f"{PACKAGE}.surface" in loaded
    foreign = {"anyio", "email", "http", "httpx2", "mcp", "pydantic", "rich", "starlette", "urllib.request"}
    commands = {
        f"{PACKAGE}.{name}" for name in ("demo", "cli.commands", "cli.inspection", "cli.demo", "cli.schema")
    }
    assert loaded & (foreign | commands) == set()


async def test_what_http_needs_is_loaded_at_the_start_if_a_server_is_reached_so(tmp_path: Path) -> None:
    async with traced(tmp_path, web={"url": "http://127.0.0.1:9/mcp"}) as client:
        await ModernSession(client).greet()
        await poll(lambda: "httpx2" in modules_loaded(client.stderr))
        await client.close()
    assert modules_loaded(client.stderr) & {"mcp", "mcp_types", "pydantic"} == set()


async def test_nothing_that_is_for_kept_results_or_for_limits_is_loaded_without_them(tmp_path: Path) -> None:
    loaded = await loaded_when_used(tmp_path)
    assert f"{PACKAGE}.surface.relay.relayed" in loaded
    optional = ("kept", "flows", "read_only_call", "sampling_consent", "server_rights")
    assert {name for name in loaded if any(part in name for part in optional)} == set()


async def test_nothing_of_the_audit_is_loaded_or_written_before_a_call(tmp_path: Path) -> None:
    loaded = await loaded_when_serving(tmp_path)
    ours = {name for name in loaded if f"{PACKAGE}." in name and "audit" in name}
    assert ours == {f"{PACKAGE}.serve.audit", f"{PACKAGE}.serve.audit.call_audit"}
    assert not (tmp_path / ".local").exists()
    assert f"{PACKAGE}.serve.audit.audit_writer" in await loaded_when_used(tmp_path)


async def test_using_a_tool_loads_no_package_of_others(tmp_path: Path) -> None:
    extra = await loaded_when_used(tmp_path) - loaded_by_the_foundation(tmp_path)
    packages = {name.partition(".")[0] for name in extra}
    assert packages - sys.stdlib_module_names == {PACKAGE}
