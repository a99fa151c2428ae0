"""What the conversing server has to offer: its capabilities, tools, resources, templates and prompts.

Each list has members that nobody has heard of, and names that need care.
"""

from __future__ import annotations

from typing import Any

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
RESERVED = "io.modelcontextprotocol/"
SUBSCRIPTION = RESERVED + "subscriptionId"
IDENTITY = {"name": "conversing", "version": "1.0"}
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
CACHED = {"ttlMs": 0, "cacheScope": "private"}

Json = dict[str, Any]

CAPABILITIES: Json = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
TOOLS = ["converse", "other"]
RESOURCES: list[Json] = [
    {"uri": "test://a/b?c=%20d#e", "name": "first", "mimeType": "text/plain", "x-unknown": {"kept": [1]}},
    {"uri": "file:///notes/second.txt", "name": "second", "title": "The second", "size": 7},
    {"uri": "test://third", "name": "third", "annotations": {"priority": 0.5}, "_meta": {"vendor/key": 1}},
]
TEMPLATES: list[Json] = [
    {"uriTemplate": "test://item/{id}{?q,lang}", "name": "item", "mimeType": "text/plain", "x-unknown": True},
    {"uriTemplate": "file:///{+path}", "name": "file"},
]
PROMPTS: list[Json] = [
    {
        "name": "review",
        "title": "Review",
        "arguments": [{"name": "steps", "required": False}],
        "x-unknown": {"kept": None},
    },
    {"name": "with/slash and space", "description": "An awkward name"},
]
CONTENTS = {"mimeType": "text/plain", "x-unknown": {"kept": 1.5}, "_meta": {"vendor/contents": True}}
