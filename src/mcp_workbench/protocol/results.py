"""The members of a result that describe the result itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer
from mcp_workbench.wire.message import ABSENT

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

find_error: Final = re.compile(rb'"isError"\s*+:\s*+true').search
"""Finds the member that marks the result of a tool as an error. What it finds may stand inside of the
content.
"""
TAIL_BYTES: Final = 1024
"""Bytes at the end of a result in which `isError` is looked for: all SDKs have it after the content."""

TOO_DEEP: Final = "its result is nested too deeply"


class Stamps(msgspec.Struct):
    """The `resultType` and `_meta` of a result, if it has them."""

    result_type: msgspec.Raw = msgspec.field(default=ABSENT, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


_decode_stamps = msgspec.json.Decoder(Stamps).decode


def read_stamps(result: Body) -> Stamps:
    """Return the `resultType` and `_meta` of a result that is a JSON object. Raises BadAnswer."""
    try:
        return _decode_stamps(result)
    except RecursionError:
        # The line was decoded on a shallower call stack, which allowed a few levels more.
        raise BadAnswer(TOO_DEEP) from None


class _ToolResult(msgspec.Struct):
    is_error: msgspec.Raw = msgspec.field(default=ABSENT, name="isError")


_decode_tool_result = msgspec.json.Decoder(_ToolResult).decode
_TRUE: Final = msgspec.Raw(b"true")


def is_tool_error(result: msgspec.Raw) -> bool:
    """Whether the result of a tool says that it is an error, in a place where SDKs put that."""
    if not (find_error(result, 0, TAIL_BYTES) or find_error(result, max(len(result) - TAIL_BYTES, 0))):
        return False
    try:
        return _decode_tool_result(result).is_error == _TRUE
    except (msgspec.DecodeError, RecursionError):
        return False
