"""A toolbox: a named group of servers that are opened together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import OpeningFailed, ServerNotFound, StartError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        self.disabled = tuple(disabled)
        """The names of the servers that are left out: disabled, or all if the toolbox cannot be used."""
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
            self.disabled,
            open_deadline=self.open_deadline,
            listing_budget=self.listing_budget,
            fault=self.fault,
        )

    async def open(self, *, modern: bool, names: Sequence[str] = ()) -> Opening:
        """Connect all servers in parallel and return their tools, for a modern or a legacy client.

        With `names`, connect only the servers that are known to have tools of these names. If one has to be
        looked for, connect those that were never listed, and then the others: they may have new tools.

        Concurrent calls are safe: each server has one opening, which all callers share. It continues when a
        caller is cancelled or has waited for `open_deadline`. Raises OpeningFailed.
        """
        were_up = {name for name, toolbox_server in self.toolbox_servers.items() if toolbox_server.is_up}
        outcomes: dict[str, Index | StartError | None] = {}
        for group in self._in_turns(names):
            outcomes |= await self._outcomes(group, modern=modern)
            if names and self._accounts_for(names, outcomes):
                break
        opening = Opening(self, [], [], [])
        required_failed = False
        for name, toolbox_server in self.toolbox_servers.items():
            if name not in outcomes:
                continue
            outcome = outcomes[name]
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

    def _in_turns(self, names: Sequence[str]) -> list[list[ToolboxServer]]:
        """Return the servers in the order in which tools of these names are looked for."""
        if not names:
            return [list(self.toolbox_servers.values())]
        having: list[ToolboxServer] = []
        unlisted: list[ToolboxServer] = []
        others: list[ToolboxServer] = []
        for toolbox_server in self.toolbox_servers.values():
            known = toolbox_server.known()
            has_one = known is not None and any(name in known.index for name in names)
            (unlisted if known is None else having if has_one else others).append(toolbox_server)
        return [having, unlisted, others]

    def _accounts_for(self, names: Sequence[str], outcomes: Mapping[str, Index | StartError | None]) -> bool:
        """Whether every name was found, or belongs to a server that has failed or is still starting."""
        found: set[str] = set()
        for server, outcome in outcomes.items():
            if outcome is None or isinstance(outcome, StartError):
                known = self.toolbox_servers[server].known()
                found.update(() if known is None else known.index)
            else:
                found.update(outcome)
        return found.issuperset(names)

    async def _outcomes(
        self, toolbox_servers: Sequence[ToolboxServer], *, modern: bool
    ) -> dict[str, Index | StartError | None]:
        """Return the tools of each server, or why it failed; None if it is not ready within the deadline."""
        tasks = {
            toolbox_server.name: asyncio.create_task(_attempt(toolbox_server, modern=modern))
            for toolbox_server in toolbox_servers
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
        return {name: None if task in late else task.result() for name, task in tasks.items()}

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
            disabled = server in self.disabled
            raise ServerNotFound(
                server, self.name, list(self.toolbox_servers), disabled=disabled, elsewhere=elsewhere
            ) from None


async def _attempt(toolbox_server: ToolboxServer, *, modern: bool) -> Index | StartError:
    try:
        return await toolbox_server.tools(modern=modern)
    except StartError as error:
        return error
