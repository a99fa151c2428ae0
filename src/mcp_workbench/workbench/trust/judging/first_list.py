"""The first list of a server, which is used before it is pinned."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcp_workbench.protocol.lists import usable_tools
from mcp_workbench.workbench.trust.digests import claim_of, hints_of, parsed
from mcp_workbench.workbench.trust.judgement import Judgement

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.downstream.connection import Tools


class FirstList:
    """The first list of a server. Nothing of it is held, and its hints are read when they are asked for."""

    def __init__(self, tools: Tools, instructions: str, *, user: object, is_modern: bool) -> None:
        self.tools = tools
        self.instructions = instructions
        self.user = user
        """Who shows the list to clients."""
        self.is_modern = is_modern
        self.claims: dict[str, ToolHint] = {}
        """What the hints of the tools claim, as far as it was asked for or is pinned."""
        self.judgement = Judgement(hints=self.claims)

    @cached_property
    def _definitions(self) -> dict[str, msgspec.Raw]:
        return usable_tools(self.tools)

    def claim(self, tool: str) -> ToolHint | None:
        """Return what the hints of a tool claim; None if it is not in the list."""
        claim = self.claims.get(tool)
        if claim is None and (definition := self._definitions.get(tool)) is not None:
            claim = self.claims[tool] = claim_of(hints_of(parsed(definition)))
        return claim
