"""Shortens a result that is too large to pass on: large contents are kept, and previews replace them.

Owns which contents are extracted, and what replaces them. All other members stay as they are. `shorten` is
pure. `keep` answers a call with the short result, at once or from a thread.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.kept.preview import how_to_read, preview, shape
from mcp_workbench.surface.listing.listing_result import compact
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

MIN_EXTRACTED_BYTES: Final = 8000
"""Contents from this size on are extracted if all contents together exceed the limit."""

PREVIEW_BYTES: Final = 1000
"""Smaller contents are not extracted: a preview would hardly be shorter."""

_COMMON_MEMBERS: Final = ("annotations", "_meta")
"""Members that a block of any type may have."""

_decode_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode


class ShortResult(msgspec.Struct, frozen=True):
    """A shortened result, and the contents to keep."""

    result: msgspec.Raw
    contents: list[Content]


class _Extracted(msgspec.Struct, frozen=True):
    """A content to keep, and the block that replaces it."""

    content: Content
    block: msgspec.Raw


def shorten(result: Body, limit: int) -> ShortResult | None:
    """Shorten a result; None if nothing in it can be extracted."""
    try:
        members = decode_members(result)
        raw = members.get("content", ABSENT)
        blocks = _decode_blocks(raw) if starts_with(raw, b"[") else []
        return _Shortening(members, blocks, limit).short()
    except (msgspec.DecodeError, RecursionError):
        return None


class _Shortening:
    """The shortening of one result."""

    def __init__(self, members: Members, blocks: list[msgspec.Raw], limit: int) -> None:
        self._members = members
        self._blocks = blocks
        self._structure = members.get("structuredContent", ABSENT)
        self._limit = limit
        self._extracted: dict[int, _Extracted] = {}
        """Extracted contents by the position of their block."""
        self._kept_structure: Content | None = None

    def short(self) -> ShortResult | None:
        self._extract_largest()
        if (
            self._size > self._limit
            and len(self._members.get("content", ABSENT)) > PREVIEW_BYTES
            and self._blocks
        ):
            # There are too many blocks, or their types are unknown.
            whole = Content(new_handle(), bytes(self._members["content"]), "json", is_json=True)
            block = _text_block({}, preview(whole, self._limit))
            self._blocks, self._extracted = [block], {0: _Extracted(whole, block)}
        if self._size > self._limit and len(self._structure) > PREVIEW_BYTES:
            self._extract_structure()
        contents = {extracted.content.handle: extracted.content for extracted in self._extracted.values()}
        if self._kept_structure is not None:
            contents[self._kept_structure.handle] = self._kept_structure
        if not contents:
            return None
        return ShortResult(msgspec.Raw(encode(self._shortened())), list(contents.values()))

    @property
    def _size(self) -> int:
        """Size of the shortened result so far."""
        return len(encode(self._shortened()))

    def _shortened(self) -> dict[str, object]:
        changed: dict[str, object] = {}
        if self._extracted:
            blocks = enumerate(self._blocks)
            changed["content"] = [
                self._extracted[place].block if place in self._extracted else block for place, block in blocks
            ]
        if (kept := self._kept_structure) is not None:
            changed["structuredContent"] = {
                "$result": kept.handle,
                "bytes": len(kept.data),
                "shape": shape(kept, min(self._limit, MIN_EXTRACTED_BYTES // 2)),
                "note": how_to_read(kept),
            }
        return self._members | changed

    def _extract_largest(self) -> None:
        """Extract contents, the largest first, until the rest fits into the limit."""
        sizes: list[tuple[int, int | None]] = [(len(block), at) for at, block in enumerate(self._blocks)]
        sizes.append((len(self._structure), None))
        excess = sum(size for size, _ in sizes) - self._limit
        for size, at in sorted(sizes, key=lambda pair: -pair[0]):
            if size <= min(self._limit, MIN_EXTRACTED_BYTES) or (size <= self._limit and excess <= 0):
                break
            if at is None:
                self._extract_structure()
                excess -= size
            elif (
                at not in self._extracted
                and (extracted := _extract(self._blocks[at], self._limit)) is not None
            ):
                self._extracted[at] = extracted
                excess -= size - len(extracted.block)
        self._share_handle()

    def _extract_structure(self) -> None:
        if self._kept_structure is None:
            self._kept_structure = Content(new_handle(), bytes(self._structure), "json", is_json=True)

    def _share_handle(self) -> None:
        """Keep text that equals the structured content together with it, under one handle."""
        if len(self._structure) <= min(self._limit, MIN_EXTRACTED_BYTES):
            return
        for at, block in enumerate(self._blocks):
            extracted = self._extracted.get(at)
            if extracted is None and self._kept_structure is not None:
                extracted = (
                    _extract(block, self._limit)
                    if len(block) > min(self._limit, MIN_EXTRACTED_BYTES)
                    else None
                )
            if extracted is not None and extracted.content.is_json and self._is_same(extracted.content):
                # Keep the text: it may have lines, which are easier to read in parts.
                both = msgspec.structs.replace(extracted.content, kind="json")
                self._kept_structure = both
                self._extracted[at] = _Extracted(both, extracted.block)
                return

    def _is_same(self, content: Content) -> bool:
        return content.kind == "text" and compact(content.data) == compact(bytes(self._structure))


def _extract(block: msgspec.Raw, limit: int) -> _Extracted | None:
    """Extract the content of a block; None if its type or form is unknown."""
    try:
        return _extract_known(decode_members(block), limit)
    except msgspec.DecodeError:
        return None


def _extract_known(members: Members, limit: int) -> _Extracted | None:
    kind = decode_text(members.get("type", ABSENT))
    common: Members = {name: members[name] for name in _COMMON_MEMBERS if name in members}
    content: Content | None = None
    uri = ""
    if kind == "text":
        content, common = _text(members), members
    elif kind in ("image", "audio"):
        content = _binary(members, "data", members)
    elif kind == "resource":
        resource = decode_members(members.get("resource", ABSENT))
        uri = decode_text(resource.get("uri", ABSENT)) or ""
        content = _text(resource) if "text" in resource else _binary(resource, "blob", members)
    if content is None:
        return None
    return _Extracted(content, _text_block(common, preview(content, limit, uri)))


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
