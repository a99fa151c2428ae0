"""A conversation with one server, in the era it speaks: what is said to it.

It does not own the process behind the connection, nor the choice of the era. What the server says by itself
is sorted in `hearing`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.conversation.attribution import Attribution
from mcp_workbench.downstream.conversation.call import Call
from mcp_workbench.downstream.conversation.change_stream import ChangeStream
from mcp_workbench.downstream.conversation.offer import Offer
from mcp_workbench.downstream.conversation.server_messages import ServerMessages
from mcp_workbench.errors import BadAnswer, RemoteError, RequestTimeout
from mcp_workbench.protocol.caller import OWN_META
from mcp_workbench.protocol.names import LOG_LEVELS, META_PROGRESS, RESERVED_META
from mcp_workbench.wire.message import (
    ABSENT,
    MAX_COPIED_BYTES,
    encode,
)
from mcp_workbench.wire.peer import Peer
from mcp_workbench.wire.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import msgspec

    from mcp_workbench.config import Origin
    from mcp_workbench.downstream.conversation.inquiry import Pushed
    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.message import Body, Id, Outgoing


TOTAL_FACTOR: Final = 10
"""A call that reports progress may take this many times as long as one that does not."""

_ID: Final = b'{"jsonrpc":"2.0","id":'
_META: Final = b',"_meta":{"%b":' % META_PROGRESS.encode()
"""Progress is asked for whether the caller wants it or not: it also says that the server is at it."""
_END: Final = b"}}}\n"

NO_LEVEL: Final = len(LOG_LEVELS)
"""Above all levels of log messages."""

MAX_UNREAD_ANSWERS: Final = 1000
"""Answers to what a server asks in mid-call that are sent to it although it does not read."""

log = logging.getLogger(__name__)


class _Unawaited(Request):
    """A request whose answer makes no difference."""

    def succeed(self, result: msgspec.Raw) -> None:
        """Fine."""

    def fail(self, error: WireError) -> None:
        """Then not."""


class Session:
    """What is said on one connection."""

    def __init__(
        self,
        origin: Origin,
        write: Callable[[Outgoing], None],
        listeners: Listeners,
        *,
        on_tools_changed: Callable[[], None],
        on_silence: Callable[[], None],
        line_limit: int,
    ) -> None:
        self.origin = origin
        self.label = "/".join(origin)
        self._log = logging.LoggerAdapter(log, {"server": self.label})
        self.listeners = listeners
        self.on_silence = on_silence
        """Told when a request was not answered in time."""
        self.is_modern = False
        self.can_push = True
        """Whether the server can send requests of its own: over HTTP some cannot, in a legacy session."""
        self.may_repeat = False
        """Whether a request may have to be made anew, which the server has not looked at."""
        self.offer = Offer()
        self.has_served = False
        """Whether it has answered a call."""
        self.is_backed_up = False
        """Whether the server does not read what it is sent."""
        self.input_timeout = 0.0
        """Seconds that a call may wait for what the server asks in the middle of it."""
        self.pushed: dict[Id, Pushed] = {}
        """What the server has asked and has no answer to yet."""
        self._log_level = -1
        """The lowest level of log messages that it was told to send, if it can be told."""
        self._logged: list[int] = []
        """The ids of calls that ask for log messages. Some may have ended."""
        self._knows_roots = False
        self._unread = 0
        """Answers that were owed and sent since it has not read."""
        self._unanswered = 0
        self._messages = ServerMessages(self, listeners, on_tools_changed)
        self.peer = Peer(write, self._messages, line_limit)
        self.attribution = Attribution(self.peer, listeners)
        """Whose calls the server may be talking about."""
        self.peer.on_stray = self.attribution.on_stray

    def declare(self) -> bytes:
        """The capabilities that a legacy server is told of in its handshake: those of our clients by then."""
        capabilities = self.listeners.capabilities
        self._knows_roots = b'"roots"' in capabilities
        return capabilities

    def speak_legacy(self, offer: Offer) -> None:
        """The handshake is done."""
        self.offer = offer
        self.peer.notify("notifications/initialized")
        if offer.logging:
            self._log_level = NO_LEVEL
            self.review_log_level()

    def speak_modern(self, offer: Offer) -> None:
        """From now on every request carries the modern `_meta`."""
        self.is_modern = True
        self.offer = offer
        if offer.changing:
            wanted = {f"{kind}ListChanged": True for kind in offer.changing}
            ChangeStream(self.peer, wanted, self.suspect_changes).open()

    def suspect_changes(self) -> None:
        """There may have been changes that nobody has heard of."""
        for kind in self.offer.changing:
            self._messages.on_notification(f"notifications/{kind}/list_changed", ABSENT)

    async def probe(self, *, limit: float) -> None:
        """Returns if the server reacts to anything at all, and raises WireError if not."""
        # The modern era has no `ping`, but every server has to know how to be discovered.
        with suppress(RemoteError, BadAnswer):
            await self.ask("server/discover" if self.is_modern else "ping", limit=limit)

    def call(
        self, call: Call, head: Sequence[Body], meta: Mapping[str, msgspec.Raw], limit: float, *, size: int
    ) -> None:
        """Makes a request for a caller, once; what was sent is not repeated, for it may have acted.

        The head is all of it between its id and its `_meta`, of the given size. What is not ours to stamp of
        the caller's `meta` goes along. The limit is on silence; with signs of life it may take longer.
        """
        call.idle = limit
        call.total = limit * TOTAL_FACTOR
        caller = call.caller
        if caller.log_level is not None:
            self._turn_log_on(call, caller.log_level)
        request_id = b"%d" % self.peer.next_id
        stamps = caller.stamp if self.is_modern else b""
        for key, value in meta.items():
            if key != META_PROGRESS and not key.startswith(RESERVED_META):
                stamps = b"%b,%b:%b" % (stamps, encode(key), value)
        # Joined in one go: to format some of the parts first takes 2.5 times as long.
        parts: list[Body] = [_ID, request_id, *head, _META, request_id, stamps, _END]
        self.peer.start(call, parts if size > MAX_COPIED_BYTES else b"".join(parts))

    def _turn_log_on(self, call: Call, level: int) -> None:
        """Sees to it that the server logs what is wanted in this call."""
        if level < self._log_level:
            self.set_log_level(self.listeners.log_level_with(level))
        if call.caller.is_modern:
            # There may be thousands of calls, and of messages that nobody wants.
            if len(self._logged) > 2 * len(self.peer.requests):
                self._logged = [call.id for call in self.logged]
            self._logged.append(self.peer.next_id)

    @property
    def calls(self) -> list[Call]:
        """Those in flight."""
        return [request for request in self.peer.requests if isinstance(request, Call)]

    @property
    def logged(self) -> list[Call]:
        """The calls in flight that ask for what the server logs meanwhile, as modern ones may."""
        found = map(self.peer.find, self._logged)
        return [call for call in found if isinstance(call, Call)]

    def stop(self, request: Request, reason: str) -> None:
        """Tells the server that nobody waits for an answer any more."""
        if isinstance(request, Call):
            self.attribution.give_up(request)
        self.peer.notify("notifications/cancelled", encode({"requestId": request.id, "reason": reason}))

    def review_log_level(self) -> None:
        """A client has chosen from which level on it wants log messages."""
        if (level := self.listeners.log_level) is not None:
            self.set_log_level(level)

    def set_log_level(self, level: int) -> None:
        """Tells a legacy server from which level on to log."""
        if self._log_level >= 0:
            self._log_level = level
            self.tell("logging/setLevel", {"level": LOG_LEVELS[level]})

    def tell(self, method: str, params: Mapping[str, str]) -> None:
        """Makes a request of a legacy server whose answer makes no difference."""
        self.peer.open_stream(_Unawaited(), method, encode(params))

    def tell_roots_changed(self) -> None:
        """The client has other roots, which a legacy server may want to ask for again."""
        if self._knows_roots and not self.is_modern:
            self.peer.notify("notifications/roots/list_changed")

    async def ask(self, method: str, *fields: bytes, limit: float) -> msgspec.Raw:
        """The result of a request with these members in its parameters. Raises WireError."""
        stamp = [OWN_META] if self.is_modern else []
        question = self.peer.ask(method, b"{%b}" % b",".join([*fields, *stamp]), limit=limit)
        try:
            return await question.answer
        except (asyncio.CancelledError, RequestTimeout) as end:
            self.stop(question, "timed out" if isinstance(end, RequestTimeout) else "no longer needed")
            raise
        finally:
            self.peer.forget(question)

    def reply(self, line: Outgoing, *, is_owed: bool = False) -> None:
        """Answers a request of the server's. One that a call waits for is owed an answer."""
        if not self.is_backed_up:
            self._unread = 0
        elif is_owed and self._unread < MAX_UNREAD_ANSWERS:
            # It may just be slow to read, and a user may have said what will not be said again.
            self._unread += 1
        else:
            # It does not read, so the answers would pile up. Nothing of it is owed to anybody else.
            self._unanswered += 1
            if self._unanswered == 1:
                self._log.warning("does not read the answers to its requests; they are dropped")
            return
        self.peer.send(line)
