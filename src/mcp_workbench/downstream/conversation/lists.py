"""Lists of a server, page by page: bounded in size, and with bad entries left out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, RemoteError, TooDeep, size_of
from mcp_workbench.protocol.lists import MAX_DEPTH, TOOLS, Kind
from mcp_workbench.protocol.names import METHOD_NOT_FOUND
from mcp_workbench.wire.message import ABSENT, decode, decode_members, decode_text
from mcp_workbench.wire.salvage import without_deep_values
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.protocol.lists import Entries

MAX_PAGES: Final = 1000
MAX_ENTRIES: Final = 100_000
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_SALVAGE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a page that is nested too deeply and still searched for usable entries."""

log = logging.getLogger(__name__)


_decode_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode


async def list_all(session: Session, kind: Kind, limit: float) -> Entries:
    """Return the whole list, with a timeout in seconds for each page. Raises WireError."""
    entries: list[msgspec.Raw] = []
    seen: set[str] = set()
    size = 0
    cursor: tuple[bytes, ...] = ()
    for _ in range(MAX_PAGES):
        try:
            answer = await session.ask(kind.method, *cursor, limit=limit)
        except RemoteError as error:
            declares_tools = kind is TOOLS and session.offer.tools
            if error.code == METHOD_NOT_FOUND and not (entries or declares_tools):
                return ()  # the server has no such list
            raise
        except TooDeep as error:
            answer = await _without_deep_entries(session.label, kind, error, limit)
        page, next_cursor = _read_page(kind, answer)
        entries += page
        size += len(answer)
        if len(entries) > MAX_ENTRIES or size > MAX_BYTES:
            most = f"more than {MAX_ENTRIES:,} or {size_of(MAX_BYTES)}"
            raise BadAnswer(f"its list of {kind.noun} is too long: {most}")
        # A cursor that is no string counts as the end, so that a mistake there does not lose the list. In the
        # modern protocol an empty cursor is a cursor; legacy servers mean the end by it.
        following = decode_text(next_cursor)
        if following is None or not (following or session.is_modern):
            return tuple(entries)
        if following in seen:
            raise BadAnswer(f"its list of {kind.noun} never ends: the same cursor came twice")
        seen.add(following)
        cursor = (b'"cursor":%b' % next_cursor,)
    raise BadAnswer(f"its list of {kind.noun} never ends: more than {MAX_PAGES:,} pages")


def _read_page(kind: Kind, answer: msgspec.Raw) -> tuple[list[msgspec.Raw], msgspec.Raw]:
    """Return the entries of a page, and the cursor of the next. Raises BadAnswer."""
    try:
        members = decode_members(answer)
        if kind.member not in members:
            raise BadAnswer(f"its list of {kind.noun} could not be read: `{kind.member}` is missing")
        return _decode_entries(members[kind.member]), members.get("nextCursor", ABSENT)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"its list of {kind.noun} could not be read: {error}") from None


async def _without_deep_entries(label: str, kind: Kind, error: TooDeep, limit: float) -> msgspec.Raw:
    """Return a page without the entries that are nested too deeply. Raises TooDeep."""
    if len(error.line) > MAX_SALVAGE_BYTES:
        raise error
    log.warning("leaves out %s that are nested too deeply", kind.noun, extra={"server": label})
    # Level 4: the line, its result, the list, the entry. In a thread, because it may take long.
    saving = in_thread(lambda: without_deep_values(error.line, 4, MAX_DEPTH), limit)
    try:
        return decode(await saving).result
    except TimeoutError:
        raise error from None
