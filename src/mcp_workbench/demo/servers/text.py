"""A demo server that measures and outlines text, and makes slugs. Speaks 2026-07-28."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from mcp_workbench.demo.serving import DemoServer, serve
from mcp_workbench.demo.tools import DemoTool, ToolError, an_object
from mcp_workbench.protocol import names


def count_words(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the number of words, characters and lines of a text."""
    text: str = arguments["text"]
    return {"words": len(text.split()), "characters": len(text), "lines": len(text.splitlines())}


def slugify(arguments: dict[str, Any]) -> str:
    """Return a title as a slug for an address. Raises ToolError if nothing is left of it."""
    letters = unicodedata.normalize("NFKD", arguments["text"]).encode("ascii", "ignore").decode()
    slug = "-".join(re.findall("[a-z0-9]+", letters.lower()))
    if not slug:
        raise ToolError("Nothing is left of this text as a slug: it has no letters a-z and no digits.")
    return slug


def outline(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the headings of a Markdown text with their levels."""
    found = re.findall(r"^(#{1,6}) +(.+?) *#*$", arguments["markdown"], re.MULTILINE)
    return {"headings": [{"level": len(marks), "title": title} for marks, title in found]}


_COUNT: Final = {"type": "integer", "minimum": 0}
_HEADING: Final = an_object({"level": {"type": "integer"}, "title": {"type": "string"}})

SERVER: Final = DemoServer(
    name="text",
    version=names.MODERN,
    tools=(
        DemoTool(
            name="count_words",
            title="Count words",
            description="Count the words, characters and lines of a text.",
            run=count_words,
            takes=an_object({"text": {"type": "string", "description": "The text to measure"}}),
            gives=an_object({"words": _COUNT, "characters": _COUNT, "lines": _COUNT}),
        ),
        DemoTool(
            name="slugify",
            title="Make a slug",
            description="Turn a title into a slug for an address: lower case, ASCII, hyphens for spaces.",
            run=slugify,
            takes=an_object({"text": {"type": "string", "description": "The title, in any script"}}),
        ),
        DemoTool(
            name="outline",
            title="Outline Markdown",
            description="List the headings of a Markdown text with their levels, in order.",
            run=outline,
            takes=an_object({"markdown": {"type": "string", "description": "Markdown with # headings"}}),
            gives=an_object({"headings": {"type": "array", "items": _HEADING}}),
        ),
    ),
)

if __name__ == "__main__":
    serve(SERVER)
