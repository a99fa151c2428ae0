"""What a model is told beyond the failure of a call, if its arguments do not fit: where, and the definition.

Owns when that is said, and its place in the answer. What fits is decided in `workbench.misfit`.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.listing.detail import ListedTool, whole
from mcp_workbench.surface.listing.document import compact
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode, starts_with
from mcp_workbench.workbench.text.misfit import misfits
from mcp_workbench.workbench.text.sanitise import clean_definition

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

LONGEST_SHOWN: Final = 32 * 1024
"""Bytes of a definition that comes with an error."""
LONGEST_READ: Final = 4 * LONGEST_SHOWN
"""Bytes of one that may be shorter without its white space."""
LONGEST_RESULT: Final = 1024 * 1024
"""Bytes of a result that something is added to."""
LOOKED_AT: Final = 300
"""Characters of what a server says. That the arguments do not fit stands at the beginning, if anywhere."""
MOST_PLACES: Final = 20

# How the SDKs begin, of whose tools no other error does: TypeScript and the low level of Python, FastMCP in
# the Python SDK, and FastMCP.
_MISFIT: Final = re.compile(
    r"Input validation error|Invalid arguments for tool|validation errors? for (\S+Arguments|call\[)"
)
_OTHERWISE: Final = ("unknown tool", "output validation error")
_ABSENT: Final = ("not found", "disabled", "does not exist")
_UNQUOTED: Final = str.maketrans("", "", "'\"`")
_TRUE: Final = msgspec.Raw(b"true")
_CONTENT: Final = re.compile(rb'"content"\s*:\s*')


class _Result(msgspec.Struct):
    content: msgspec.Raw = ABSENT
    is_error: msgspec.Raw = msgspec.field(default=ABSENT, name="isError")


_decode_result = msgspec.json.Decoder(_Result).decode
_decode_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode


def advice_on(
    toolbox_server: ToolboxServer, tool: str, arguments: Body, said: str, *, is_refused: bool
) -> str:
    """What is to be said after a failure, if anything. Whether the server refuses the arguments by its code
    or not, it may do so by what it said."""
    said = said[:LOOKED_AT]
    raw = toolbox_server.definition(tool)
    if raw is None or _is_about_something_else(said.lower(), tool.lower()):
        return ""
    if found := misfits(raw, arguments):
        where = "; ".join(found)
        return f"The arguments do not fit the tool's schema: {where}. {_shown(toolbox_server, tool, raw)}"
    if is_refused or _MISFIT.search(said):
        return f"By what the server says, the arguments do not fit. {_shown(toolbox_server, tool, raw)}"
    return ""


def _is_about_something_else(said: str, tool: str) -> bool:
    """Whether it is the tool that the server misses, or its own result that does not fit."""
    *_, after = said.translate(_UNQUOTED).partition(f"tool {tool.translate(_UNQUOTED)} ")
    return after.removeprefix("is ").startswith(_ABSENT) or any(words in said for words in _OTHERWISE)


def _shown(toolbox_server: ToolboxServer, tool: str, raw: msgspec.Raw) -> str:
    if len(raw) <= LONGEST_READ:
        definition = compact(
            whole(ListedTool(toolbox_server.origin, tool, raw), clean_definition(bytes(raw))[0])
        )
        if len(definition) <= LONGEST_SHOWN:
            return f"The tool's definition: {definition.decode()}"
    asked = encode({"toolbox_name": toolbox_server.origin[0], "tools": [tool]}).decode()
    return f"The tool's definition is long: open_toolbox with {asked} returns it."


def advised(toolbox_server: ToolboxServer, tool: str, arguments: Body, result: msgspec.Raw) -> msgspec.Raw:
    """A result that may say that it is an error: with the advice as a last piece of text, if there is any;
    else, and in all else, as it came."""
    if len(result) > LONGEST_RESULT:
        return result
    try:
        found = _decode_result(result)
        blocks = _decode_blocks(found.content) if found.is_error == _TRUE else None
        if blocks is None or not (
            told := advice_on(toolbox_server, tool, arguments, _first(blocks), is_refused=False)
        ):
            return result
        comma = b"," if blocks else b""
        added = b'%b%b{"type":"text","text":%b}]' % (bytes(found.content)[:-1], comma, encode(told))
        return _with_content(bytes(result), bytes(found.content), added) or result
    except (msgspec.DecodeError, RecursionError):
        return result  # of no known form, or nobody can look into it: its client's to make something of


def _first(blocks: list[msgspec.Raw]) -> str:
    """The text that it begins with."""
    first = decode_members(blocks[0]) if blocks and starts_with(blocks[0], b"{") else {}
    return decode_text(first.get("text", ABSENT)) or ""


def _with_content(result: bytes, content: bytes, other: bytes) -> msgspec.Raw | None:
    """The result with other content in the place of its own, every other byte as it was."""
    for key in islice(_CONTENT.finditer(result), MOST_PLACES):
        start, end = key.end(), key.end() + len(content)
        if result[start:end] == content:
            changed = result[:start] + other + result[end:]
            # Only now is it certain that this was the result's own member, and not one inside of another.
            if _decode_result(changed).content == msgspec.Raw(other):
                return msgspec.Raw(changed)
    return None
