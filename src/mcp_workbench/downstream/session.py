"""A conversation with one server, in the era it speaks: stamping, listing, calling, progress, cancellation.

Owns what is said on the connection. It does not own the process behind it, nor the choice of the era.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, RemoteError, RequestTimeout
from mcp_workbench.protocol import (
    IMPLEMENTATION,
    META_CAPABILITIES,
    META_CLIENT,
    META_PROGRESS,
    META_VERSION,
    METHOD_NOT_FOUND,
    MODERN,
    RESERVED_META,
)
from mcp_workbench.wire.message import decode_members, encode, error_line, result_line, starts_with
from mcp_workbench.wire.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.wire.message import Id, Undecodable
    from mcp_workbench.wire.peer import Request

OnProgress = Callable[[dict[str, msgspec.Raw]], None]
"""Takes the members of a progress notification."""

MAX_PAGES: Final = 1000

MODERN_STAMP: Final = b'"%b":"%b","%b":%b,"%b":{}' % (
    *(META_VERSION.encode(), MODERN.encode()),
    *(META_CLIENT.encode(), IMPLEMENTATION),
    META_CAPABILITIES.encode(),
)
"""What every modern request carries in its `_meta`."""

_TOOL_CHANGES: Final = b'"notifications":{"toolsListChanged":true}'

log = logging.getLogger(__name__)


class ToolCall(msgspec.Struct, frozen=True):
    """What a caller wants of a tool, whichever it is."""

    arguments: bytes | msgspec.Raw
    meta: Mapping[str, msgspec.Raw]
    """The caller's `_meta`; what of it is not ours to stamp goes along."""
    on_progress: OnProgress


class _Page(msgspec.Struct):
    tools: list[msgspec.Raw]
    next_cursor: str | None = msgspec.field(default=None, name="nextCursor")


class _ResultType(msgspec.Struct):
    result_type: str = msgspec.field(default="complete", name="resultType")


_decode_page = msgspec.json.Decoder(_Page).decode
_decode_token = msgspec.json.Decoder(int | str).decode
_decode_result_type = msgspec.json.Decoder(_ResultType).decode


class Session:
    """What is said on one connection."""

    def __init__(
        self, label: str, write: Callable[[bytes], None], on_tools_changed: Callable[[], None]
    ) -> None:
        self._label = label
        self._on_tools_changed = on_tools_changed
        self._progress: dict[int | str, tuple[Request, OnProgress]] = {}
        self._stamp = b""
        self._garbage = 0
        self.peer = Peer(write, self)

    def speak_modern(self, *, announces_changes: bool) -> None:
        """From now on every request carries the modern `_meta`."""
        self._stamp = MODERN_STAMP
        if announces_changes:
            # Modern servers announce changes only to who asks, in a request that stays open while they run.
            self.peer.subscribe("subscriptions/listen", b'{"_meta":{%b},%b}' % (MODERN_STAMP, _TOOL_CHANGES))

    async def list_tools(self, *, timeout: float) -> tuple[msgspec.Raw, ...]:  # noqa: ASYNC109 - a clock for each page
        """All the tools, page by page, each as it came."""
        tools: list[msgspec.Raw] = []
        seen: set[str] = set()
        cursor = b""
        for _ in range(MAX_PAGES):
            try:
                answer = await self._ask("tools/list", cursor, {}, idle=timeout)
            except RemoteError as error:
                if error.code == METHOD_NOT_FOUND and not tools:
                    return ()  # a server with resources or prompts only
                raise
            try:
                page = _decode_page(answer)
            except (msgspec.DecodeError, RecursionError) as error:
                raise BadAnswer(f"its list of tools could not be read: {error}") from None
            tools += page.tools
            # The modern era says that an empty cursor is a cursor; legacy servers mean the end by it.
            if page.next_cursor is None or not (page.next_cursor or self._stamp):
                return tuple(tools)
            if page.next_cursor in seen:
                raise BadAnswer("its list of tools never ends: the same cursor came twice")
            seen.add(page.next_cursor)
            cursor = b'"cursor":%b' % encode(page.next_cursor)
        raise BadAnswer(f"its list of tools never ends: more than {MAX_PAGES} pages")

    async def call_tool(self, name: str, call: ToolCall, *, idle: float, total: float) -> msgspec.Raw:
        """Calls a tool; the result is the server's, untouched."""
        fields = b'"name":%b,"arguments":%b' % (encode(name), call.arguments)
        result = await self._ask(
            "tools/call", fields, call.meta, idle=idle, total=total, on_progress=call.on_progress
        )
        if not starts_with(result, b"{"):
            raise BadAnswer("its result is not an object")
        if self._stamp:
            _require_complete(result)
        return result

    async def _ask(
        self,
        method: str,
        fields: bytes,
        meta: Mapping[str, msgspec.Raw],
        *,
        idle: float,
        total: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> msgspec.Raw:
        token = self.peer.next_id
        stamps = [b'"%b":%d' % (META_PROGRESS.encode(), token)] if on_progress else []
        if self._stamp:
            stamps.append(self._stamp)
        stamps += [
            b"%b:%b" % (encode(key), value)
            for key, value in meta.items()
            if key != META_PROGRESS and not key.startswith(RESERVED_META)
        ]
        parts = [fields] if fields else []
        if stamps:
            parts.append(b'"_meta":{%b}' % b",".join(stamps))
        request = self.peer.request(method, b"{%b}" % b",".join(parts), idle=idle, total=total)
        if on_progress is not None:
            self._progress[token] = (request, on_progress)
        try:
            return await request.answer
        except (asyncio.CancelledError, RequestTimeout) as end:
            reason = "timed out" if isinstance(end, RequestTimeout) else "no longer needed"
            self.peer.notify("notifications/cancelled", encode({"requestId": request.id, "reason": reason}))
            raise
        finally:
            self._progress.pop(token, None)
            self.peer.forget(request)

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:  # noqa: ARG002 - Handler
        """Answers what a server may ask of any client. We declared no capability beyond that."""
        if method == "ping":
            self.peer.send(result_line(request_id, b"{}"))
        else:
            self.peer.send(error_line(request_id, METHOD_NOT_FOUND, f"Method not found: {method}"))

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Takes progress and changes of the tool list; the rest is for the log."""
        if method == "notifications/progress":
            self._on_progress(params)
        elif method == "notifications/tools/list_changed":
            self._on_tools_changed()
        else:
            log.debug("[%s] %s", self._label, method)

    def on_garbage(self, problem: Undecodable) -> None:
        """Skips and counts: a banner on stdout must not break the conversation."""
        self._garbage += 1
        if self._garbage == 1:
            log.info("[%s] writes to its stdout what is not MCP; such lines are skipped", self._label)
        log.debug("[%s] skipped line %d of %d bytes: %s", self._label, self._garbage, problem.size, problem)

    def _on_progress(self, params: msgspec.Raw) -> None:
        try:
            members = decode_members(params)
            token = _decode_token(members[META_PROGRESS])
        except (msgspec.DecodeError, RecursionError, KeyError):
            return
        if listener := self._progress.get(token):
            request, on_progress = listener
            request.touch()
            on_progress(members)


def _require_complete(result: msgspec.Raw) -> None:
    try:
        kind = _decode_result_type(result).result_type
    except msgspec.DecodeError as error:
        raise BadAnswer(f"its result could not be read: {error}") from None
    if kind == "input_required":
        raise BadAnswer("it asks for input from the user, which was not offered to it")
    if kind != "complete":
        raise BadAnswer(f'its result is of the unknown type "{kind}"')
