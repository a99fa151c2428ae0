"""All the toolboxes: the one thing that the faces to clients talk to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_workbench.downstream.server import Server, Surroundings
from mcp_workbench.downstream.valve import Valve
from mcp_workbench.errors import ToolboxNotFound
from mcp_workbench.wire.guard import Guard
from mcp_workbench.workbench.shelf import Shelf
from mcp_workbench.workbench.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.downstream.era_memory import EraMemory
    from mcp_workbench.workbench.toolbox import Opening


class Workbench:
    """Finds toolboxes, servers and tools by name. State is the process's, never a session's."""

    def __init__(self, toolboxes: Sequence[Toolbox], guard: Guard, valve: Valve) -> None:
        self.toolboxes = {toolbox.name: toolbox for toolbox in toolboxes}
        self.shelves = {
            (toolbox.name, server): shelf
            for toolbox in toolboxes
            for server, shelf in toolbox.shelves.items()
        }
        self.valve = valve
        self._guard = guard

    @property
    def waiting(self) -> int:
        """How many bytes of calls wait for servers."""
        return self.valve.waiting + sum(shelf.server.waiting_room.bytes for shelf in self.shelves.values())

    async def open(self, toolbox: str) -> Opening:
        """Connects a toolbox and returns its tools. Raises CallError."""
        return await self._find(toolbox).open()

    def shelf(self, toolbox: str, server: str) -> Shelf:
        """The place of one server. Raises CallError."""
        return self.shelves.get((toolbox, server)) or self._find(toolbox).shelf(server)

    async def close(self) -> None:
        """Ends everything downstream, in parallel."""
        await asyncio.gather(*(shelf.server.close() for shelf in self.shelves.values()))
        await self._guard.close()

    def kill(self) -> None:
        """Ends all processes this instant. It remains to be closed, which takes no time after this."""
        for shelf in self.shelves.values():
            shelf.server.kill()

    def _find(self, toolbox: str) -> Toolbox:
        try:
            return self.toolboxes[toolbox]
        except KeyError:
            raise ToolboxNotFound(toolbox, list(self.toolboxes)) from None


def build(loaded: LoadedConfig, *, environ: Mapping[str, str], memory: EraMemory) -> Workbench:
    """The workbench that a configuration describes. Starts nothing."""
    surroundings = Surroundings(environ, memory, Guard(environ), Valve())
    toolboxes = []
    for name, config in loaded.config.toolboxes.items():
        servers = [
            Server(name, server, settings, loaded.secrets, surroundings)
            for server, settings in config.servers.items()
            if not settings.disabled
        ]
        disabled = [server for server, settings in config.servers.items() if settings.disabled]
        shelves = [Shelf(name, server) for server in servers]
        toolboxes.append(Toolbox(name, config.description, shelves, disabled, config.open_deadline))
    return Workbench(toolboxes, surroundings.guard, surroundings.valve)
