"""The messages of one HTTP response, or of several if the client resumes the stream.

Owns the messages until they are sent, and a few of them for a while after that. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from mcp_workbench.errors import size_of
from mcp_workbench.protocol.names import INTERNAL_ERROR
from mcp_workbench.wire.message import error_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.surface.http.backlog import PrincipalBacklog
    from mcp_workbench.wire.message import Id, Outgoing

MAX_UNSENT_MESSAGES: Final = 1000
"""Messages that wait for a client that is away. The oldest are dropped."""
MAX_UNSENT_BYTES: Final = 1024 * 1024
"""Size of the messages that wait for a client that is away. The latest waits whatever its size."""
MAX_BEHIND_BYTES: Final = 16 * 1024 * 1024
"""Size of the messages that wait for a client that is connected."""
MAX_KEPT_MESSAGES: Final = 100
"""Messages that are kept after they were sent, for a client that resumes the stream."""
MAX_KEPT_BYTES: Final = 1024 * 1024
"""Size of the messages that are kept after they were sent. The latest, perhaps the response, is kept
whatever its size."""


class StreamConsumer(Protocol):
    """The HTTP exchange that sends the messages of a stream to the client."""

    def disconnect(self) -> None:
        """Close the connection, and drop what the client has not read."""


class ResponseStream:
    """The messages about one request, or about none, counted in the account of the principal."""

    def __init__(self, account: PrincipalBacklog, name: str = "", unanswered: Iterable[Id] = ()) -> None:
        self._account = account
        self.held_bytes = 0
        """Bytes that the account counts for this stream. Only the account changes it."""
        self.held_since = 0.0
        """When the first held message or the latest large one arrived. The account sets it."""
        self.name = name
        """The name in event ids, by which a client resumes the stream; empty if it cannot."""
        self.is_over = False
        """Whether no more messages will be written."""
        self.is_closed = False
        """Whether the messages were dropped for good; later ones are ignored."""
        self.has_begun = False
        """Whether the client was sent a position on the stream, and can resume it."""
        self.consumer: StreamConsumer | None = None
        """The exchange that sends this stream at the moment."""
        self._sending_bytes = 0
        """Size of a message that is not kept, and that the consumer may still be sending."""
        self._unanswered = set(unanswered)
        """The ids of requests that are to be answered on this stream."""
        self.error_code: int | None = None
        """The code of the latest response, if that is an error."""
        self._messages: deque[Outgoing] = deque()
        self._first = 1
        """The number of the first message that is still held."""
        self._sent = 0
        """The number of the last message that was sent."""
        self.bytes_kept = 0
        """Size of the messages that were sent and are still kept."""
        self._bytes_unsent = 0
        self._waiter: asyncio.Future[None] | None = None

    def write(self, line: Outgoing) -> None:
        """Add a message. A large one is dropped if there is no space for it."""
        size = _size(line)
        if self.is_closed or not self._account.hold(self, size):
            return
        self._messages.append(line)
        self._bytes_unsent += size
        while self._unsent > 1 and self._is_too_much:
            self._drop_unsent()
        self.wake()

    def answer(self, request_id: Id, line: Outgoing, code: int | None = None) -> None:
        """Add the response to a request, with the code if it is an error.

        If there is no space for the response, an error takes its place.
        """
        if self.is_closed:
            return
        size = len(line) if isinstance(line, bytes) else _size(line)  # saves a call for most messages
        if not self._account.hold(self, size):
            line, code = self._refusal(request_id, size), INTERNAL_ERROR
            size = len(line)
            self._account.hold(self, size, always=True)
        self.error_code = code
        self._messages.append(line)
        self._bytes_unsent += size
        self.end_request(request_id)

    def _refusal(self, request_id: Id, size: int) -> bytes:
        why = (
            f"The answer was dropped: it has {size_of(size)}, and {size_of(self._account.bytes)} that were "
            "sent to you before were not read yet. Read these or close their connections, then send the "
            "request again"
        )
        return error_line(request_id, INTERNAL_ERROR, why)

    def end_request(self, request_id: Id) -> None:
        """Note that a request was answered, or will not be."""
        self._unanswered.discard(request_id)
        self.is_over = not self._unanswered
        self.wake()

    def end(self) -> None:
        """End the stream: no more messages will be written."""
        self.is_over = True
        self.wake()

    def detach(self, consumer: StreamConsumer | None = None) -> None:
        """Remove the consumer; with an argument, only if it is the current one."""
        if consumer is None or self.consumer is consumer:
            self.consumer = None
            self.wake()

    def close(self) -> None:
        """Drop the messages for good. The stream has no consumer and cannot be resumed."""
        self.is_closed = True
        self.drop_messages()

    def drop_messages(self) -> None:
        """Drop all messages, sent or not. Later messages keep their numbers."""
        self._first += len(self._messages)
        self._sent = self._first - 1
        self._messages.clear()
        self.bytes_kept = self._bytes_unsent = self._sending_bytes = 0
        if self.held_bytes:
            self._account.release(self, self.held_bytes)

    @property
    def only_answer(self) -> Outgoing | None:
        """The only message on the stream, if the stream is over and nothing was sent yet."""
        is_whole = self.is_over and self._sent == 0 and len(self._messages) == 1
        return self._messages[0] if is_whole else None

    @property
    def position(self) -> str:
        """The id of the last message that was sent, for a client that may resume; empty if it cannot."""
        return f"{self.name}-{self._sent}" if self.name else ""

    def next(self) -> tuple[str, Outgoing] | None:
        """Return the next message to send, with its id; None if there is none for now."""
        if self._sending_bytes:
            self._account.release(self, self._sending_bytes)
            self._sending_bytes = 0
        if not self._unsent:
            return None
        self._sent += 1
        self.has_begun = True
        line = self._messages[self._sent - self._first]
        size = _size(line)
        self._bytes_unsent -= size
        if self.name:
            self.bytes_kept += size
            self._drop_old()
        else:
            # The message counts until it is sent, which is when the next one is asked for.
            self._sending_bytes = size
            self._drop_first()
        return self.position, line

    def take_back(self) -> None:
        """Count the last message as unsent: the client left while it was sent, and may want it again."""
        self.rewind(self._sent - 1)

    def has_lost(self, number: int) -> bool:
        """Whether all messages after this number were dropped, the response among them."""
        return self.is_over and not self._messages and number < self._sent

    def rewind(self, number: int) -> None:
        """Go back to the messages after this number, as far as they are still held."""
        self._sent = min(max(number, self._first - 1), self._sent)
        sizes = [_size(line) for line in self._messages]
        sent = self._sent - self._first + 1
        self.bytes_kept, self._bytes_unsent = sum(sizes[:sent]), sum(sizes[sent:])

    async def wait(self, seconds: float) -> bool:
        """Wait until there is a message to send, the stream is over, or the consumer is detached.

        Returns whether that happened in time. Only the consumer waits.
        """
        loop = asyncio.get_running_loop()
        if not (self._unsent or self.is_over or self.consumer is None):
            waiter = self._waiter = loop.create_future()
            timer = loop.call_later(seconds, self.wake)
            try:
                await waiter
            finally:
                timer.cancel()
                if self._waiter is waiter:  # another consumer may wait by now
                    self._waiter = None
        return bool(self._unsent or self.is_over or self.consumer is None)

    def wake(self) -> None:
        """Wake the consumer that waits for messages."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @property
    def _unsent(self) -> int:
        return self._first + len(self._messages) - 1 - self._sent

    @property
    def _is_too_much(self) -> bool:
        if self.consumer is not None:
            return self._bytes_unsent > MAX_BEHIND_BYTES
        return self._unsent > MAX_UNSENT_MESSAGES or self._bytes_unsent > MAX_UNSENT_BYTES

    def _drop_unsent(self) -> None:
        """Drop the next unsent message and all sent ones before it, so that no gap remains."""
        while self._first <= self._sent:
            self._drop_first()
        size = _size(self._messages[0])
        self._account.release(self, size + self.bytes_kept)
        self._bytes_unsent -= size
        self._drop_first()
        self._sent += 1
        self.bytes_kept = 0

    def _drop_old(self) -> None:
        while self._sent - self._first + 1 > 1 and (
            self._sent - self._first + 1 > MAX_KEPT_MESSAGES or self.bytes_kept > MAX_KEPT_BYTES
        ):
            size = _size(self._messages[0])
            self.bytes_kept -= size
            self._account.release(self, size)
            self._drop_first()

    def _drop_first(self) -> None:
        self._messages.popleft()
        self._first += 1


def _size(line: Outgoing) -> int:
    return len(line) if isinstance(line, bytes) else sum(map(len, line))
