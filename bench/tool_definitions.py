"""Tool definitions as real servers have them: names, prose, schemas. The same ones at every run.

Imports nothing, because the echo server's start is part of what is measured.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERBS = ("read", "list", "search", "create", "update", "delete", "describe", "compare", "export", "watch")
OBJECTS = (
    *("file", "directory", "commit", "branch", "pull_request", "issue", "table", "query", "page"),
    *("screenshot", "event", "channel", "message", "deployment", "container"),
)
FIRST_SENTENCES = (
    "{verb} one {thing} that the current project or account can reach, and return what is found.",
    "{verb} every {thing} that matches the filters given, newest first, in pages of a bounded size.",
    "{verb} a {thing} by its identifier; the identifier is the one that the listing tools return.",
)
MORE_SENTENCES = (
    "Use this before any tool that changes a {thing}, so that you work on its present state.",
    "Relative paths are taken from the workspace's root, and a path outside of it is refused.",
    "The result is cut after 2,000 entries; narrow the filters or ask for the next page to see more.",
    "Fails with a clear message when the {thing} does not exist or when permissions are missing.",
    "Times are in UTC, as ISO 8601 text, whatever the time zone of the machine that serves them.",
    "Do not use it to poll: it answers from a cache that is refreshed at most once in ten seconds.",
)
PROPERTIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("path", {"type": "string", "description": "Where it is, relative to the root of the workspace"}),
    ("owner", {"type": "string", "description": "The account or organisation that it belongs to"}),
    ("limit", {"type": "integer", "minimum": 1, "maximum": 100, "default": 30}),
    ("sort", {"type": "string", "enum": ["created", "updated", "comments", "name"], "default": "created"}),
    ("recursive", {"type": "boolean", "description": "Whether to descend", "default": False}),
    ("labels", {"type": "array", "items": {"type": "string"}, "description": "All of these must be set"}),
    (
        "range",
        {
            "type": "object",
            "description": "The lines to return, both ends included",
            "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
            "required": ["start"],
        },
    ),
    ("since", {"type": "string", "format": "date-time", "description": "Leave out what is older"}),
    ("format", {"type": "string", "enum": ["text", "markdown", "json"], "description": "How to answer"}),
    ("depth", {"type": ["integer", "null"], "description": "How many levels to follow; null for all"}),
    ("pattern", {"type": "string", "description": "A glob, or a regular expression between slashes"}),
    (
        "options",
        {
            "type": "object",
            "properties": {
                "encoding": {"type": "string", "enum": ["utf-8", "latin-1"], "default": "utf-8"},
                "follow_links": {"type": "boolean", "description": "Whether links are followed"},
            },
            "additionalProperties": False,
        },
    ),
)
OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "entries": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
        "truncated": {"type": "boolean", "description": "Whether there is more than was returned"},
    },
    "required": ["entries"],
}


def tool_name(server: str, index: int) -> str:
    """The name of a server's tool: unique across servers, as a merged list needs it."""
    verb = VERBS[index % len(VERBS)]
    thing = OBJECTS[(index // len(VERBS)) % len(OBJECTS)]
    series = index // (len(VERBS) * len(OBJECTS))
    return f"{server}_{verb}_{thing}" + (f"_{series}" if series else "")


def tool_definition(server: str, index: int) -> dict[str, Any]:
    """One tool as `tools/list` shows it."""
    verb = VERBS[index % len(VERBS)]
    thing = OBJECTS[(index // len(VERBS)) % len(OBJECTS)].replace("_", " ")
    sentences = [FIRST_SENTENCES[index % len(FIRST_SENTENCES)]]
    sentences += [MORE_SENTENCES[(index * 5 + turn) % len(MORE_SENTENCES)] for turn in range(index % 6)]
    count = 1 + (index * 7) % len(PROPERTIES)
    chosen = dict(PROPERTIES[(index * 3 + turn) % len(PROPERTIES)] for turn in range(count))
    definition: dict[str, Any] = {
        "name": tool_name(server, index),
        "description": " ".join(sentences).format(verb=verb.capitalize(), thing=thing),
        "inputSchema": {
            "type": "object",
            "properties": chosen,
            "required": list(chosen)[: 1 + count // 4],
        },
    }
    # Not the first tool: that is the one the benchmark calls, for text results too, which a client that
    # checks results against this schema would refuse.
    if index % 4 == 3:
        definition["outputSchema"] = OUTPUT_SCHEMA
    if index % 2:
        definition["annotations"] = {
            "title": f"{verb} {thing}".capitalize(),
            "readOnlyHint": verb in {"read", "list", "search", "describe", "compare"},
            "destructiveHint": verb == "delete",
        }
    return definition
