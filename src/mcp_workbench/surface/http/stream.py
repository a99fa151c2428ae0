"""What is said to a client in one HTTP response; or in several, if it comes back for what it missed.

Owns the messages until they are sent, and a few of them for a while after that. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mcp_workbench.errors import size_of
from mcp_workbench.protocol.names import INTERNAL_ERROR
from mcp_workbench.wire.message import error_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.surface.http.backlog import PrincipalBacklog
    from mcp_workbench.wire.message import Outgoing

MOST_UNSENT: Final = 1000
"""Messages that wait for a client which is away. Of more, the oldest are dropped."""
MOST_BYTES_UNSENT: Final = 1024 * 1024
"""The same in bytes. The latest one waits however long it is."""
MOST_BYTES_BEHIND: Final = 16 * 1024 * 1024
"""Bytes by which a client that is there may be behind."""
MOST_KEPT: Final = 100
"""Messages that are kept after they were sent, for a client that comes back."""
MOST_BYTES_KEPT: Final = 1024 * 1024
"""The same in bytes. The latest one is kept however long it is: it may be the answer."""


class Follower(Protocol):
    """Whoever sends the messages of a stream to the client."""

    def cut_off(self) -> None:
        """Close the connection, and drop what the client has not read."""


class ResponseStream:
    """The messages about one request, or about none. They are held in the account of the principal."""

    def __init__(self, account: PrincipalBacklog, name: str = "", owed: Iterable[bytes] = ()) -> None:
        self._account = account
        self.held_bytes = 0
        """What the account counts for this stream; only the account changes it."""
        self.held_since = 0.0
        """When the first of what is held came, or the latest large message; set by the account."""
        self.name = name
        """Known to a client that may come back; empty if it cannot."""
        self.is_over = False
        """Whether no more will be said."""
        self.is_closed = False
        """Whether the contents were given up for good, and more of them are ignored."""
        self.has_begun = False
        """Whether the client was sent a position on the stream, and can come back to it."""
        self.follower: Follower | None = None
        """Who sends it to the client at the moment."""
        self._bytes_lent = 0
        """Of a message that is not kept, and that the follower may still be sending."""
        self._owed = set(owed)
        """The ids of requests that are to be answered here."""
        self._messages: deque[Outgoing] = deque()
        self._first = 1
        """The number of the first message that is still here."""
        self._sent = 0
        """The number of the last message that was sent."""
        self.bytes_kept = 0
        """Of messages that were sent."""
        self._bytes_unsent = 0
        self._waiter: asyncio.Future[None] | None = None

    def write(self, line: Outgoing) -> None:
        """Says something. It is dropped if it is large and there is no room for it."""
        size = _size(line)
        if self.is_closed or not self._account.hold(self, size):
            return
        self._messages.append(line)
        self._bytes_unsent += size
        while self._unsent > 1 and self._is_too_much:
            self._drop_next()
        self.wake()

    def answer(self, request_id: bytes, line: Outgoing) -> None:
        """Answers a request: with an error, if there is no room for the answer."""
        if self.is_closed:
            return
        size = len(line) if isinstance(line, bytes) else _size(line)  # one step less for most
        if not self._account.hold(self, size):
            line = self._refusal(request_id, size)
            size = len(line)
            self._account.hold(self, size, always=True)
        self._messages.append(line)
        self._bytes_unsent += size
        self.settle(request_id)

    def _refusal(self, request_id: bytes, size: int) -> bytes:
        why = (
            f"The answer was dropped: it has {size_of(size)}, and {size_of(self._account.bytes)} that were "
            "sent to you before were not read yet. Read these or close their connections, then send the "
            "request again"
        )
        return error_line(msgspec.json.decode(request_id), INTERNAL_ERROR, why)

    def settle(self, request_id: bytes) -> None:
        """A request is answered, or will not be."""
        self._owed.discard(request_id)
        self.is_over = not self._owed
        self.wake()

    def end(self) -> None:
        """Says no more."""
        self.is_over = True
        self.wake()

    def leave(self, follower: Follower | None = None) -> None:
        """Nobody follows it any more; with a follower, only if it is that one."""
        if follower is None or self.follower is follower:
            self.follower = None
            self.wake()

    def close(self) -> None:
        """Give up the contents for good. Nobody follows the stream, and nobody may come back to it."""
        self.is_closed = True
        self.forget()

    def forget(self) -> None:
        """Drop all messages, sent or not. Later ones keep their numbers."""
        self._first += len(self._messages)
        self._sent = self._first - 1
        self._messages.clear()
        self.bytes_kept = self._bytes_unsent = self._bytes_lent = 0
        if self.held_bytes:
            self._account.release(self, self.held_bytes)

    @property
    def only_answer(self) -> Outgoing | None:
        """All that was said, if that is one answer and no more."""
        is_whole = self.is_over and self._sent == 0 and len(self._messages) == 1
        return self._messages[0] if is_whole else None

    @property
    def position(self) -> str:
        """Names the last message that was sent, for a client that may come back; empty if it cannot."""
        return f"{self.name}-{self._sent}" if self.name else ""

    def next(self) -> tuple[str, Outgoing] | None:
        """The next message that is to be sent, with its position; None if there is none for now."""
        if self._bytes_lent:
            self._account.release(self, self._bytes_lent)
            self._bytes_lent = 0
        if not self._unsent:
            return None
        self._sent += 1
        self.has_begun = True
        line = self._messages[self._sent - self._first]
        size = _size(line)
        self._bytes_unsent -= size
        if self.name:
            self.bytes_kept += size
            self._forget_some()
        else:
            # It stays in the account until it is sent, which it is when the next one is asked for.
            self._bytes_lent = size
            self._forget_first()
        return self.position, line

    def has_lost(self, number: int) -> bool:
        """Whether all that was said after the message with this number is gone, the answer among it."""
        return self.is_over and not self._messages and number < self._sent

    def rewind(self, number: int) -> None:
        """Goes back to what was said after the message with this number, as far as it is still here."""
        self._sent = min(max(number, self._first - 1), self._sent)
        sizes = [_size(line) for line in self._messages]
        sent = self._sent - self._first + 1
        self.bytes_kept, self._bytes_unsent = sum(sizes[:sent]), sum(sizes[sent:])

    async def wait(self, seconds: float) -> bool:
        """Whether there is something to send by then, or there will be nothing any more, or the follower is
        to leave. Only the follower waits.
        """
        loop = asyncio.get_running_loop()
        if not (self._unsent or self.is_over or self.follower is None):
            waiter = self._waiter = loop.create_future()
            timer = loop.call_later(seconds, self.wake)
            try:
                await waiter
            finally:
                timer.cancel()
                if self._waiter is waiter:  # another may follow by now
                    self._waiter = None
        return bool(self._unsent or self.is_over or self.follower is None)

    def wake(self) -> None:
        """Ends the wait."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @property
    def _unsent(self) -> int:
        return self._first + len(self._messages) - 1 - self._sent

    @property
    def _is_too_much(self) -> bool:
        if self.follower is not None:
            return self._bytes_unsent > MOST_BYTES_BEHIND
        return self._unsent > MOST_UNSENT or self._bytes_unsent > MOST_BYTES_UNSENT

    def _drop_next(self) -> None:
        """With all before it, so that what is here has no gap."""
        while self._first <= self._sent:
            self._forget_first()
        size = _size(self._messages[0])
        self._account.release(self, size + self.bytes_kept)
        self._bytes_unsent -= size
        self._forget_first()
        self._sent += 1
        self.bytes_kept = 0

    def _forget_some(self) -> None:
        while self._sent - self._first + 1 > 1 and (
            self._sent - self._first + 1 > MOST_KEPT or self.bytes_kept > MOST_BYTES_KEPT
        ):
            size = _size(self._messages[0])
            self.bytes_kept -= size
            self._account.release(self, size)
            self._forget_first()

    def _forget_first(self) -> None:
        self._messages.popleft()
        self._first += 1


def _size(line: Outgoing) -> int:
    return len(line) if isinstance(line, bytes) else sum(map(len, line))
