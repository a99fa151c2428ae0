"""The tools of a server, page by page, each as it came: within bounds, and without losing all to one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, RemoteError, TooDeep, size_of
from mcp_workbench.protocol import METHOD_NOT_FOUND
from mcp_workbench.wire.message import ABSENT, decode, decode_text
from mcp_workbench.wire.salvage import without_deep_values

if TYPE_CHECKING:
    from mcp_workbench.downstream.session import Session

MAX_PAGES: Final = 1000
MAX_TOOLS: Final = 100_000
MAX_SIZE: Final = 64 * 1024 * 1024
MAX_DEPTH: Final = 200
"""Levels of nesting in the definition of a tool."""
MOST_TO_SAVE: Final = 4 * 1024 * 1024
"""Bytes of a list that is nested too deeply and still looked through, which is done by hand."""

log = logging.getLogger(__name__)


class _Page(msgspec.Struct):
    tools: list[msgspec.Raw]
    next_cursor: msgspec.Raw = msgspec.field(default=ABSENT, name="nextCursor")


_decode_page = msgspec.json.Decoder(_Page).decode


async def list_tools(session: Session, limit: float) -> tuple[msgspec.Raw, ...]:
    """All the tools, with so many seconds for each page. Raises WireError."""
    tools: list[msgspec.Raw] = []
    seen: set[str] = set()
    size = 0
    cursor: tuple[bytes, ...] = ()
    for _ in range(MAX_PAGES):
        try:
            answer = await session.ask("tools/list", *cursor, limit=limit)
        except RemoteError as error:
            if error.code == METHOD_NOT_FOUND and not tools:
                return ()  # a server with resources or prompts only
            raise
        except TooDeep as error:
            answer = _save_what_is_not_deep(session.label, error)
        page = _read_page(answer)
        tools += page.tools
        size += len(answer)
        if len(tools) > MAX_TOOLS or size > MAX_SIZE:
            raise BadAnswer(f"its list of tools is too long: more than {MAX_TOOLS:,} or {size_of(MAX_SIZE)}")
        # What is no text counts as the end, so that one slip does not lose the list. The modern era says that
        # an empty cursor is a cursor; legacy servers mean the end by it.
        following = decode_text(page.next_cursor)
        if following is None or not (following or session.is_modern):
            return tuple(tools)
        if following in seen:
            raise BadAnswer("its list of tools never ends: the same cursor came twice")
        seen.add(following)
        cursor = (b'"cursor":%b' % page.next_cursor,)
    raise BadAnswer(f"its list of tools never ends: more than {MAX_PAGES:,} pages")


def _read_page(answer: msgspec.Raw) -> _Page:
    try:
        return _decode_page(answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"its list of tools could not be read: {error}") from None


def _save_what_is_not_deep(label: str, error: TooDeep) -> msgspec.Raw:
    """A page without the tools that nobody could look into."""
    if len(error.line) > MOST_TO_SAVE:
        raise error
    log.warning("leaves out tools whose definitions are nested too deeply", extra={"server": label})
    # The line, its result, the list, the tool.
    return decode(without_deep_values(error.line, 4, MAX_DEPTH)).result
