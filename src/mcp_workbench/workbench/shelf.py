"""A server's place in a toolbox: its tools as the configuration lets them be seen."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import ExecutionFailed, StartError, ToolNotFound, WireError
from mcp_workbench.workbench.filters import compile_filters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.downstream.connection import Connection, Tools
    from mcp_workbench.downstream.server import Server

    Index = Mapping[str, msgspec.Raw]

SIMILAR_SHOWN = 3
ATTEMPTS = 3
"""How often a server is made ready for one call, if it ends before the call is sent."""

log = logging.getLogger(__name__)


class _Named(msgspec.Struct):
    name: str


_decode_name = msgspec.json.Decoder(_Named).decode


class Shelf:
    """One server of one toolbox, with its tools found by name."""

    def __init__(self, toolbox: str, server: Server) -> None:
        self._toolbox = toolbox
        self._shows = compile_filters(server.config.tool_filters)
        self._listed: Tools = ()
        self._index: Index = {}
        self.server = server

    async def tools(self) -> Index:
        """The tools that can be used now, by name; connects first if need be. Raises StartError."""
        listed = await self.server.tools()
        if listed is not self._listed:
            self._read(listed)
        return self._index

    def ready(self, tool: str) -> Connection | None:
        """Where a tool can be called at once: the server is up, and is known to have it."""
        connection = self.server.connection
        if connection is None or connection.is_stale:
            return None
        if connection.listed is not self._listed:
            self._read(connection.listed)
        return connection if tool in self._index else None

    async def connect(self, tool: str) -> Connection:
        """Where a tool can be called; connects first if need be. Raises CallError."""
        for _ in range(ATTEMPTS):
            try:
                index = await self.tools()
            except StartError as error:
                raise self._failure(tool, error.explained()) from error
            if tool not in index:
                raise ToolNotFound(tool, self.server.name, self._toolbox, _similar(tool, index))
            if connection := self.server.connection:
                return connection
        raise self._failure(tool, "the server ended, again and again, as soon as it had listed its tools")

    def explain(self, tool: str, error: WireError) -> ExecutionFailed:
        """What a caller is to be told about a call that has failed."""
        return self._failure(tool, self.server.explain(error))

    def _failure(self, tool: str, reason: str) -> ExecutionFailed:
        return ExecutionFailed(tool, self.server.name, self._toolbox, reason)

    def _read(self, listed: Tools) -> None:
        index: dict[str, msgspec.Raw] = {}
        for tool in listed:
            try:
                name = _decode_name(tool).name
            except (msgspec.DecodeError, RecursionError) as error:
                # One bad tool must not lose the list.
                log.warning(
                    "[%s/%s] left out a tool without a usable name: %s",
                    self._toolbox,
                    self.server.name,
                    error,
                )
                continue
            if not name:
                log.warning("[%s/%s] left out a tool whose name is empty", self._toolbox, self.server.name)
            elif name in index:
                log.warning(
                    "[%s/%s] lists '%s' twice; the first counts", self._toolbox, self.server.name, name
                )
            elif self._shows(name):
                index[name] = tool
        self._index = index
        self._listed = listed


def _similar(name: str, index: Index) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistaken call

    return get_close_matches(name, index, n=SIMILAR_SHOWN)
