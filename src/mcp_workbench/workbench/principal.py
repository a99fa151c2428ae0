"""The principal that a client belongs to: its name, and the toolboxes that it may use."""

from __future__ import annotations

from typing import Final

import msgspec


class Principal(msgspec.Struct, frozen=True):
    """An authenticated user or token, or all clients together if no token is needed."""

    name: str
    """Distinguishes it from all other principals. Empty if no token is needed: all clients are one principal
    then."""
    toolboxes: frozenset[str] | None = None
    """The names of the toolboxes that it may use; None for all."""

    def may_use(self, toolbox: str) -> bool:
        """Whether the principal may use a toolbox, and sees it at all."""
        return self.toolboxes is None or toolbox in self.toolboxes


ANYONE: Final = Principal("")
