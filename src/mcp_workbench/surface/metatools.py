"""The definitions of the two tools that a client sees, `open_toolbox` and `use_tool`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.workbench.toolbox import ToolboxSummary

OPEN_TOOLBOX = "open_toolbox"
USE_TOOL = "use_tool"

KEEP_LOADED = {"anthropic/alwaysLoad": True}
"""Metadata by which hosts that defer tools until they are searched for keep these two loaded."""


def definitions(toolboxes: Sequence[ToolboxSummary], width: int) -> bytes:
    """Return both tools as a JSON array, with `width` characters of each toolbox's description."""
    return encode([_open_toolbox(toolboxes, width), _use_tool()])


def _open_toolbox(toolboxes: Sequence[ToolboxSummary], width: int) -> dict[str, object]:
    names = [f"{box.name} ({shorten(box.description, width)})" if width else box.name for box in toolboxes]
    toolbox_name: dict[str, object] = {"type": "string"}
    if toolboxes:
        toolbox_name["enum"] = [box.name for box in toolboxes]
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    return {
        "name": OPEN_TOOLBOX,
        "description": f"Connect a toolbox's MCP servers and list their tools, for {USE_TOOL}. With query: "
        f"find tools, in all toolboxes unless one is named. Toolboxes: {', '.join(names) or 'none yet'}.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "toolbox_name": toolbox_name,
                "query": {"anyOf": [text, texts], "description": "What tools should do"},
                "limit": {"type": "integer", "default": 8},
                "tools": texts | {"description": "Names: only these, in full"},
                "detail": text | {"enum": ["auto", "full", "signatures", "names"]},
            },
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
        },
        "_meta": KEEP_LOADED,
    }


def _use_tool() -> dict[str, object]:
    names = ("toolbox", "server", "tool")
    return {
        "name": USE_TOOL,
        "description": f"Call a tool that {OPEN_TOOLBOX} lists.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool": {
                    "type": "object",
                    "description": "As listed: its toolbox_name, source_server and name",
                    "properties": {name: {"type": "string"} for name in names},
                    "required": list(names),
                },
                "arguments": {"type": "object", "description": "As its inputSchema describes them"},
            },
            "required": ["tool"],
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
        "_meta": KEEP_LOADED,
    }
