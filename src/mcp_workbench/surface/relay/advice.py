"""Advice for the model after a failed call: what is wrong with its arguments, and the tool's input schema.

Owns when advice is given, and what it says. `workbench.text.misfit` checks the arguments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.listing.listing_result import compact
from mcp_workbench.surface.relay.notes import with_note
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode, starts_with
from mcp_workbench.workbench.text.misfit import misfits
from mcp_workbench.workbench.text.sanitise import clean_definition

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

MAX_SHOWN_BYTES: Final = 32 * 1024
"""Bytes of the longest input schema that is shown with an error."""
MAX_READ_BYTES: Final = 4 * MAX_SHOWN_BYTES
"""Bytes of the longest definition that is read at all. Without its white space it may be short enough."""
MAX_RESULT_BYTES: Final = 1024 * 1024
"""Bytes of the largest result that advice is added to."""
READ_CHARACTERS: Final = 300
"""Characters of an error message that are read. SDKs report invalid arguments at its beginning."""

# How SDKs begin this error, and no other: TypeScript and the low-level Python server, FastMCP in the Python
# SDK, and FastMCP.
_MISFIT: Final = re.compile(
    r"Input validation error|Invalid arguments for tool|validation errors? for (\S+Arguments|call\[)"
)
_OTHERWISE: Final = ("unknown tool", "output validation error")
_ABSENT: Final = ("not found", "disabled", "does not exist")
_UNQUOTED: Final = str.maketrans("", "", "'\"`")
_TRUE: Final = msgspec.Raw(b"true")
_NO_SCHEMA: Final = msgspec.Raw(b"{}")


class _Result(msgspec.Struct):
    content: msgspec.Raw = ABSENT
    is_error: msgspec.Raw = msgspec.field(default=ABSENT, name="isError")


_decode_result = msgspec.json.Decoder(_Result).decode
_decode_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode


def advice_on(
    toolbox_server: ToolboxServer, tool: str, arguments: Body, said: str, *, is_refused: bool
) -> str:
    """Return the advice for a failed call, or an empty string if its arguments are not the cause.

    `said` is the server's error message. `is_refused` tells whether its error code means invalid arguments;
    without that code the message may still say so.
    """
    said = said[:READ_CHARACTERS]
    raw = toolbox_server.definition(tool)
    if raw is None or _is_about_something_else(said.lower(), tool.lower()):
        return ""
    if found := misfits(raw, arguments):
        where = "; ".join(found)
        return f"The arguments do not fit the tool's schema: {where}. {_shown(toolbox_server, tool, raw)}"
    if is_refused or _MISFIT.search(said):
        return f"According to the server, the arguments do not fit. {_shown(toolbox_server, tool, raw)}"
    return ""


def _is_about_something_else(said: str, tool: str) -> bool:
    """Whether an error message means that the tool is unknown, or that the server's own result is invalid."""
    *_, after = said.translate(_UNQUOTED).partition(f"tool {tool.translate(_UNQUOTED)} ")
    return after.removeprefix("is ").startswith(_ABSENT) or any(words in said for words in _OTHERWISE)


def _shown(toolbox_server: ToolboxServer, tool: str, raw: msgspec.Raw) -> str:
    if len(raw) <= MAX_READ_BYTES:
        schema = decode_members(clean_definition(bytes(raw))[0]).get("inputSchema", _NO_SCHEMA)
        shown = compact(b'{"name":%b,"inputSchema":%b}' % (encode(tool), schema))
        if len(shown) <= MAX_SHOWN_BYTES:
            return f"The tool's input schema: {shown.decode()}"
    arguments = encode({"toolbox_name": toolbox_server.origin[0], "tools": [tool]}).decode()
    return f"The tool's input schema is long: open_toolbox with {arguments} returns it."


def with_advice(
    toolbox_server: ToolboxServer, tool: str, arguments: Body, result: msgspec.Raw
) -> msgspec.Raw:
    """Return a result with the advice as a note, if it is an error and there is advice.

    Any other result is returned unchanged.
    """
    if len(result) > MAX_RESULT_BYTES:
        return result
    try:
        found = _decode_result(result)
        blocks = _decode_blocks(found.content) if found.is_error == _TRUE else None
        if blocks is None:
            return result
        text = advice_on(toolbox_server, tool, arguments, _first_text(blocks), is_refused=False)
        return with_note(result, text) if text else result
    except (msgspec.DecodeError, RecursionError):
        return result  # malformed or too deep to decode: the client gets it as it is


def _first_text(blocks: list[msgspec.Raw]) -> str:
    """Return the text of the first content block, or an empty string."""
    first = decode_members(blocks[0]) if blocks and starts_with(blocks[0], b"{") else {}
    return decode_text(first.get("text", ABSENT)) or ""
