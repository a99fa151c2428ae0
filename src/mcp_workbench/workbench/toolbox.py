"""A named group of servers that are opened together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import OpeningFailed, ServerNotFound, StartError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.workbench.shelf import Shelf


class Opening(msgspec.Struct, frozen=True):
    """What came of opening a toolbox: the tools of the servers that serve, and why others do not."""

    toolbox: Toolbox
    tools: list[tuple[str, Mapping[str, msgspec.Raw]]]
    """For each connected server its name and its tools, in the order of the configuration."""
    failures: list[StartError]


class Toolbox:
    """The servers of one toolbox that are switched on, and the names of those that are not."""

    def __init__(
        self, name: str, description: str, shelves: Sequence[Shelf], disabled: Sequence[str]
    ) -> None:
        self.name = name
        self.description = description
        self.shelves = {shelf.server.name: shelf for shelf in shelves}
        self._disabled = tuple(disabled)

    async def open(self) -> Opening:
        """Connects all servers at once and returns their tools. Raises OpeningFailed.

        Safe to call at any time and by many: each server has one opening, which all callers share.
        """
        were_up = {name for name, shelf in self.shelves.items() if shelf.server.connection}
        outcomes = await asyncio.gather(
            *(shelf.tools() for shelf in self.shelves.values()), return_exceptions=True
        )
        opening = Opening(self, [], [])
        required_failed = False
        for shelf, outcome in zip(self.shelves.values(), outcomes, strict=True):
            if isinstance(outcome, StartError):
                opening.failures.append(outcome)
                required_failed |= shelf.server.config.required
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                opening.tools.append((shelf.server.name, outcome))
        if required_failed or (opening.failures and not opening.tools):
            await self._clean_up(were_up)
            raise OpeningFailed(self.name, opening.failures)
        return opening

    async def _clean_up(self, were_up: set[str]) -> None:
        """Ends what a failed opening has started, unless somebody else has come to need it."""
        started = [shelf.server for name, shelf in self.shelves.items() if name not in were_up]
        await asyncio.gather(*(server.close() for server in started if not server.in_use))

    def shelf(self, server: str) -> Shelf:
        """The place of one server. Raises ServerNotFound."""
        try:
            return self.shelves[server]
        except KeyError:
            disabled = server in self._disabled
            raise ServerNotFound(server, self.name, list(self.shelves), disabled=disabled) from None

    async def close(self) -> None:
        """Ends all its servers, in parallel."""
        await asyncio.gather(*(shelf.server.close() for shelf in self.shelves.values()))
