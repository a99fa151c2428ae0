"""The memory for messages that clients have not read yet, limited per principal and in total.

Every stream counts its messages in the account of its principal. When a limit is reached, messages kept for
clients that left are dropped first. After that a large message of the same principal is refused, and the
client gets an error in its place. If other principals use up the total, the connection that reads slowest is
closed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.surface.http.stream import ResponseStream

TOTAL_BYTES: Final = 256 * 1024 * 1024
"""Limit for the unread messages of all principals together."""
PRINCIPAL_BYTES: Final = 128 * 1024 * 1024
"""Limit for the unread messages of one principal. Two of the longest messages of a server fit."""
RESERVE_BYTES: Final = 16 * 1024 * 1024
"""What small messages may use beyond either limit, so that a few large ones do not hold them up."""
SMALL_BYTES: Final = 64 * 1024
"""The size up to which a message is small. A connection buffers as much before it pauses writing."""
GRACE_SECONDS: Final = 2.0
"""How long a client always has to read a message, however much memory is in use."""


class Backlog:
    """The unread messages of all principals, and their memory limits."""

    def __init__(self, total_bytes: int = TOTAL_BYTES, principal_bytes: int = PRINCIPAL_BYTES) -> None:
        self.total_bytes = total_bytes
        self.principal_bytes = principal_bytes
        self.bytes = 0
        """Bytes of unread messages at the moment."""
        self._accounts: WeakValueDictionary[str, PrincipalBacklog] = WeakValueDictionary()

    def account(self, principal: str) -> PrincipalBacklog:
        """Return the account of a principal. It lives as long as a stream or session refers to it."""
        account = self._accounts.get(principal)
        if account is None:
            account = self._accounts[principal] = PrincipalBacklog(self)
        return account

    def make_space(self, account: PrincipalBacklog, size: int) -> bool:
        """Free memory for a message of this size. Returns whether the message may be held."""
        is_small = size <= SMALL_BYTES
        reserve = RESERVE_BYTES if is_small else 0
        own_excess = account.bytes + size - self.principal_bytes - reserve
        if own_excess > 0:
            own_excess -= account.drop_abandoned(own_excess)
            if is_small:
                own_excess -= account.disconnect_slow(own_excess)
        if own_excess > 0:
            return False
        heavier = self._heavier_than(account, size)
        own = [account] if is_small else []
        for shed, accounts in (
            (PrincipalBacklog.drop_abandoned, heavier or [account]),
            (PrincipalBacklog.disconnect_slow, heavier or own),
        ):
            for heavy in accounts:
                if (excess := self.bytes + size - self.total_bytes - reserve) > 0:
                    shed(heavy, excess)
        # A principal that holds less than others never loses a small message to them.
        return self.bytes + size <= self.total_bytes + reserve or (is_small and bool(heavier))

    def _heavier_than(self, account: PrincipalBacklog, size: int) -> list[PrincipalBacklog]:
        """Return the accounts that hold more than this one would with `size` bytes more, heaviest first."""
        heavier = [other for other in self._accounts.values() if other.bytes > account.bytes + size]
        return sorted(heavier, key=lambda other: -other.bytes)


class PrincipalBacklog:
    """The unread messages of one principal: the account in which its streams count them."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self.bytes = 0
        """Bytes of this principal's unread messages at the moment."""
        self._streams: dict[ResponseStream, None] = {}
        """The streams with unread messages, oldest first."""

    def hold(self, stream: ResponseStream, size: int, *, always: bool = False) -> bool:
        """Count a message of a stream, if there is space or `always`. Returns whether it is counted."""
        backlog = self._backlog
        if (
            (self.bytes + size > backlog.principal_bytes or backlog.bytes + size > backlog.total_bytes)
            and not always
            and not backlog.make_space(self, size)
        ):
            return False
        if not stream.held_bytes:
            self._streams[stream] = None
        if size > SMALL_BYTES or not stream.held_bytes:
            stream.held_since = time.monotonic()
        stream.held_bytes += size
        self.bytes += size
        backlog.bytes += size
        return True

    def release(self, stream: ResponseStream, size: int) -> None:
        """Stop counting messages of a stream that were sent or dropped."""
        stream.held_bytes -= size
        self.bytes -= size
        self._backlog.bytes -= size
        if not stream.held_bytes:
            self._streams.pop(stream, None)

    def drop_abandoned(self, excess: int) -> int:
        """Drop messages kept for clients that left, oldest first, until `excess` bytes are free.

        Returns how many bytes were freed.
        """
        return self._shed(excess, [stream for stream in self._streams if stream.consumer is None])

    def disconnect_slow(self, excess: int) -> int:
        """Close the connections of slow readers, the furthest behind first, until `excess` bytes are free.

        Returns how many bytes were freed.
        """
        late = time.monotonic() - GRACE_SECONDS
        slow = [
            stream for stream in self._streams if stream.consumer is not None and stream.held_since < late
        ]
        return self._shed(excess, sorted(slow, key=lambda stream: -stream.held_bytes))

    def _shed(self, excess: int, streams: Iterable[ResponseStream]) -> int:
        before = self.bytes
        for stream in streams:
            if before - self.bytes >= excess:
                break
            if stream.consumer is not None:
                stream.consumer.disconnect()
            stream.drop_messages()
        return before - self.bytes
