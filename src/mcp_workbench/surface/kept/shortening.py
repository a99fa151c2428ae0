"""Shortens a result that is too large to pass on: large contents are kept, and previews replace them.

Owns which contents are extracted, and what replaces them. Images, sounds and all other members stay as they
are. `shorten` is pure. `keep` answers a call with the short result, at once or from a thread.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.kept.preview import note, preview
from mcp_workbench.surface.listing.listing_result import compact
from mcp_workbench.surface.relay.notes import with_member
from mcp_workbench.wire.message import (
    ABSENT,
    decode_members,
    decode_text,
    encode,
    is_json,
    members_of,
    starts_with,
)
from mcp_workbench.workbench.kept.client_results import Content, new_handle

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

    Members = dict[str, msgspec.Raw]

    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.surface.relay.relayed import ToolCall
    from mcp_workbench.workbench.kept.client_results import ClientResults, ContentKind


INLINE_BYTES: Final = 128 * 1024
"""Size of a result that is shortened in less than 5 ms, in the event loop. Longer ones go to a thread."""
LIMIT_SECONDS: Final = 60.0
"""Time for shortening a result in a thread."""

MIN_EXTRACTED_BYTES: Final = 8000
"""Blocks from this size on are extracted if all blocks together exceed the limit."""

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
    """The shortening of one result.

    Hosts show the model either the blocks or the structured content, so the limit holds for each of them.
    """

    def __init__(self, members: Members, blocks: list[msgspec.Raw], limit: int) -> None:
        self._members = members
        self._blocks = blocks
        self._structure = members.get("structuredContent", ABSENT)
        self._limit = limit
        self._least = min(limit, MIN_EXTRACTED_BYTES)
        sizes = {at: _size_of(block) for at, block in enumerate(blocks)}
        self._sizes = {at: size for at, size in sizes.items() if size is not None}
        """Sizes of the blocks that count, by their positions."""
        self._extracted: dict[int, _Extracted] = {}
        """Extracted contents by the position of their block."""
        self._kept_structure: Content | None = None
        self._wrapper: str | None = None
        """The only member of the structured content, if it is that member which is kept."""
        self._is_text_wrapped = False
        """Whether that member is a string."""

    def short(self) -> ShortResult | None:
        self._extract_largest()
        if len(self._structure) > self._limit:
            self._kept_structure = _structure(self._structure)
        self._share_handle()
        if self._text_size > self._limit and self._sizes:
            self._extract_together()
        contents = [extracted.content for extracted in self._extracted.values()]
        if self._kept_structure is not None:
            contents.append(self._kept_structure)
        if not contents:
            return None
        by_handle = {content.handle: content for content in contents}
        return ShortResult(msgspec.Raw(encode(self._shortened(by_handle))), list(by_handle.values()))

    @property
    def _text_size(self) -> int:
        """Size of the blocks that count, as they are shortened so far."""
        extracted = self._extracted
        return sum(len(extracted[at].block) if at in extracted else size for at, size in self._sizes.items())

    def _extract_largest(self) -> None:
        """Extract blocks, the largest first, until the rest fits into the limit."""
        excess = sum(self._sizes.values()) - self._limit
        for at, size in sorted(self._sizes.items(), key=lambda pair: -pair[1]):
            if size <= self._least or excess <= 0:
                break
            if (extracted := _extract(self._blocks[at], self._limit)) is not None:
                self._extracted[at] = extracted
                excess -= size - len(extracted.block)

    def _extract_together(self) -> None:
        """Extract all blocks as one content: there are too many, or their types are unknown."""
        counted = [self._blocks[at] for at in self._sizes]
        together = Content(new_handle(), encode(counted), "json", is_json=True)
        block = _text_block({}, preview(together, self._limit))
        first = min(self._sizes)
        self._blocks = [
            other for at, other in enumerate(self._blocks) if at == first or at not in self._sizes
        ]
        self._extracted = {first: _Extracted(together, block)}

    def _share_handle(self) -> None:
        """Keep text that says the same as the structured content together with it, under one handle."""
        if len(self._structure) <= self._least:
            return
        for at, size in self._sizes.items():
            extracted = self._extracted.get(at)
            if extracted is None and self._kept_structure is not None and size > self._least:
                extracted = _extract(self._blocks[at], self._limit)
            if extracted is not None and self._repeats(extracted.content):
                # Keep the text: it may have lines, which are easier to read in parts.
                kind: ContentKind = "text" if self._is_text_wrapped else "json"
                both = msgspec.structs.replace(extracted.content, kind=kind)
                self._kept_structure = both
                self._extracted[at] = _Extracted(both, extracted.block)
                return

    def _repeats(self, content: Content) -> bool:
        """Whether a text says the same as the structured content, or as its only member.

        SDKs wrap what is no object into one with one member, whose name is noted then.
        """
        if _says(content, self._structure):
            return True
        members = members_of(self._structure)
        if len(members) == 1:
            ((name, value),) = members.items()
            if _says(content, value):
                self._wrapper = name
                self._is_text_wrapped = starts_with(value, b'"')
                return True
        return False

    def _shortened(self, contents: dict[str, Content]) -> dict[str, object]:
        """Return the members of the short result. Each half says how to read all that is kept."""
        extracted, kept = self._extracted, self._kept_structure
        changed: dict[str, object] = {}
        blocks = [extracted[at].block if at in extracted else block for at, block in enumerate(self._blocks)]
        in_blocks = dict.fromkeys(each.content.handle for each in extracted.values())
        if kept is not None and kept.handle not in in_blocks:
            blocks.append(_text_block({}, note(kept)))
        if starts_with(self._members.get("content", ABSENT), b"["):
            changed["content"] = blocks
        elsewhere = [note(contents[handle]) for handle in in_blocks if kept is None or handle != kept.handle]
        if kept is not None:
            told = "\n\n".join([preview(kept, self._limit), *elsewhere])
            reference = {"$result": kept.handle}
            left = reference if self._wrapper is None else {self._wrapper: reference}
            changed["structuredContent"] = msgspec.Raw(with_member(encode(left), told))
        elif starts_with(self._structure, b"{"):
            told = "\n\n".join(elsewhere)
            changed["structuredContent"] = msgspec.Raw(with_member(bytes(self._structure), told))
        return self._members | changed


def _says(content: Content, value: msgspec.Raw) -> bool:
    """Whether a text says the same as a JSON value: it is that string, or that value in another form."""
    if content.kind != "text":
        return False
    if starts_with(value, b'"'):
        return decode_text(value) == content.data.decode()
    return content.is_json and compact(content.data) == compact(bytes(value))


def _size_of(block: msgspec.Raw) -> int | None:
    """Return how much a model reads of a block, in bytes: of text what it says, and not its escapes in JSON.

    None for an image or a sound, which hosts show as such: its tokens do not depend on bytes.
    """
    try:
        members = decode_members(block)
        kind = decode_text(members.get("type", ABSENT))
        if kind == "text" and (text := decode_text(members.get("text", ABSENT))) is not None:
            return len(text.encode())
        is_media = kind in ("image", "audio") or (kind == "resource" and _is_media(members))
    except msgspec.DecodeError:
        is_media = False
    return None if is_media else len(block)


def _is_media(block: Members) -> bool:
    resource = decode_members(block.get("resource", ABSENT))
    mime = decode_text(resource.get("mimeType", ABSENT)) or ""
    return "blob" in resource and mime.startswith(("image/", "audio/"))


def _structure(value: msgspec.Raw) -> Content:
    """Return structured content as content to keep. A string is text, which has lines to read."""
    text = decode_text(value) if starts_with(value, b'"') else None
    if text is None:
        return Content(new_handle(), bytes(value), "json", is_json=True)
    return _as_text(text, "")


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
    elif kind == "resource":
        resource = decode_members(members.get("resource", ABSENT))
        uri = decode_text(resource.get("uri", ABSENT)) or ""
        content = _text(resource) if "text" in resource else _blob(resource, members)
    if content is None:
        return None
    return _Extracted(content, _text_block(common, preview(content, limit, uri)))


def _text(holder: Members) -> Content | None:
    text = decode_text(holder.get("text", ABSENT))
    if text is None:
        return None
    return _as_text(text, decode_text(holder.get("mimeType", ABSENT)) or "")


def _as_text(text: str, mime: str) -> Content:
    data = text.encode()
    looks_like_json = data[:100].lstrip()[:1] in (b"{", b"[")
    return Content(new_handle(), data, "text", is_json=looks_like_json and is_json(data), mime=mime)


def _blob(resource: Members, block: Members) -> Content | None:
    data = decode_text(resource.get("blob", ABSENT))
    if data is None or not data.isascii():
        return None
    frame = {name: value.copy() for name, value in block.items() if name != "resource"}
    frame["resource"] = msgspec.Raw(encode({name: resource[name] for name in resource if name != "blob"}))
    mime = decode_text(resource.get("mimeType", ABSENT)) or ""
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
    client_results.keep_now(short.contents, use.toolbox_server, limit, use.sources)
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
    is_kept = short is not None and await client_results.keep(short.contents, server, limit, use.sources)
    use.on_result(short.result if is_kept and short is not None else result, stamps)
