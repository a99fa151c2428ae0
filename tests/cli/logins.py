"""The login command as a person runs it: in a terminal of its own, beside a browser."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.support.client import clean_environment, write_config
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.support.authorizing import Authority

LONG = 3 * PATIENCE
"""Seconds for the command: it loads the SDK, which is slow on a busy computer."""
FILE_ONLY = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
"""Environment in which logins are kept in files, so that the tests use no keyring."""


def remote(url: str, **entry: object) -> dict[str, Any]:
    """A configuration with one remote server, `team/wiki`."""
    servers = {"wiki": {"url": url, **entry}}
    return {"toolboxes": {"team": {"description": "The team's", "mcpServers": servers}}}


class Terminal:
    """A command that is running, and all that it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""

    async def read_until(self, text: str) -> str:
        """What has been said, once it holds the text."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LONG):
            while text not in self.said:
                data = await self.process.stdout.read(65536)
                assert data, f"it ended without {text!r}: {self.said}"
                self.said += data.decode()
        return self.said

    async def address(self) -> str:
        """What the person is to open."""
        said = await self.read_until("paste it here")
        return next(line.strip() for line in said.splitlines() if line.startswith("  http"))

    async def paste(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        await self.process.stdin.drain()

    async def end(self) -> int:
        """Wait for the command to end, and return its exit code."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LONG):
            self.said += (await self.process.stdout.read()).decode()
            return await self.process.wait()


@asynccontextmanager
async def running(home: Path, *args: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Terminal]:
    """`mcp-workbench` with these arguments; what it says to stderr is said too."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mcp_workbench", *args),
        cwd=home,
        env=clean_environment(home, {**FILE_ONLY, **(env or {})}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Terminal(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def logging_in(
    home: Path, config: dict[str, Any], *args: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[Terminal]:
    write_config(home, config)
    async with running(home, "login", "team/wiki", *args, env=env) as terminal:
        yield terminal


async def log_in(home: Path, server: Authority, *args: str, **entry: object) -> str:
    """All that was said in a login that went well."""
    async with logging_in(home, remote(server.url, **entry), *args) as terminal:
        await server.browse(await terminal.address())
        assert await terminal.end() == 0, terminal.said
        return terminal.said


def kept(home: Path) -> list[Path]:
    """The files of the logins that there are."""
    return sorted((home / ".local/share/mcp-workbench/logins").glob("*.json"))
