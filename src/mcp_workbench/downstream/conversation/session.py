"""A conversation with one server: the requests and notifications that are sent to it.

It does not own the process behind the connection, nor the choice of the protocol version.
`server_messages` handles what the server sends.
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
    from mcp_workbench.downstream.conversation.server_rights import ServerRights
    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.message import Body, Id, Outgoing


TOTAL_FACTOR: Final = 10
"""A call that reports progress may take this many times as long as one that does not."""

_ID: Final = b'{"jsonrpc":"2.0","id":'
_META: Final = b',"_meta":{"%b":' % META_PROGRESS.encode()
"""Progress is always requested, because it also shows that the server is alive."""
_END: Final = b"}}}\n"

NO_LEVEL: Final = len(LOG_LEVELS)
"""Index of a log level above all others, so that nothing is logged."""

MAX_UNREAD_ANSWERS: Final = 1000
"""Maximum number of answers to questions that are sent to a server that does not read."""

log = logging.getLogger(__name__)


class _Unawaited(Request):
    """A request whose response is ignored."""

    def succeed(self, result: msgspec.Raw) -> None:
        """Ignore the result: no caller waits for it."""

    def fail(self, error: WireError) -> None:
        """Ignore the error: no caller waits for it."""


class Session:
    """The conversation on one connection."""

    def __init__(
        self,
        origin: Origin,
        write: Callable[[Outgoing], None],
        listeners: Listeners,
        *,
        on_tools_changed: Callable[[], None],
        on_silence: Callable[[], None],
        line_limit: int,
        rights: ServerRights | None = None,
    ) -> None:
        self.origin = origin
        self.label = "/".join(origin)
        self._log = logging.LoggerAdapter(log, {"server": self.label})
        self.listeners = listeners
        self.rights = rights
        """What the server may ask of clients; None if it may ask everything."""
        self.on_silence = on_silence
        """Called when a request was not answered in time."""
        self.is_modern = False
        self.can_push = True
        """Whether the server can send requests. Over HTTP some servers cannot in a legacy session."""
        self.may_repeat = False
        """Whether a request may have to be sent again, because the server has ignored it."""
        self.offer = Offer()
        self.has_served = False
        """Whether the server has responded to a call."""
        self.is_backed_up = False
        """Whether the server does not read what it is sent."""
        self.input_timeout = 0.0
        """Seconds that a call may wait for the answer to a question of the server."""
        self.pushed: dict[Id, Pushed] = {}
        """The open questions of the server, by id."""
        self._log_level = -1
        """Index of the lowest log level that the server was told to send; -1 if it cannot be told."""
        self._logged: list[int] = []
        """The ids of calls that asked for log messages. Some may have ended."""
        self._knows_roots = False
        self._unread = 0
        """Number of answers that were sent since the server stopped reading."""
        self._unanswered = 0
        self._messages = ServerMessages(self, listeners, on_tools_changed)
        self.peer = Peer(write, self._messages, line_limit)
        self.attribution = Attribution(self.peer, listeners)
        """Decides which calls the server's messages may be about."""
        self.peer.on_stray = self.attribution.on_stray

    @property
    def skipped_lines(self) -> Sequence[str]:
        """The first lines that the server sent and that are no messages."""
        return self._messages.skipped_lines

    def declare(self) -> bytes:
        """Return the capabilities of all clients that the server may use, for a legacy handshake."""
        capabilities = self.listeners.capabilities(self.rights)
        self._knows_roots = b'"roots"' in capabilities
        return capabilities

    def speak_legacy(self, offer: Offer) -> None:
        """Complete the handshake with a legacy server."""
        self.offer = offer
        self.peer.notify("notifications/initialized")
        if offer.logging:
            self._log_level = NO_LEVEL
            self.review_log_level()

    def speak_modern(self, offer: Offer) -> None:
        """Send the modern `_meta` with every request from now on, and subscribe to changes of lists."""
        self.is_modern = True
        self.offer = offer
        if offer.changing:
            wanted = {f"{kind}ListChanged": True for kind in offer.changing}
            ChangeStream(self.peer, wanted, self.suspect_changes).open()

    def suspect_changes(self) -> None:
        """Handle all lists as changed, because notifications may have been missed."""
        for kind in self.offer.changing:
            self._messages.on_notification(f"notifications/{kind}/list_changed", ABSENT)

    async def probe(self, *, limit: float) -> None:
        """Return if the server responds to anything at all. Raises WireError if it does not."""
        # The modern protocol has no `ping`, but every modern server responds to `server/discover`.
        with suppress(RemoteError, BadAnswer):
            await self.ask("server/discover" if self.is_modern else "ping", limit=limit)

    def call(
        self, call: Call, head: Sequence[Body], meta: Mapping[str, msgspec.Raw], limit: float, *, size: int
    ) -> None:
        """Send a request for a caller, once. It is never repeated, because it may have been executed.

        `head` is everything between the id and the `_meta` of the request, of `size` bytes. The members of
        `meta` that the workbench does not replace are passed on. `limit` is the timeout in seconds without
        progress; with progress the call may take longer.
        """
        call.idle = limit
        call.total = limit * TOTAL_FACTOR
        caller = call.caller
        if caller.log_level is not None:
            self._turn_log_on(call, caller.log_level)
        request_id = b"%d" % self.peer.next_id
        stamps = b""
        if self.is_modern:
            stamps = caller.stamp if self.rights is None else self.rights.limit(caller).stamp
        for key, value in meta.items():
            if key != META_PROGRESS and not key.startswith(RESERVED_META):
                stamps = b"%b,%b:%b" % (stamps, encode(key), value)
        # Joined in one step: formatting some of the parts first takes 2.5 times as long.
        parts: list[Body] = [_ID, request_id, *head, _META, request_id, stamps, _END]
        self.peer.start(call, parts if size > MAX_COPIED_BYTES else b"".join(parts))

    def _turn_log_on(self, call: Call, level: int) -> None:
        """Make sure that the server sends the log messages that this call asks for."""
        if level < self._log_level:
            self.set_log_level(self.listeners.log_level_with(level))
        if call.caller.is_modern:
            # There may be thousands of calls, so the ids of those that have ended are dropped in between.
            if len(self._logged) > 2 * len(self.peer.requests):
                self._logged = [call.id for call in self.logged]
            self._logged.append(self.peer.next_id)

    @property
    def calls(self) -> list[Call]:
        """The calls in flight in this session."""
        return [request for request in self.peer.requests if isinstance(request, Call)]

    @property
    def logged(self) -> list[Call]:
        """The modern calls in flight that ask for log messages."""
        found = map(self.peer.find, self._logged)
        return [call for call in found if isinstance(call, Call)]

    def stop(self, request: Request, reason: str) -> None:
        """Tell the server that a request is cancelled."""
        if isinstance(request, Call):
            self.attribution.give_up(request)
        self.peer.notify("notifications/cancelled", encode({"requestId": request.id, "reason": reason}))

    def review_log_level(self) -> None:
        """Tell the server the lowest log level, after a client has set its own."""
        if (level := self.listeners.log_level) is not None:
            self.set_log_level(level)

    def set_log_level(self, level: int) -> None:
        """Tell a legacy server which log messages to send."""
        if self._log_level >= 0:
            self._log_level = level
            self.tell("logging/setLevel", {"level": LOG_LEVELS[level]})

    def tell(self, method: str, params: Mapping[str, str]) -> None:
        """Send a request to a legacy server, and ignore its response."""
        self.peer.open_stream(_Unawaited(), method, encode(params))

    def tell_roots_changed(self) -> None:
        """Tell a legacy server that a client's roots have changed."""
        if self._knows_roots and not self.is_modern:
            self.peer.notify("notifications/roots/list_changed")

    async def ask(self, method: str, *fields: bytes, limit: float) -> msgspec.Raw:
        """Send a request with these members in its parameters, and return the result. Raises WireError."""
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
        """Respond to a request of the server. `is_owed` is for a response that a call waits for."""
        if not self.is_backed_up:
            self._unread = 0
        elif is_owed and self._unread < MAX_UNREAD_ANSWERS:
            # The server may just be slow to read, and a user's answer cannot be had twice.
            self._unread += 1
        else:
            # The server does not read, so its answers would fill the memory.
            self._unanswered += 1
            if self._unanswered == 1:
                self._log.warning("does not read the answers to its requests; they are dropped")
            return
        self.peer.send(line)
