"""The text that a model reads before its first call: instructions and our own tools, in one budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.metatools import USE_TOOL_READ_ONLY, definitions, passed_on
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.estimate import estimate_tokens
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.errors import ConfigUnusable
    from mcp_workbench.workbench.toolbox import ToolboxSummary


INSTRUCTIONS_CHARACTERS: Final = 2000
"""Some clients cut instructions after so many characters."""
DESCRIPTION_CHARACTERS: Final = 400
INSTRUCTION_WIDTHS: Final = (DESCRIPTION_CHARACTERS, 200, 120, 80, 60, 40, 25, 12)
"""Lengths to which descriptions are shortened, one after another, until the instructions fit."""

EMPTY: Final = (
    "No toolboxes are configured yet. `mcp-workbench import` adds the servers of the user's MCP clients, and "
    '`mcp-workbench add` adds one. Or put a toolbox under "toolboxes" in workbench-config.json: '
    '{"toolboxes": {"notes": {"description": "My notes", "mcpServers": {"filesystem": '
    '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/path/to/notes"]}}}}}'
)

MISTAKES: Final = "\n\nMistakes in the configuration: {:,}. `mcp-workbench check` shows them to the user."
"""Follows the instructions of a workbench that is used in spite of mistakes in its configuration."""

READ_ONLY_TOO: Final = f" (or {USE_TOOL_READ_ONLY}, if the tool only reads)"
"""Follows `use_tool` in the instructions if there is a tool of that name."""

BUDGET_TOKENS: Final = 500
"""Estimated tokens of all text. Many toolboxes may need more: each keeps its name and a few words."""
WIDTHS: Final = ((400, 30), (400, 20), (400, 0), (200, 0), (120, 0), (80, 0), (60, 0), (40, 0))
"""Characters of a toolbox's description: in the instructions, and in the definition of `open_toolbox`, which
repeats it for clients that show no instructions."""
MIN_WIDTHS: Final = (60, 0)
"""Used if there are too many toolboxes for the budget: still shorter descriptions would not save it."""


_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


class HandshakeText(msgspec.Struct, frozen=True):
    """The instructions and the tool definitions that a client gets."""

    instructions: str
    tools: bytes
    """The definitions of our own tools, as a JSON array."""

    @property
    def tokens(self) -> int:
        """Estimated tokens of what clients pass on to a model: of the definitions only some members."""
        return estimate_tokens(self.instructions) + estimate_tokens(passed_on(_decode_list(self.tools)))


def handshake_text(
    toolboxes: Sequence[ToolboxSummary],
    *,
    unusable: ConfigUnusable | None = None,
    mistakes: int = 0,
    has_read_only_tool: bool = False,
) -> HandshakeText:
    """Return the text with the longest descriptions that fit into the budget.

    If the configuration cannot be used, the instructions say why. If it has mistakes, they say how many.
    """
    if unusable is not None:
        return HandshakeText(str(unusable)[:INSTRUCTIONS_CHARACTERS], definitions((), 0))
    note = MISTAKES.format(mistakes) if mistakes else ""
    for widths in WIDTHS:
        text = _text(toolboxes, widths, note, has_read_only_tool=has_read_only_tool)
        if text.tokens <= BUDGET_TOKENS:
            return text
    return _text(toolboxes, MIN_WIDTHS, note, has_read_only_tool=has_read_only_tool)


def _text(
    toolboxes: Sequence[ToolboxSummary], widths: tuple[int, int], note: str, *, has_read_only_tool: bool
) -> HandshakeText:
    in_instructions, in_definition = widths
    calling = f"use_tool{READ_ONLY_TOO if has_read_only_tool else ''}"
    instructions = _instructions(toolboxes, in_instructions, note, calling)
    tools = definitions(toolboxes, in_definition, has_read_only_tool=has_read_only_tool)
    return HandshakeText(instructions, tools)


def _instructions(toolboxes: Sequence[ToolboxSummary], longest: int, note: str, calling: str) -> str:
    """Return the instructions, and a note. Descriptions are shortened to `longest` or to fit; names never."""
    if not toolboxes:
        return EMPTY + note
    # A toolbox without servers cannot be used: none are enabled, or its configuration has a mistake.
    usable = next((box for box in toolboxes if box.servers), toolboxes[0])
    example = encode(usable.name).decode()
    usage = (
        f"\nopen_toolbox lists a toolbox's tools, or searches all toolboxes; {calling} calls one:\n"
        f'{{"tool":{{"toolbox":{example},"server":"<source_server>","tool":"<name>"}},"arguments":{{}}}}{note}'
    )
    text = ""
    for width in filter(longest.__ge__, INSTRUCTION_WIDTHS):
        lines = [f"- {box.name} ({_count(box)}): {shorten(box.description, width)}" for box in toolboxes]
        text = "Available Toolboxes:\n" + "\n".join(lines) + usage
        if len(text) <= INSTRUCTIONS_CHARACTERS:
            return text
    lines = [f"- {box.name} ({_count(box)})" for box in toolboxes]
    return "Available Toolboxes:\n" + "\n".join(lines) + usage


def _count(box: ToolboxSummary) -> str:
    return f"{box.servers} server{'' if box.servers == 1 else 's'}"
