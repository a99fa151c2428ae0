"""What a model reads before its first call: the toolboxes, and how to use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.workbench.toolbox import Box

LIMIT = 2000
"""Characters: some clients cut instructions there."""
LONGEST = 400
WIDTHS = (LONGEST, 200, 120, 80, 60, 40, 25, 12)
"""Lengths to which descriptions are shortened, one after another, until the whole fits."""

EMPTY = (
    'No toolboxes are configured yet. To add one, put it under "toolboxes" in workbench-config.json: '
    '{"toolboxes": {"dev": {"description": "Files of this project", "mcpServers": {"filesystem": '
    '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}}}}'
)


def instructions(toolboxes: Sequence[Box], longest: int = LONGEST) -> str:
    """The text for the handshake. Descriptions are cut to that many characters, or to fit; names never."""
    if not toolboxes:
        return EMPTY
    example = encode(toolboxes[0].name).decode()
    usage = (
        "\n\nopen_toolbox connects a toolbox's servers and returns their tools, or finds tools in all "
        "toolboxes by a query; use_tool calls one by its structured identifier:\n"
        f'{{"tool": {{"toolbox": {example}, "server": "<source_server>", "tool": "<name>"}}, '
        '"arguments": {}}'
    )
    text = ""
    for width in filter(longest.__ge__, WIDTHS):
        lines = [f"- {box.name} ({_count(box)}): {shorten(box.description, width)}" for box in toolboxes]
        text = "Available Toolboxes:\n" + "\n".join(lines) + usage
        if len(text) <= LIMIT:
            return text
    lines = [f"- {box.name} ({_count(box)})" for box in toolboxes]
    return "Available Toolboxes:\n" + "\n".join(lines) + usage


def _count(box: Box) -> str:
    return f"{box.servers} server{'' if box.servers == 1 else 's'}"
