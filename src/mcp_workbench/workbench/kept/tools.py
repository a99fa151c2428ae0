"""The tools that read and search kept results: what they take, and what they answer.

Owns what is taken of a call, and the words of the answers. What is in a content is found in `workbench`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from mcp_workbench.errors import InvalidCall
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.kept import read_tool, search_tool
from mcp_workbench.workbench.kept.client_results import SEARCH_TIMEOUT_SECONDS, not_kept
from mcp_workbench.workbench.kept.definitions import SEARCH_RESULT

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.kept.client_results import ClientResults

Form = TypeVar("Form", read_tool.ReadRequest, search_tool.SearchRequest)

INLINE_BYTES: Final = 256 * 1024
"""Size of a content that is searched in less than 5 ms, in the event loop. Longer ones go to a thread."""
TIMEOUT_SECONDS: Final = 30.0
"""Time for reading or searching a longer content in a thread."""


async def answer(client_results: ClientResults, tool: str, arguments: Body) -> msgspec.Raw:
    """The result of a call of one of these tools. Raises CallError."""
    asked: read_tool.ReadRequest | search_tool.SearchRequest
    if tool == SEARCH_RESULT:
        asked = _read(arguments, search_tool.SearchRequest)
    else:
        asked = _read(arguments, read_tool.ReadRequest)
    asked.check()
    kept = client_results.find(asked.handle)
    data = None if kept is None else await client_results.read(kept)
    if kept is None or data is None:
        raise not_kept(asked.handle)
    content = msgspec.structs.replace(kept.content, data=data)
    find = partial(asked.answer, content, kept.limit)
    if asked.is_quick and len(data) <= INLINE_BYTES:
        return _result(find())
    try:
        if asked.is_quick:
            return _result(await client_results.work(find, TIMEOUT_SECONDS))
        return _result(await client_results.search(find, len(data)))
    except TimeoutError:
        limit = TIMEOUT_SECONDS if asked.is_quick else SEARCH_TIMEOUT_SECONDS
        remedy = (
            "Ask for a smaller part" if asked.is_quick else "Simplify the expression, or search for a text"
        )
        raise InvalidCall(f"It took more than {limit:g} s. {remedy}") from None


def _read(arguments: Body, form: type[Form]) -> Form:
    try:
        # Models write numbers as strings, too.
        return msgspec.json.decode(arguments, type=form, strict=False)
    except (msgspec.DecodeError, RecursionError) as error:
        takes = ", ".join(field.encode_name for field in msgspec.structs.fields(form))
        raise InvalidCall(f"Invalid arguments: {error}. It takes {takes}") from None


def _result(blocks: list[msgspec.Raw]) -> msgspec.Raw:
    return msgspec.Raw(encode({"content": blocks}))
