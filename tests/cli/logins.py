"""The login command as a person runs it: in a terminal of its own, beside a browser."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.cli.access import login
from mcp_workbench.cli.options import parser
from mcp_workbench.config import load
from tests.support.client import clean_environment, write_config
from tests.support.keyrings import use_no_keyring
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from mcp_workbench.config import LoadedConfig
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
async def logging_in_by_command(
    home: Path, config: dict[str, Any], *args: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[Terminal]:
    write_config(home, config)
    async with running(home, "login", "team/wiki", *args, env=env) as terminal:
        yield terminal


async def log_in_by_command(home: Path, server: Authority, *args: str, **entry: object) -> str:
    """All that was said in a login that went well."""
    async with logging_in_by_command(home, remote(server.url, **entry), *args) as terminal:
        await server.browse(await terminal.address())
        assert await terminal.end() == 0, terminal.said
        return terminal.said


class LoginHere:
    """The command in this process, where the SDK is loaded once for all tests, and what it has said."""

    def __init__(self, loaded: LoadedConfig, options: argparse.Namespace) -> None:
        self._lines: list[str] = []
        self._work = asyncio.create_task(login.log_in_or_out(loaded, options))

    @property
    def said(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def hear(self, line: str) -> None:
        self._lines.append(line)

    async def address(self) -> str:
        """What the person is to open."""
        await poll(lambda: self._work.done() or "paste it here" in self.said, within=LONG)
        return next(line.strip() for line in self.said.splitlines() if line.startswith("  http"))

    async def end(self) -> int:
        """Wait for the command to end, and return its exit code."""
        async with asyncio.timeout(LONG):
            return await self._work

    async def close(self) -> None:
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)


@asynccontextmanager
async def logging_in(home: Path, config: dict[str, Any], *args: str) -> AsyncIterator[LoginHere]:
    """A login in this process, by the same code that the command runs."""
    path = write_config(home, config)
    with pytest.MonkeyPatch.context() as patch:
        use_no_keyring(patch)
        for name, value in clean_environment(home).items():
            patch.setenv(name, value)
        options = parser().parse_args(["login", "team/wiki", "--no-browser", *args])
        here = LoginHere(load(path, os.environ), options)
        for name in ("say", "complain"):
            patch.setattr(login, name, here.hear)
        try:
            yield here
        finally:
            await here.close()


async def log_in(home: Path, server: Authority, *args: str, **entry: object) -> str:
    """All that was said in a login that went well, in this process."""
    async with logging_in(home, remote(server.url, **entry), *args) as here:
        await server.browse(await here.address())
        assert await here.end() == 0, here.said
        return here.said


def kept(home: Path) -> list[Path]:
    """The files of the logins that there are."""
    return sorted((home / ".local/share/mcp-workbench/logins").glob("*.json"))
