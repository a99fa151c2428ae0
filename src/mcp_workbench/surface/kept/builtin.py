"""The tools of our own with which kept results are read: what they take, and what they answer.

Owns what is taken of a call, and the words of the answers. What is in a content is found in `workbench`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from mcp_workbench.errors import InvalidCall, ServerNotFound, ToolNotFound
from mcp_workbench.surface.kept import found, part
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.builtin import READ_RESULT, SEARCH_RESULT, SERVER, TOOLBOX, TOOLS
from mcp_workbench.workbench.kept.client_results import SEARCH_TIMEOUT_SECONDS, not_kept

if TYPE_CHECKING:
    from mcp_workbench.surface.metatools import ToolId
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.kept.client_results import ClientResults

Form = TypeVar("Form", part.ReadRequest, found.SearchRequest)

SOON: Final = 256 * 1024
"""Bytes of a content that are looked through in less than 5 ms."""
LIMIT: Final = 30.0
"""Seconds for any other."""


async def use(client_results: ClientResults, tool: ToolId, arguments: Body) -> tuple[Body, ...]:
    """The result of a call of one of them. Raises CallError."""
    if tool.server != SERVER:
        raise ServerNotFound(tool.server, TOOLBOX, [SERVER], disabled=False)
    asked: part.ReadRequest | found.SearchRequest
    if tool.tool == READ_RESULT:
        asked = _read(arguments, part.ReadRequest)
    elif tool.tool == SEARCH_RESULT:
        asked = _read(arguments, found.SearchRequest)
    else:
        raise ToolNotFound(tool.tool, SERVER, TOOLBOX, list(TOOLS))
    asked.check()
    kept = client_results.find(asked.handle)
    data = None if kept is None else await client_results.read(kept)
    if kept is None or data is None:
        raise not_kept(asked.handle)
    content = msgspec.structs.replace(kept.content, data=data)
    answer = partial(asked.answer, content, kept.limit)
    if asked.is_quick and len(data) <= SOON:
        return _result(answer())
    try:
        if asked.is_quick:
            return _result(await client_results.work(answer, LIMIT))
        return _result(await client_results.search(answer, len(data)))
    except TimeoutError:
        limit = LIMIT if asked.is_quick else SEARCH_TIMEOUT_SECONDS
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


def _result(blocks: list[msgspec.Raw]) -> tuple[Body, ...]:
    return (encode({"content": blocks}),)
