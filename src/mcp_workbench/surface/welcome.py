"""What a model reads before its first call: the instructions and the two tools, which share a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.instructions import LONGEST, instructions
from mcp_workbench.surface.metatools import definitions
from mcp_workbench.workbench.estimate import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.workbench.toolbox import Box

BUDGET: Final = 600
"""Tokens, by estimate. Many toolboxes may take more: each keeps its name and a few words."""
WIDTHS: Final = ((LONGEST, 40), (LONGEST, 20), (LONGEST, 0), (200, 0), (120, 0), (80, 0), (60, 0), (40, 0))
"""Of a toolbox's description in the instructions, and in the definition of `open_toolbox`, which repeats it
for clients that show no instructions."""
AT_LEAST: Final = (60, 0)
"""Where there are too many toolboxes for the budget at any width: fewer words would not save it."""


class Welcome(msgspec.Struct, frozen=True):
    """What there is to read."""

    instructions: str
    tools: bytes
    """As JSON."""

    @property
    def tokens(self) -> int:
        """What it costs, by estimate."""
        return estimate_tokens(self.instructions) + estimate_tokens(self.tools)


def welcome(toolboxes: Sequence[Box]) -> Welcome:
    """As rich in words as the budget allows."""
    for widths in WIDTHS:
        if (words := _worded(toolboxes, widths)).tokens <= BUDGET:
            return words
    return _worded(toolboxes, AT_LEAST)


def _worded(toolboxes: Sequence[Box], widths: tuple[int, int]) -> Welcome:
    instructed, defined = widths
    return Welcome(instructions(toolboxes, instructed), definitions(toolboxes, defined))
