"""A named group of servers that are opened together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import OpeningFailed, ServerNotFound, StartError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.workbench.toolbox_server import Index, ToolboxServer


class ToolboxSummary(msgspec.Struct, frozen=True):
    """What a client is told of a toolbox before it opens it."""

    name: str
    description: str
    servers: int


class Opening(msgspec.Struct, frozen=True):
    """What came of opening a toolbox: the tools of the servers that serve, and why others do not."""

    toolbox: Toolbox
    tools: list[tuple[ToolboxServer, Index]]
    """For each connected server the server and its tools, in the order of the configuration."""
    starting: list[str]
    """The servers that are not ready yet."""
    failures: list[StartError]


class Toolbox:
    """The servers of one toolbox that are switched on, and the names of those that are not."""

    def __init__(
        self,
        name: str,
        description: str,
        toolbox_servers: Sequence[ToolboxServer],
        disabled: Sequence[str],
        *,
        open_deadline: float,
        listing_budget: int,
    ) -> None:
        self.name = name
        self.description = description
        self.toolbox_servers = {toolbox_server.name: toolbox_server for toolbox_server in toolbox_servers}
        self.open_deadline = open_deadline
        """Seconds after which opening it answers without those that are still starting."""
        self.listing_budget = listing_budget
        """Tokens that the list of its tools may take where nobody asks for more."""
        self._disabled = tuple(disabled)

    @property
    def box(self) -> ToolboxSummary:
        """What can be told of it as it is."""
        return ToolboxSummary(self.name, self.description, len(self.toolbox_servers))

    def with_toolbox_servers(self, toolbox_servers: Sequence[ToolboxServer]) -> Toolbox:
        """The same with other servers in the place of its own."""
        return Toolbox(
            self.name,
            self.description,
            toolbox_servers,
            self._disabled,
            open_deadline=self.open_deadline,
            listing_budget=self.listing_budget,
        )

    async def open(self, *, modern: bool) -> Opening:
        """Connects all servers at once and returns their tools, for a modern client or a legacy one. Raises
        OpeningFailed.

        Safe to call at any time and by many: each server has one opening, which all callers share, and which
        goes on when a caller goes away or has waited long enough.
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
        """Of the servers that are ready or have failed within the deadline."""
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
            await asyncio.wait(late)  # for the moment that it takes them to go
        return {name: task.result() for name, task in tasks.items() if task not in late}

    def _clean_up(self, were_up: set[str]) -> None:
        """Ends what a failed opening has started, unless somebody else has come to need it."""
        for name, toolbox_server in self.toolbox_servers.items():
            if name not in were_up:
                toolbox_server.close_if_unused()

    def toolbox_server(self, server: str) -> ToolboxServer:
        """The place of one server. Raises ServerNotFound."""
        try:
            return self.toolbox_servers[server]
        except KeyError:
            disabled = server in self._disabled
            raise ServerNotFound(server, self.name, list(self.toolbox_servers), disabled=disabled) from None


async def _attempt(toolbox_server: ToolboxServer, *, modern: bool) -> Index | StartError:
    try:
        return await toolbox_server.tools(modern=modern)
    except StartError as error:
        return error
