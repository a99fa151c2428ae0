"""Tries a server before it is added: starts it, lists its tools, and ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import load_data
from mcp_workbench.errors import StartError
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.setup.editing import SERVERS, TOOLBOXES
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.registry import build
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.errors import Cause
    from mcp_workbench.setup.editing import Addition
    from mcp_workbench.workbench.configured_server import ConfiguredServer


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a trial: the tools of the server, or why it could not be used."""

    seconds: float
    tools: tuple[str, ...] = ()
    cause: Cause | None = None
    """Why the server cannot be used, as a code of `CAUSES`; None if it can."""
    title: str = ""
    """What the server calls itself."""
    error: str = ""
    """Why the server could not be used; empty if it could."""
    stderr: tuple[str, ...] = ()
    """The last lines of the server's stderr, if it failed."""
    hint: str = ""

    @property
    def wants_login(self) -> bool:
        """Whether the server works, but requires a login first."""
        return self.cause == "login-required"


class _Info(msgspec.Struct):
    title: str = ""


def load_alone(
    addition: Addition, environ: Mapping[str, str], lookup: SecretLookup, directory: str
) -> LoadedConfig:
    """Return the configuration of a server as if it were the only one. Raises ConfigError.

    What is wrong elsewhere in the file does not matter for a trial. `directory` is that of the file.
    """
    toolbox = {"description": addition.description, SERVERS: {addition.server: addition.entry}}
    return load_data({TOOLBOXES: {addition.toolbox: toolbox}}, environ, lookup=lookup, directory=directory)


async def try_server(loaded: LoadedConfig, environ: Mapping[str, str]) -> Trial:
    """Start the only server of a configuration, list its tools, and end it."""
    cancel_on_request_to_end()
    workbench = build(loaded, environ=environ, cache=cache_directory(environ), keeps_pins=False)
    (toolbox_server,) = workbench.toolbox_servers.values()
    try:
        return await attempt(toolbox_server)
    finally:
        await workbench.close()


async def attempt(toolbox_server: ConfiguredServer) -> Trial:
    """Start a server and list its tools. It runs on if it can be used."""
    started = time.perf_counter()
    try:
        tools = await toolbox_server.tools(modern=True)
        if not tools and (failure := toolbox_server.all_hidden()) is not None:
            raise failure
    except StartError as error:
        return Trial(
            seconds=_seconds_since(started),
            cause=error.cause,
            error=clean_text(error.reason),
            stderr=tuple(clean_text(line) for line in error.stderr),
            hint=clean_text(error.hint),
        )
    offer = toolbox_server.server.offer
    title = "" if offer is None else _title(offer.server_info)
    return Trial(seconds=_seconds_since(started), tools=tuple(tools), title=toolbox_server.server.mask(title))


def _seconds_since(started: float) -> float:
    return round(time.perf_counter() - started, 3)


def _title(server_info: msgspec.Raw) -> str:
    try:
        return clean_text(msgspec.json.decode(server_info, type=_Info).title)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
