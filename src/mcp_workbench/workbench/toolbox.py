"""A toolbox: a named group of servers that are opened together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import OpeningFailed, ServerNotFound, StartError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.errors import ToolboxUnusable
    from mcp_workbench.workbench.toolbox_server import Index, ToolboxServer


class ToolboxSummary(msgspec.Struct, frozen=True):
    """What a client is told about a toolbox before it opens the toolbox."""

    name: str
    description: str
    servers: int


class Opening(msgspec.Struct, frozen=True):
    """The outcome of opening a toolbox: the tools of connected servers, and why others failed."""

    toolbox: Toolbox
    tools: list[tuple[ToolboxServer, Index]]
    """For each connected server the server and its tools, in the order of the configuration."""
    starting: list[str]
    """The servers that are not ready yet."""
    failures: list[StartError]


class Toolbox:
    """The enabled servers of one toolbox, and the names of its disabled ones."""

    def __init__(
        self,
        name: str,
        description: str,
        toolbox_servers: Sequence[ToolboxServer],
        disabled: Sequence[str],
        *,
        open_deadline: float,
        listing_budget: int,
        fault: ToolboxUnusable | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.toolbox_servers = {toolbox_server.name: toolbox_server for toolbox_server in toolbox_servers}
        self.open_deadline = open_deadline
        """Seconds after which `open` returns without the servers that are still starting."""
        self.listing_budget = listing_budget
        """Tokens that the list of the toolbox's tools may take unless the client asks for more detail."""
        self._disabled = tuple(disabled)
        self.fault = fault
        """Why the toolbox cannot be used: its configuration has a mistake."""

    @property
    def summary(self) -> ToolboxSummary:
        """The name, description and number of servers, for clients."""
        return ToolboxSummary(self.name, self.description, len(self.toolbox_servers))

    def with_toolbox_servers(self, toolbox_servers: Sequence[ToolboxServer]) -> Toolbox:
        """Return a copy of this toolbox with other servers."""
        return Toolbox(
            self.name,
            self.description,
            toolbox_servers,
            self._disabled,
            open_deadline=self.open_deadline,
            listing_budget=self.listing_budget,
            fault=self.fault,
        )

    async def open(self, *, modern: bool) -> Opening:
        """Connect all servers in parallel and return their tools, for a modern or a legacy client.

        Concurrent calls are safe: each server has one opening, which all callers share. It continues when a
        caller is cancelled or has waited for `open_deadline`. Raises OpeningFailed.
        """
        were_up = {name for name, toolbox_server in self.toolbox_servers.items() if toolbox_server.is_up}
        outcomes = await self._outcomes(modern=modern)
        opening = Opening(self, [], [], [])
        required_failed = False
        for name, toolbox_server in self.toolbox_servers.items():
            outcome = outcomes.get(name)
            if outcome is None:
                opening.starting.append(name)
            elif isinstance(outcome, StartError):
                opening.failures.append(outcome)
                required_failed |= toolbox_server.is_required
            else:
                opening.tools.append((toolbox_server, outcome))
        if required_failed or (opening.failures and not (opening.tools or opening.starting)):
            self._clean_up(were_up)
            raise OpeningFailed(self.name, opening.failures)
        return opening

    async def _outcomes(self, *, modern: bool) -> dict[str, Index | StartError]:
        """Return the outcomes of the servers that are ready or have failed within the deadline."""
        toolbox_servers = self.toolbox_servers.items()
        tasks = {
            name: asyncio.create_task(_attempt(toolbox_server, modern=modern))
            for name, toolbox_server in toolbox_servers
        }
        if not tasks:
            return {}
        try:
            _, late = await asyncio.wait(tasks.values(), timeout=self.open_deadline)
        finally:
            for task in tasks.values():
                task.cancel()
        if late:
            await asyncio.wait(late)  # until they are cancelled
        return {name: task.result() for name, task in tasks.items() if task not in late}

    def _clean_up(self, were_up: set[str]) -> None:
        """End the servers that a failed opening has started, unless another client uses them."""
        for name, toolbox_server in self.toolbox_servers.items():
            if name not in were_up:
                toolbox_server.close_if_unused()

    def toolbox_server(self, server: str, elsewhere: Sequence[Origin] = ()) -> ToolboxServer:
        """Return a server of this toolbox. Raises ServerNotFound, with servers of that name elsewhere."""
        try:
            return self.toolbox_servers[server]
        except KeyError:
            disabled = server in self._disabled
            raise ServerNotFound(
                server, self.name, list(self.toolbox_servers), disabled=disabled, elsewhere=elsewhere
            ) from None


async def _attempt(toolbox_server: ToolboxServer, *, modern: bool) -> Index | StartError:
    try:
        return await toolbox_server.tools(modern=modern)
    except StartError as error:
        return error
