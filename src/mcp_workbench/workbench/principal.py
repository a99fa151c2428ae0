"""Who a client is, as far as the workbench is concerned, and what it may use."""

from __future__ import annotations

from typing import Final

import msgspec


class Principal(msgspec.Struct, frozen=True):
    """Somebody who was let in."""

    name: str
    """Tells it from all others. Empty for the one that everybody is where nobody has to say who they are."""
    toolboxes: frozenset[str] | None = None
    """The names of those that it may use; None for all."""

    def may_use(self, toolbox: str) -> bool:
        """Whether a toolbox is there for it at all."""
        return self.toolboxes is None or toolbox in self.toolboxes


ANYONE: Final = Principal("")
