"""The principal that a client belongs to: its name, the toolboxes that it may use, and its own policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from mcp_workbench.config.model.policy import PolicyConfig


class Principal(msgspec.Struct, frozen=True):
    """An authenticated user or token, or all clients together if no token is needed."""

    name: str
    """Distinguishes it from all other principals. Empty if no token is needed: all clients are one principal
    then."""
    toolboxes: frozenset[str] | None = None
    """The names of the toolboxes that it may use; None for all."""
    policy: PolicyConfig | None = None
    """What its token says about calls, beside the configuration; None if it says nothing."""

    def may_use(self, toolbox: str) -> bool:
        """Whether the principal may use a toolbox, and sees it at all."""
        return self.toolboxes is None or toolbox in self.toolboxes


ANYONE: Final = Principal("")
