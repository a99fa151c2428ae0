"""A conversation with one server, in the era it speaks: stamping, listing, calling, progress, cancellation.

Owns what is said on the connection. It does not own the process behind it, nor the choice of the era.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, RemoteError, RequestTimeout, TooLong
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
from mcp_workbench.wire.message import (
    ABSENT,
    COPIED,
    OBJECT,
    QUOTED_LIMIT,
    decode_members,
    decode_text,
    encode,
    error_line,
    result_line,
)
from mcp_workbench.wire.peer import Peer
from mcp_workbench.wire.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.message import Body, Id, Outgoing, Undecodable

TOTAL_FACTOR: Final = 10
"""A call that reports progress may take this many times as long as one that does not."""
NOISE_LIMIT: Final = 128 * 1024 * 1024
"""After so many bytes that mean nothing to us, a server has to show that it also means something."""
NOTE_SIZE: Final = 100
"""Bytes that a notification is taken for, so that they need not be counted."""

MODERN_STAMP: Final = b'"%b":"%b","%b":%b,"%b":{}' % (
    *(META_VERSION.encode(), MODERN.encode()),
    *(META_CLIENT.encode(), IMPLEMENTATION),
    META_CAPABILITIES.encode(),
)
"""What every modern request carries in its `_meta`."""

TOO_DEEP: Final = "its result is nested too deeply"

_CALL_ID: Final = b'{"jsonrpc":"2.0","id":'
_CALL_NAME: Final = b',"method":"tools/call","params":{"name":'
_CALL_ARGUMENTS: Final = b',"arguments":'
_CALL_PROGRESS: Final = b',"_meta":{"%b":' % META_PROGRESS.encode()
"""Asked for whether the caller wants progress or not: it also says that the server is at it."""
_CALL_END: Final = b"}}}\n"

_TOOL_CHANGES: Final = b'"notifications":{"toolsListChanged":true}'

log = logging.getLogger(__name__)


class Call(Request):
    """A call of a tool, while it is in flight. Who wants it made says what becomes of it.

    Of the ends, exactly one comes, unless it was cancelled.
    """

    session: Session

    @abstractmethod
    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:
        """The result, as the server sent it. Its stamps, if they had to be read: it may be long."""

    @abstractmethod
    def on_failure(self, error: WireError) -> None:
        """There will be no result."""

    @abstractmethod
    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """The members of a progress notification."""

    def succeed(self, result: msgspec.Raw) -> None:
        """Ends it, if the result can be passed on."""
        self.session.has_served = True
        if memoryview(result)[0] != OBJECT:
            self.on_failure(BadAnswer("its result is not an object"))
        elif self.session.is_modern:
            try:
                stamps = read_stamps(result)
                _require_complete(stamps)
            except BadAnswer as problem:
                self.on_failure(problem)
            else:
                self.on_result(result, stamps)
        else:
            self.on_result(result, None)

    def fail(self, error: WireError) -> None:
        """Ends it, and tells the server if it need not go on."""
        self.on_failure(error)
        if isinstance(error, RequestTimeout):
            self.session.stop(self, "timed out")
            self.session.on_silence()
        elif isinstance(error, TooLong):
            # Its line may never end.
            self.session.on_silence()

    def cancel(self) -> None:
        """There is no end to be told of any more, and the server need not go on."""
        self.session.peer.forget(self)
        self.session.stop(self, "no longer needed")


class Stamps(msgspec.Struct):
    """The members of a result that are about it, as far as it has them."""

    result_type: msgspec.Raw = msgspec.field(default=ABSENT, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


_COMPLETE: Final = msgspec.Raw(b'"complete"')

_decode_token = msgspec.json.Decoder(int | str).decode
_decode_stamps = msgspec.json.Decoder(Stamps).decode


class Session:
    """What is said on one connection."""

    def __init__(
        self,
        label: str,
        write: Callable[[Outgoing], None],
        on_tools_changed: Callable[[], None],
        on_silence: Callable[[], None],
        line_limit: int,
    ) -> None:
        self.label = label
        self._log = logging.LoggerAdapter(log, {"server": label})
        self._on_tools_changed = on_tools_changed
        self.on_silence = on_silence
        """Told when a request was not answered in time."""
        self.is_modern = False
        self.has_served = False
        """Whether a call was ever answered."""
        self.is_backed_up = False
        """Whether the server does not read what it is sent."""
        self._stamp = b""
        """What goes into the `_meta` of every request, after something else."""
        self._garbage = 0
        self._unanswered = 0
        self._noise = 0
        self.peer = Peer(write, self, line_limit)

    def speak_modern(self, *, announces_changes: bool) -> None:
        """From now on every request carries the modern `_meta`."""
        self.is_modern = True
        self._stamp = b"," + MODERN_STAMP
        if announces_changes:
            # Modern servers announce changes only to who asks, in a request that stays open while they run.
            self.peer.subscribe("subscriptions/listen", b'{"_meta":{%b},%b}' % (MODERN_STAMP, _TOOL_CHANGES))

    async def probe(self, *, limit: float) -> None:
        """Returns if the server reacts to anything at all, and raises WireError if not."""
        # The modern era has no `ping`, but every server has to know how to be discovered.
        with suppress(RemoteError, BadAnswer):
            await self.ask("server/discover" if self.is_modern else "ping", limit=limit)

    def call_tool(
        self, call: Call, name: str, arguments: Body, meta: Mapping[str, msgspec.Raw], limit: float
    ) -> None:
        """Calls a tool once; never repeated, for it may have acted.

        What is not ours to stamp of the caller's `meta` goes along. The limit is on silence; with signs of
        life it may take longer.
        """
        call.idle = limit
        call.total = limit * TOTAL_FACTOR
        request_id = b"%d" % self.peer.next_id
        stamps = self._stamp
        for key, value in meta.items():
            if key != META_PROGRESS and not key.startswith(RESERVED_META):
                stamps = b"%b,%b:%b" % (stamps, encode(key), value)
        # Joined in one go: to format some of the parts first takes 2.5 times as long.
        parts: list[Body] = [
            *(_CALL_ID, request_id, _CALL_NAME, encode(name), _CALL_ARGUMENTS, arguments),
            *(_CALL_PROGRESS, request_id, stamps, _CALL_END),
        ]
        self.peer.start(call, parts if len(arguments) > COPIED else b"".join(parts))

    def stop(self, request: Request, reason: str) -> None:
        """Tells the server that nobody waits for an answer any more."""
        self.peer.notify("notifications/cancelled", encode({"requestId": request.id, "reason": reason}))

    async def ask(self, method: str, *fields: bytes, limit: float) -> msgspec.Raw:
        """The result of a request with these members in its parameters. Raises WireError."""
        stamp = [b'"_meta":{%b}' % self._stamp.removeprefix(b",")] if self._stamp else []
        question = self.peer.ask(method, b"{%b}" % b",".join([*fields, *stamp]), limit=limit)
        try:
            return await question.answer
        except (asyncio.CancelledError, RequestTimeout) as end:
            self.stop(question, "timed out" if isinstance(end, RequestTimeout) else "no longer needed")
            raise
        finally:
            self.peer.forget(question)

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:  # noqa: ARG002 - Handler
        """Answers what a server may ask of any client. We declared no capability beyond that."""
        if self.is_backed_up:
            # It does not read, so the answers would pile up. Nothing of it is owed to anybody else.
            self._unanswered += 1
            if self._unanswered == 1:
                self._log.warning("does not read the answers to its requests; they are dropped")
        elif method == "ping":
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
            self._hear_noise(NOTE_SIZE)
            self._log.debug("%s", method)

    def on_garbage(self, problem: Undecodable) -> None:
        """Skips and counts: a banner on stdout must not break the conversation."""
        self._garbage += 1
        self._hear_noise(problem.size)
        if self._garbage == 1:
            self._log.info("writes to its stdout what is not MCP; such lines are skipped")
        self._log.debug("skipped line %d of %d bytes: %s", self._garbage, problem.size, problem)

    def _hear_noise(self, size: int) -> None:
        """A server may talk without end to nobody, and take our time for it."""
        self._noise += size
        if self._noise > NOISE_LIMIT:
            self._noise = 0
            self.on_silence()

    def _on_progress(self, params: msgspec.Raw) -> None:
        try:
            members = decode_members(params)
            token = _decode_token(members[META_PROGRESS])
        except (msgspec.DecodeError, RecursionError, KeyError):
            return
        call = self.peer.find(token)
        if isinstance(call, Call):
            call.touch()
            call.on_progress(members)


def read_stamps(result: Body) -> Stamps:
    """The stamps of a result that is an object. Raises BadAnswer."""
    try:
        return _decode_stamps(result)
    except RecursionError:
        # Whoever has decoded the line was a few calls nearer to the limit of them.
        raise BadAnswer(TOO_DEEP) from None


def _require_complete(stamps: Stamps) -> None:
    if stamps.result_type == _COMPLETE or not stamps.result_type:
        return
    kind = decode_text(stamps.result_type)
    if kind == "input_required":
        raise BadAnswer("it asks for input from the user, which was not offered to it")
    if kind != "complete":
        shown = bytes(memoryview(stamps.result_type)[:QUOTED_LIMIT]).decode(errors="replace")
        raise BadAnswer(f"its result is of the unknown type {shown}")
