"""All the toolboxes: the one thing that the faces to clients talk to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_workbench.downstream.server import Server
from mcp_workbench.errors import ToolboxNotFound
from mcp_workbench.workbench.shelf import Shelf
from mcp_workbench.workbench.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.downstream.era_memory import EraMemory
    from mcp_workbench.workbench.toolbox import Opening


class Workbench:
    """Finds toolboxes, servers and tools by name. State is the process's, never a session's."""

    def __init__(self, toolboxes: Sequence[Toolbox]) -> None:
        self.toolboxes = {toolbox.name: toolbox for toolbox in toolboxes}
        self.shelves = {
            (toolbox.name, server): shelf
            for toolbox in toolboxes
            for server, shelf in toolbox.shelves.items()
        }

    async def open(self, toolbox: str) -> Opening:
        """Connects a toolbox and returns its tools. Raises CallError."""
        return await self._find(toolbox).open()

    def shelf(self, toolbox: str, server: str) -> Shelf:
        """The place of one server. Raises CallError."""
        return self.shelves.get((toolbox, server)) or self._find(toolbox).shelf(server)

    async def close(self) -> None:
        """Ends everything downstream, in parallel."""
        await asyncio.gather(*(toolbox.close() for toolbox in self.toolboxes.values()))

    def _find(self, toolbox: str) -> Toolbox:
        try:
            return self.toolboxes[toolbox]
        except KeyError:
            raise ToolboxNotFound(toolbox, list(self.toolboxes)) from None


def build(loaded: LoadedConfig, *, environ: Mapping[str, str], memory: EraMemory) -> Workbench:
    """The workbench that a configuration describes. Starts nothing."""
    toolboxes = []
    for name, config in loaded.config.toolboxes.items():
        servers = [
            Server(name, server, settings, environ=environ, secrets=loaded.secrets, memory=memory)
            for server, settings in config.servers.items()
            if not settings.disabled
        ]
        disabled = [server for server, settings in config.servers.items() if settings.disabled]
        toolboxes.append(
            Toolbox(name, config.description, [Shelf(name, server) for server in servers], disabled)
        )
    return Workbench(toolboxes)
