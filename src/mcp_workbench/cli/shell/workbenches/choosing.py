"""Chooses the workbench that a command uses: one that runs already if there is one, else one of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from mcp_workbench.cli.shell.addresses import WrongAddress
from mcp_workbench.cli.shell.workbenches.connection import TOKEN_VARIABLE
from mcp_workbench.cli.shell.workbenches.own_workbench import own_workbench
from mcp_workbench.storage.running_workbenches import running_workbenches
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Mapping

    from mcp_workbench.cli.shell.workbenches.connection import WorkbenchConnection
    from mcp_workbench.cli.shell.workbenches.own_workbench import OwnWorkbench
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.errors import WorkbenchError
    from mcp_workbench.workbench.toolbox import Toolbox

ANSWER_SECONDS: Final = 1.0
"""Seconds in which a running workbench has to show that it is alive."""


class WorkbenchChoice:
    """The workbenches that a command may use: one tells what is known, and one runs servers if needed."""

    def __init__(
        self, known: WorkbenchConnection, chosen: WorkbenchConnection | None, *, is_elsewhere: bool = False
    ) -> None:
        self.known = known
        """The workbench that tells what is known, without starting anything."""
        self._chosen = chosen
        self.is_elsewhere = is_elsewhere
        """Whether the user has named a workbench, of which only the names of toolboxes are known at first."""

    @property
    def toolboxes(self) -> Mapping[str, Toolbox]:
        """The toolboxes of the configuration, or of the workbench that the user has named."""
        return self.known.toolboxes

    async def connection(self) -> WorkbenchConnection:
        """Return the workbench that runs the servers. Raises WireError."""
        return self._chosen or self.known


class ConfiguredChoice(WorkbenchChoice):
    """The workbenches for a configuration file: a running one is looked for when something has to run."""

    def __init__(self, own: OwnWorkbench, config: str, stack: AsyncExitStack, *, quietly: bool) -> None:
        super().__init__(own, None)
        self._config = config
        self._stack = stack
        self._quietly = quietly

    async def connection(self) -> WorkbenchConnection:
        """Return a running workbench of the same configuration, else one in this process."""
        if self._chosen is None:
            self._chosen = self.known
            if (url := await self._running()) is not None:
                self._say(f"Using the running workbench at {url}")
                # Loads the HTTP library.
                from mcp_workbench.cli.shell.workbenches.http_workbench import http_workbench

                running = http_workbench(url, _token(), self.toolboxes)
                self._chosen = await self._stack.enter_async_context(running)
        return self._chosen

    async def _running(self) -> str | None:
        """Return the URL of a running workbench of the same configuration that this user may use."""
        for workbench in running_workbenches(self._config, os.environ):
            if not await _answers(workbench.url):
                continue
            if not workbench.needs_token or _token():
                return workbench.url
            self._say(f"The workbench at {workbench.url} needs a token: set ${TOKEN_VARIABLE} to use it")
        return None

    def _say(self, text: str) -> None:
        if not self._quietly:
            print(show_name(text), file=sys.stderr)


@asynccontextmanager
async def workbench_choice(
    options: argparse.Namespace, loaded: LoadedConfig | None
) -> AsyncIterator[WorkbenchChoice]:
    """Offer the workbenches that a command may use: with `--url` that one, else those of the configuration.

    Raises WrongAddress if `--url` is no URL, and WireError if the workbench there cannot be used.
    """
    async with AsyncExitStack() as stack:
        if loaded is None:
            from mcp_workbench.cli.shell.workbenches.http_workbench import http_workbench

            named = await stack.enter_async_context(http_workbench(endpoint(options.url), _token()))
            yield WorkbenchChoice(named, named, is_elsewhere=True)
            return
        own = await stack.enter_async_context(own_workbench(loaded))
        if options.local:
            yield WorkbenchChoice(own, own)
        else:
            yield ConfiguredChoice(own, loaded.path, stack, quietly=options.json)


async def know_toolbox(text: str, choice: WorkbenchChoice) -> None:
    """Let a workbench that the user has named open the toolbox that a name begins with.

    Nothing is known here of its servers before that. Raises CallError and WireError.
    """
    if not choice.is_elsewhere:
        return
    workbench = await choice.connection()
    for name, toolbox in list(choice.toolboxes.items()):
        is_meant = text == name or text.startswith(f"{name}/") or encode(name).decode() in text
        if is_meant and not toolbox.toolbox_servers:
            await workbench.open(toolbox, None)


def endpoint(url: str) -> str:
    """Return the URL of a workbench, which may be given without its scheme and path. Raises WrongAddress."""
    full = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(full)
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        example = "http://127.0.0.1:8000/mcp"
        raise WrongAddress(f"--url: '{show_name(url)}' is not the URL of a workbench, such as {example}")
    return full if parts.path.strip("/") else parts._replace(path="/mcp").geturl()


def explained(error: WorkbenchError) -> str:
    """Return the message of an error, with the hint if it has one."""
    hint = getattr(error, "hint", "")
    return f"{error}. {hint}" if hint else str(error)


def _token() -> str | None:
    return os.environ.get(TOKEN_VARIABLE) or None


async def _answers(url: str) -> bool:
    """Whether a workbench at a URL of this machine is ready. Does not load the HTTP library."""
    host, _, port = url.removeprefix("http://").partition("/")[0].rpartition(":")
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                writer.write(f"GET /readyz HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
                status_line = await reader.readline()
            finally:
                writer.close()
    except (OSError, ValueError):
        return False
    return status_line.split()[1:2] == [b"200"]
