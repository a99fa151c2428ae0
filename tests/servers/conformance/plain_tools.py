"""The tools that ask nothing: contents, progress, logs, an error, a schema, changed lists."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
from mcp.server.mcpserver import Context  # noqa: TC002 - the SDK reads the annotations
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from tests.servers.conformance.offer import MODERN, server, tool

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

PAUSE = 0.05
"""Between notifications: some clients lose what arrives together with the answer."""


@tool
def test_simple_text() -> str:
    return "This is a simple text response for testing."


@tool
def test_image_content() -> ImageContent:
    return ImageContent(data=PICTURE, mime_type="image/png")


@tool
def test_audio_content() -> AudioContent:
    return AudioContent(data=SOUND, mime_type="audio/wav")


@tool
def test_embedded_resource() -> EmbeddedResource:
    return embedded("test://embedded-resource", "This is an embedded resource content.")


@tool
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    return [
        TextContent(text="Multiple content types test:"),
        ImageContent(data=PICTURE, mime_type="image/png"),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ]


@tool
async def test_tool_with_logging(ctx: Context) -> str:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log(ctx, line)
        await anyio.sleep(PAUSE)
    return "Logged"


@tool
async def test_logging_tool(ctx: Context) -> str:
    await log(ctx, "Only for those who want logs")
    return "Logged"


@tool
async def test_tool_with_progress(ctx: Context) -> str:
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100, f"Completed step {progress} of 100")
        await anyio.sleep(PAUSE)
    return "Done"


@tool
def test_error_handling() -> str:
    raise ToolError("This tool intentionally returns an error for testing")


@tool
async def test_reconnection(ctx: Context) -> str:
    """Says something first, so that the answer is a stream, which a client may lose and take up again."""
    await log(ctx, "Before the break")
    await anyio.sleep(PAUSE)
    return "Still here"


@tool
def json_schema_2020_12_tool() -> str:
    return "Its schema is what counts"


# The SDK derives every schema from a signature, and this one is not to be had that way.
server._tool_manager._tools["json_schema_2020_12_tool"].parameters = SCHEMA


@tool
async def test_trigger_tool_change(ctx: Context) -> str:
    if ctx.protocol_version == MODERN:
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return "Told of changed tools"


@tool
async def test_trigger_prompt_change(ctx: Context) -> str:
    if ctx.protocol_version == MODERN:
        await ctx.notify_prompts_changed()
    else:
        await ctx.session.send_prompt_list_changed()
    return "Told of changed prompts"


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


async def log(ctx: Context, line: str) -> None:
    with warnings.catch_warnings(action="ignore"):  # the SDK discourages what legacy servers still do
        await ctx.info(line)
