"""What a model reads before its first call: the toolboxes, and how to use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.workbench.toolbox import Toolbox

LIMIT = 2000
"""Characters: some clients cut instructions there."""
WIDTHS = (400, 200, 120, 80, 60, 40, 25, 12)
"""Lengths to which descriptions are shortened, one after another, until the whole fits."""

EMPTY = (
    'No toolboxes are configured yet. To add one, put it under "toolboxes" in workbench-config.json: '
    '{"toolboxes": {"dev": {"description": "Files of this project", "mcpServers": {"filesystem": '
    '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}}}}'
)


def instructions(toolboxes: Sequence[Toolbox]) -> str:
    """The text for the handshake. Descriptions are shortened to fit; names never."""
    if not toolboxes:
        return EMPTY
    example = encode(toolboxes[0].name).decode()
    usage = (
        "\n\nopen_toolbox connects a toolbox's servers and returns their tools with schemas; "
        "use_tool then calls one by its structured identifier:\n"
        f'{{"tool": {{"toolbox": {example}, "server": "<source_server>", "tool": "<name>"}}, '
        '"arguments": {}}'
    )
    text = ""
    for width in WIDTHS:
        lines = [f"- {box.name} ({_count(box)}): {shorten(box.description, width)}" for box in toolboxes]
        text = "Available Toolboxes:\n" + "\n".join(lines) + usage
        if len(text) <= LIMIT:
            return text
    lines = [f"- {box.name} ({_count(box)})" for box in toolboxes]
    return "Available Toolboxes:\n" + "\n".join(lines) + usage


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _count(toolbox: Toolbox) -> str:
    count = len(toolbox.shelves)
    return f"{count} server{'' if count == 1 else 's'}"
