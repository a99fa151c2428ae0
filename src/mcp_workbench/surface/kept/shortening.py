"""A result that is too large to be passed on, made short: what is large in it is kept, and shown in part.

Owns which contents of a result are taken out, and what stands in their place. All else of it stays as it is.
`shorten` is pure. `keep` answers a call with the short result, now or in a thread.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.kept.preview import how_to_read, preview, shape
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode, is_json, starts_with
from mcp_workbench.workbench.kept.client_results import Content, new_handle

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

    Members = dict[str, msgspec.Raw]

    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.surface.relay.relayed import ToolCall
    from mcp_workbench.workbench.kept.client_results import ClientResults


INLINE_BYTES: Final = 128 * 1024
"""Size of a result that is shortened in less than 5 ms, in the event loop. Longer ones go to a thread."""
LIMIT_SECONDS: Final = 60.0
"""Time for shortening a result in a thread."""

LEAST: Final = 8000
"""Bytes of a content that is taken out although it is below the limit, because all of them are not."""

SMALL: Final = 1000
"""Bytes that are hardly more than what would stand in their place."""

_STAY: Final = ("annotations", "_meta")
"""What a block has whatever it is."""

_decode_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode


class ShortResult(msgspec.Struct, frozen=True):
    """What is passed on, and what is kept."""

    result: msgspec.Raw
    contents: list[Content]


class _Taken(msgspec.Struct, frozen=True):
    """A content, and the block that stands in its place."""

    content: Content
    block: msgspec.Raw


def shorten(result: Body, limit: int) -> ShortResult | None:
    """A result in short; None if there is nothing in it that could be taken out."""
    try:
        members = decode_members(result)
        raw = members.get("content", ABSENT)
        blocks = _decode_blocks(raw) if starts_with(raw, b"[") else []
        return _Shortening(members, blocks, limit).short()
    except (msgspec.DecodeError, RecursionError):
        return None


class _Shortening:
    """One result under way."""

    def __init__(self, members: Members, blocks: list[msgspec.Raw], limit: int) -> None:
        self._members = members
        self._blocks = blocks
        self._structure = members.get("structuredContent", ABSENT)
        self._limit = limit
        self._taken: dict[int, _Taken] = {}
        """By the places of the blocks."""
        self._kept_structure: Content | None = None

    def short(self) -> ShortResult | None:
        self._take_largest()
        if self._size > self._limit and len(self._members.get("content", ABSENT)) > SMALL and self._blocks:
            # There are too many of them, or they are of no known type.
            whole = Content(new_handle(), bytes(self._members["content"]), "json", is_json=True)
            block = _text_block({}, preview(whole, self._limit))
            self._blocks, self._taken = [block], {0: _Taken(whole, block)}
        if self._size > self._limit and len(self._structure) > SMALL:
            self._take_structure()
        contents = {taken.content.handle: taken.content for taken in self._taken.values()}
        if self._kept_structure is not None:
            contents[self._kept_structure.handle] = self._kept_structure
        if not contents:
            return None
        return ShortResult(msgspec.Raw(encode(self._shortened())), list(contents.values()))

    @property
    def _size(self) -> int:
        """Of what is passed on, as it stands now."""
        return len(encode(self._shortened()))

    def _shortened(self) -> dict[str, object]:
        changed: dict[str, object] = {}
        if self._taken:
            blocks = enumerate(self._blocks)
            changed["content"] = [
                self._taken[place].block if place in self._taken else block for place, block in blocks
            ]
        if (kept := self._kept_structure) is not None:
            changed["structuredContent"] = {
                "$result": kept.handle,
                "bytes": len(kept.data),
                "shape": shape(kept, min(self._limit, LEAST // 2)),
                "note": how_to_read(kept),
            }
        return self._members | changed

    def _take_largest(self) -> None:
        """One after the other, until the rest is small enough."""
        sizes: list[tuple[int, int | None]] = [(len(block), at) for at, block in enumerate(self._blocks)]
        sizes.append((len(self._structure), None))
        excess = sum(size for size, _ in sizes) - self._limit
        for size, at in sorted(sizes, key=lambda it: -it[0]):
            if size <= min(self._limit, LEAST) or (size <= self._limit and excess <= 0):
                break
            if at is None:
                self._take_structure()
                excess -= size
            elif at not in self._taken and (taken := _take(self._blocks[at], self._limit)) is not None:
                self._taken[at] = taken
                excess -= size - len(taken.block)
        self._match()

    def _take_structure(self) -> None:
        if self._kept_structure is None:
            self._kept_structure = Content(new_handle(), bytes(self._structure), "json", is_json=True)

    def _match(self) -> None:
        """Text that says the same as the structure is kept with it, under one handle."""
        if len(self._structure) <= min(self._limit, LEAST):
            return
        for at, block in enumerate(self._blocks):
            taken = self._taken.get(at)
            if taken is None and self._kept_structure is not None:
                taken = _take(block, self._limit) if len(block) > min(self._limit, LEAST) else None
            if taken is not None and taken.content.is_json and self._is_same(taken.content):
                # The text, for it may have lines that can be read one by one.
                both = msgspec.structs.replace(taken.content, kind="json")
                self._kept_structure = both
                self._taken[at] = _Taken(both, taken.block)
                return

    def _is_same(self, content: Content) -> bool:
        return content.kind == "text" and _compact(content.data) == _compact(bytes(self._structure))


def _compact(json: bytes) -> bytes:
    return msgspec.json.format(json, indent=-1)


def _take(block: msgspec.Raw, limit: int) -> _Taken | None:
    """What can be kept of a block; None if it is of no known type or form."""
    try:
        return _take_known(decode_members(block), limit)
    except msgspec.DecodeError:
        return None


def _take_known(members: Members, limit: int) -> _Taken | None:
    kind = decode_text(members.get("type", ABSENT))
    staying: Members = {name: members[name] for name in _STAY if name in members}
    content: Content | None = None
    uri = ""
    if kind == "text":
        content, staying = _text(members), members
    elif kind in ("image", "audio"):
        content = _binary(members, "data", members)
    elif kind == "resource":
        resource = decode_members(members.get("resource", ABSENT))
        uri = decode_text(resource.get("uri", ABSENT)) or ""
        content = _text(resource) if "text" in resource else _binary(resource, "blob", members)
    if content is None:
        return None
    return _Taken(content, _text_block(staying, preview(content, limit, uri)))


def _text(holder: Members) -> Content | None:
    text = decode_text(holder.get("text", ABSENT))
    if text is None:
        return None
    data = text.encode()
    mime = decode_text(holder.get("mimeType", ABSENT)) or ""
    looks_like_json = data[:100].lstrip()[:1] in (b"{", b"[")
    return Content(new_handle(), data, "text", is_json=looks_like_json and is_json(data), mime=mime)


def _binary(holder: Members, key: str, block: Members) -> Content | None:
    data = decode_text(holder.get(key, ABSENT))
    if data is None or not data.isascii():
        return None
    frame = {name: value.copy() for name, value in block.items() if name not in (key, "resource")}
    if holder is not block:
        frame["resource"] = msgspec.Raw(encode({name: holder[name] for name in holder if name != key}))
    mime = decode_text(holder.get("mimeType", ABSENT)) or ""
    return Content(new_handle(), data.encode(), "binary", mime=mime, frame=frame)


def _text_block(members: Members, text: str) -> msgspec.Raw:
    return msgspec.Raw(encode({"type": "text", **members, "text": text}))


def keep(use: ToolCall, result: msgspec.Raw, stamps: Stamps | None, client_results: ClientResults) -> bool:
    """Answers a call with its result in short, now or later. False if it is to be passed on as it is."""
    if len(result) > INLINE_BYTES or not client_results.has_room(len(result)):
        use.requests.finish_after(use, partial(_keep_later, use, result, stamps, client_results))
        return True
    limit = use.toolbox_server.inline_limit
    short = shorten(result, limit)
    if short is None:
        return False
    client_results.keep_now(short.contents, use.toolbox_server, limit)
    use.on_result(short.result, stamps)
    return True


async def _keep_later(
    use: ToolCall, result: msgspec.Raw, stamps: Stamps | None, client_results: ClientResults
) -> None:
    server, limit = use.toolbox_server, use.toolbox_server.inline_limit
    try:
        short = await client_results.work(partial(shorten, result, limit), LIMIT_SECONDS)
    except TimeoutError:
        short = None
    is_kept = short is not None and await client_results.keep(short.contents, server, limit)
    use.on_result(short.result if is_kept and short is not None else result, stamps)
