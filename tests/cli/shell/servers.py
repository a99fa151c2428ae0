"""Configurations for the commands of the shell: tools with every kind of argument, result and question."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.servers import stocked
from tests.support.configs import server, tool

if TYPE_CHECKING:
    from tests.support.client import Json
    from tests.support.journal import Journal

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

READ_FILE = tool(
    "read_file",
    title="Read a file",
    description="Read a file as text. Use `head` for the first lines of a long file.\n\n  an example",
    inputSchema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where the file is"},
            "head": {"type": "integer", "description": "Only the first lines", "default": 10},
            "mode": {"enum": ["text", "base64"], "default": "text"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    outputSchema={"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    annotations={"readOnlyHint": True, "openWorldHint": False},
)

RESULTS = {
    "image": {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]},
    "failing": {"content": [{"type": "text", "text": "no such file"}], "isError": True},
    "hidden": {"content": [{"type": "text", "text": "red \u001b[31malert\u202e"}]},
    "both": {
        "content": [{"type": "text", "text": '{"a":1}'}],
        "structuredContent": {"a": 1},
        "x-unknown": 1.50,
    },
    "wrapped": {"content": [{"type": "text", "text": "hello"}], "structuredContent": {"result": "hello"}},
    "structure": {"content": [{"type": "text", "text": "see there"}], "structuredContent": {"b": [2]}},
    "mixed": {
        "content": [
            {"type": "text", "text": "first"},
            {
                "type": "resource",
                "resource": {"uri": "file:///a/b.txt", "text": "inside", "mimeType": "text/plain"},
            },
            {"type": "resource_link", "uri": "https://example.com/x", "name": "More"},
            {"type": "resource", "resource": {"uri": "file:///a/../c.bin", "blob": "AAEC"}},
            {"type": "novelty", "x": 1},
        ]
    },
}
"""What tools answer, by their names."""


def files(journal: Journal | None = None, **behaviours: Json) -> Json:
    """A server with one tool like that of a real one, which echoes its arguments."""
    return server(journal, era="modern", tools=[READ_FILE, *map(tool, behaviours)], behaviours=behaviours)


def results() -> Json:
    """A server with a tool for each kind of result."""
    behaviours = {name: {"do": "result", "text": json.dumps(result)} for name, result in RESULTS.items()}
    return server(era="legacy", tools=[tool(name) for name in RESULTS], behaviours=behaviours)


def talker(era: str, journal: Journal | None = None) -> Json:
    """A server that does in the middle of a call what its argument `steps` says."""
    journalled = {} if journal is None else {"journal": str(journal.path)}
    return {
        "command": sys.executable,
        "args": ["-S", "-m", "tests.servers.conversing", json.dumps({"era": era, **journalled})],
        "cwd": str(stocked.ROOT),
    }
