"""The definitions of the tools that a client sees: `open_toolbox`, `use_tool` and, if the configuration wants
it, `use_tool_read_only`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.surface.listing.listing_result import compact
from mcp_workbench.wire.message import decode_members, encode
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import msgspec

    from mcp_workbench.workbench.toolbox import ToolboxSummary

OPEN_TOOLBOX = "open_toolbox"
USE_TOOL = "use_tool"
USE_TOOL_READ_ONLY = "use_tool_read_only"

HOW_TO_ASK = "In English, worded like a tool: create issue. One step, or a list of steps"
"""How a model should write a query. Literal translations of ten German, Japanese and Chinese queries into
English raised recall@5 from .40 to .90."""

KEEP_LOADED = {"anthropic/alwaysLoad": True}
"""Metadata by which hosts that defer tools until they are searched for keep these loaded."""


PASSED_ON = ("name", "description", "inputSchema")
"""The members of a definition that clients pass on to a model. All others are for programs."""


def passed_on(tools: Iterable[msgspec.Raw]) -> bytes:
    """Return definitions as a JSON array of what clients pass on to a model."""
    members = map(decode_members, tools)
    return compact(encode([{key: of[key] for key in PASSED_ON if key in of} for of in members]))


def definitions(
    toolboxes: Sequence[ToolboxSummary], width: int, *, has_read_only_tool: bool = False
) -> bytes:
    """Return the tools as a JSON array, with `width` characters of each toolbox's description."""
    read_only = [_use_tool_read_only()] if has_read_only_tool else []
    return encode([_open_toolbox(toolboxes, width), _use_tool(), *read_only])


def _open_toolbox(toolboxes: Sequence[ToolboxSummary], width: int) -> dict[str, object]:
    names = [f"{box.name} ({shorten(box.description, width)})" if width else box.name for box in toolboxes]
    toolbox_name: dict[str, object] = {"type": "string"}
    if toolboxes:
        toolbox_name["enum"] = [box.name for box in toolboxes]
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    return {
        "name": OPEN_TOOLBOX,
        "description": "List a toolbox's tools, or find some by query. "
        f"Toolboxes: {', '.join(names) or 'none yet'}.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "toolbox_name": toolbox_name,
                "query": {"anyOf": [text, texts], "description": HOW_TO_ASK},
                "limit": {"type": "integer"},
                "tools": texts | {"description": "Names: show only these"},
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
        "description": "Call a tool by its toolbox_name, source_server and name.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool": {
                    "type": "object",
                    "properties": {name: {"type": "string"} for name in names},
                    "required": list(names),
                },
                "arguments": {"type": "object"},
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


def _use_tool_read_only() -> dict[str, object]:
    return _use_tool() | {
        "name": USE_TOOL_READ_ONLY,
        "description": "Like use_tool, but refuses every tool that is not read-only.",
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        },
    }
