"""The two tools that a client sees, and the reading of what it passes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.errors import InvalidCall
from mcp_workbench.wire.message import ABSENT, NULL, OBJECT, decode_text, encode, is_json, starts_with
from mcp_workbench.workbench.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox import Box

OPEN_TOOLBOX = "open_toolbox"
USE_TOOL = "use_tool"

KEEP_LOADED = {"anthropic/alwaysLoad": True}
"""Hosts that defer tools until they are searched for keep these two."""


def definitions(toolboxes: Sequence[Box], width: int) -> bytes:
    """Both tools, as the JSON array that `tools/list` returns, with so many characters of each toolbox's
    description."""
    return encode([_open_toolbox(toolboxes, width), _use_tool()])


def _open_toolbox(toolboxes: Sequence[Box], width: int) -> dict[str, object]:
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


class ToolId(msgspec.Struct, frozen=True):
    """What names a tool: three opaque names, never joined into one."""

    toolbox: str
    server: str
    tool: str


class _PlainArguments(msgspec.Struct):
    tool: ToolId
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _PlainParams(msgspec.Struct):
    name: Literal["use_tool"]
    arguments: _PlainArguments
    meta: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict, name="_meta")
    state: msgspec.Raw = msgspec.field(default=ABSENT, name="requestState")
    responses: msgspec.Raw = msgspec.field(default=ABSENT, name="inputResponses")


class PlainUse(msgspec.Struct):
    """A whole message: a `tools/call` for `use_tool`, as nearly all callers write it."""

    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: _PlainParams


class _UseArguments(msgspec.Struct):
    tool: msgspec.Raw = ABSENT
    arguments: msgspec.Raw = ABSENT


class _Identifier(msgspec.Struct):
    toolbox: msgspec.Raw = ABSENT
    server: msgspec.Raw = ABSENT
    tool: msgspec.Raw = ABSENT
    name: msgspec.Raw = ABSENT


_decode_plain_use = msgspec.json.Decoder(PlainUse).decode
_decode_use = msgspec.json.Decoder(_UseArguments).decode
_decode_identifier = msgspec.json.Decoder(_Identifier).decode

IDENTIFIER_FORM = '{"toolbox": "…", "server": "…", "tool": "…"}'


def read_plain_use(line: Line) -> PlainUse | None:
    """All of a call in one go, or None if it is not plain: then it may still be right, or what is wrong is to
    be said."""
    try:
        if isinstance(line, bytes) and not line.isascii():
            line.decode()
        found = _decode_plain_use(line)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
    params = found.params
    is_plain = memoryview(params.arguments.arguments)[0] == OBJECT and not (params.state or params.responses)
    return found if is_plain else None


def read_use(arguments: Body) -> tuple[ToolId, Body]:
    """The tool to call, and the arguments for it as they came. Raises InvalidCall."""
    try:
        found = _decode_use(arguments or b"{}")
    except (msgspec.DecodeError, RecursionError):
        raise InvalidCall(
            f'Invalid arguments: {USE_TOOL} takes {{"tool": {IDENTIFIER_FORM}, "arguments": {{…}}}}'
        ) from None
    return _read_identifier(found.tool), _read_arguments(found.arguments)


def _read_identifier(raw: msgspec.Raw) -> ToolId:
    if not raw:
        raise InvalidCall(f'Invalid tool identifier: "tool" is missing; it takes {IDENTIFIER_FORM}')
    try:
        found = _decode_identifier(raw)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidCall(f'Invalid tool identifier: "tool" must be an object {IDENTIFIER_FORM}') from None
    members = (("toolbox", found.toolbox), ("server", found.server), ("tool", found.tool or found.name))
    return ToolId(*(_read_name(member, value) for member, value in members))


def _read_name(member: str, raw: msgspec.Raw) -> str:
    if not raw:
        raise InvalidCall(f"Invalid tool identifier: {member} is missing; it takes {IDENTIFIER_FORM}")
    name = decode_text(raw)
    if name is None:
        raise InvalidCall(f"Invalid tool identifier: {member} must be a string")
    if not name:
        raise InvalidCall(f"Invalid tool identifier: {member} cannot be empty")
    return name


def _read_arguments(raw: msgspec.Raw) -> Body:
    if not raw or raw == NULL:
        return b"{}"
    if starts_with(raw, b"{"):
        return raw
    if starts_with(raw, b'"'):
        # Models do write the object as a string.
        text = (decode_text(raw) or "").strip().encode()
        if not text:
            return b"{}"
        if text.startswith(b"{") and is_json(text):
            # A line is a message: what was a line break inside the string is white space now.
            return text.replace(b"\n", b" ").replace(b"\r", b" ")
    raise InvalidCall("Invalid arguments: arguments must be an object, as the tool's inputSchema describes")
