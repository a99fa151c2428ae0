"""What may be used of a list of tools, as the trust in its server has judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.storage.trust.pin_records import HeldInstructions, HeldTool


class Judgement(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What may be used of one list of tools."""

    held: Mapping[str, HeldTool] = {}
    withheld: HeldInstructions | None = None
    """The server's instructions, if they are withheld."""
    hints: Mapping[str, ToolHint] = {}
    """What the approved hints of each tool claim, by name."""


NOTHING_HELD: Final = Judgement()
CHANGES_LOG: Final = "mcp_workbench.workbench.trust.changes"
"""The log about changes that are used without asking anybody: each is said once, by whoever sees it first."""
