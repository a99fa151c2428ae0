"""The toolbox of our own with which kept results are read: its tools, and what they answer.

Owns what is taken of a call, and the words of the answers. What is in a content is found in `workbench`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from mcp_workbench.errors import InvalidCall, NotKept, ServerNotFound, ToolNotFound
from mcp_workbench.surface import kept_found, kept_part
from mcp_workbench.surface.builtin_names import READ_RESULT, SEARCH_RESULT, SERVER, TOOLBOX
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.surface.metatools import ToolId
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.kept import Drawer

Form = TypeVar("Form", kept_part.Asked, kept_found.Asked)

DESCRIPTION: Final = "Read and search large results that the workbench has kept, by their handles"

SOON: Final = 256 * 1024
"""Bytes of a content that are looked through in less than 5 ms."""
LIMIT: Final = 30.0
"""Seconds for any other."""

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
        "a range, the beginning; an image, a sound or a file comes whole.",
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
                    "maximum": kept_found.MOST_CONTEXT,
                    "default": 2,
                    "description": "Lines before and after",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": kept_found.MOST_MATCHES, "default": 20},
            },
            "required": ["handle"],
        },
        "annotations": _READ_ONLY,
    },
)
TOOLS: Final[Mapping[str, msgspec.Raw]] = {
    str(tool["name"]): msgspec.Raw(encode(tool)) for tool in _DEFINITIONS
}
"""As a server would list them."""


async def use(drawer: Drawer, tool: ToolId, arguments: Body) -> tuple[Body, ...]:
    """The result of a call of one of them. Raises CallError."""
    if tool.server != SERVER:
        raise ServerNotFound(tool.server, TOOLBOX, [SERVER], disabled=False)
    asked: kept_part.Asked | kept_found.Asked
    if tool.tool == READ_RESULT:
        asked = _read(arguments, kept_part.Asked)
    elif tool.tool == SEARCH_RESULT:
        asked = _read(arguments, kept_found.Asked)
    else:
        raise ToolNotFound(tool.tool, SERVER, TOOLBOX, list(TOOLS))
    asked.check()
    kept = drawer.find(asked.handle)
    data = None if kept is None else await drawer.read(kept)
    if kept is None or data is None:
        raise NotKept(asked.handle)
    content = msgspec.structs.replace(kept.content, data=data)
    answer = partial(asked.answer, content, kept.limit)
    if asked.is_quick and len(data) <= SOON:
        return _result(answer())
    try:
        return _result(await drawer.work(answer, LIMIT))
    except TimeoutError:
        raise InvalidCall(f"It took more than {LIMIT:g} s. Ask for a smaller part") from None


def _read(arguments: Body, form: type[Form]) -> Form:
    try:
        # Models write numbers as strings, too.
        return msgspec.json.decode(arguments, type=form, strict=False)
    except (msgspec.DecodeError, RecursionError) as error:
        takes = ", ".join(field.encode_name for field in msgspec.structs.fields(form))
        raise InvalidCall(f"Invalid arguments: {error}. It takes {takes}") from None


def _result(blocks: list[msgspec.Raw]) -> tuple[Body, ...]:
    return (encode({"content": blocks}),)
