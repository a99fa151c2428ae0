"""The toolbox of our own with which kept results are read, as others are shown: its names and definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.model import results
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from mcp_workbench.workbench.toolbox_server import Index

TOOLBOX: Final = results.TOOLBOX
SERVER: Final = results.SERVER
DESCRIPTION: Final = "Read and search large results that the workbench has kept, by their handles"
READ_RESULT: Final = "read_result"
SEARCH_RESULT: Final = "search_result"

MAX_MATCHES: Final = 200
MAX_CONTEXT_LINES: Final = 20
"""Lines before and after a match."""

_READ_ONLY: Final = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
_HANDLE: Final = {"type": "string", "description": "As the shortened result gives it: res_…"}
_DEFINITIONS: Final[tuple[dict[str, object], ...]] = (
    {
        "name": READ_RESULT,
        "title": "Read result",
        "description": "Read a part of a kept result: lines, bytes, or what a JSON pointer leads to. Without "
        "a range, the beginning; a file that is not text is returned whole.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": _HANDLE,
                "start_line": {"type": "integer", "minimum": 1},
                "end_line": {"type": "integer", "minimum": 1, "description": "Included"},
                "offset": {"type": "integer", "minimum": 0, "description": "In bytes, in place of lines"},
                "length": {"type": "integer", "minimum": 1, "description": "In bytes"},
                "pointer": {
                    "type": "string",
                    "description": 'RFC 6901, as in "/rows/0/name". Lines and bytes then count in that part',
                },
            },
            "required": ["handle"],
        },
        "annotations": _READ_ONLY,
    },
    {
        "name": SEARCH_RESULT,
        "title": "Search result",
        "description": "Find a text or a regular expression in a kept result, with line numbers and context.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": _HANDLE,
                "text": {"type": "string", "description": "Found exactly so"},
                "regex": {"type": "string", "description": "In place of text"},
                "ignore_case": {"type": "boolean", "default": False},
                "context": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_CONTEXT_LINES,
                    "default": 2,
                    "description": "Lines before and after",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_MATCHES, "default": 20},
            },
            "required": ["handle"],
        },
        "annotations": _READ_ONLY,
    },
)
TOOLS: Final[Index] = {str(tool["name"]): msgspec.Raw(encode(tool)) for tool in _DEFINITIONS}
"""The definitions of the built-in tools by name, in the form in which servers list theirs."""
