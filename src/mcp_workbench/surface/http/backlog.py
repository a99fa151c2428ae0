"""The memory for messages that clients have not read yet, limited for each principal and for all of them.

Every stream holds its messages through the account of its principal. When a limit is reached, contents kept
for clients that left go first. After that a large message of the same principal is refused, and the client
gets an error in its place. Where others use up the total, the connection that reads slowest is closed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.surface.http.stream import ResponseStream

TOTAL_BYTES: Final = 256 * 1024 * 1024
"""Unread messages of all principals together."""
PRINCIPAL_BYTES: Final = 128 * 1024 * 1024
"""Unread messages of one principal. Two of the longest messages that a server may send fit in."""
RESERVE_BYTES: Final = 16 * 1024 * 1024
"""What small messages may take beyond either limit, so that a few large ones do not hold them up."""
SMALL_BYTES: Final = 64 * 1024
"""The size up to which a message is small. It is also what a connection buffers before it pauses writing."""
GRACE_SECONDS: Final = 2.0
"""How long a client always has to read a message, however much memory is in use."""


class Backlog:
    """The unread messages of all principals."""

    def __init__(self, total_bytes: int = TOTAL_BYTES, principal_bytes: int = PRINCIPAL_BYTES) -> None:
        self.total_bytes = total_bytes
        self.principal_bytes = principal_bytes
        self.bytes = 0
        """Bytes held at the moment."""
        self._accounts: WeakValueDictionary[str, PrincipalBacklog] = WeakValueDictionary()

    def account(self, principal: str) -> PrincipalBacklog:
        """The account of a principal. It lives for as long as somebody refers to it."""
        account = self._accounts.get(principal)
        if account is None:
            account = self._accounts[principal] = PrincipalBacklog(self)
        return account

    def make_room(self, account: PrincipalBacklog, size: int) -> bool:
        """Free memory for a message of this size. Returns whether the message may be held."""
        is_small = size <= SMALL_BYTES
        reserve = RESERVE_BYTES if is_small else 0
        own_excess = account.bytes + size - self.principal_bytes - reserve
        if own_excess > 0:
            own_excess -= account.drop_left(own_excess)
            if is_small:
                own_excess -= account.close_slow(own_excess)
        if own_excess > 0:
            return False
        heavier = self._heavier_than(account, size)
        own = [account] if is_small else []
        for shed, accounts in (
            (PrincipalBacklog.drop_left, heavier or [account]),
            (PrincipalBacklog.close_slow, heavier or own),
        ):
            for it in accounts:
                if (excess := self.bytes + size - self.total_bytes - reserve) > 0:
                    shed(it, excess)
        # A principal that holds less than others never loses a small message to them.
        return self.bytes + size <= self.total_bytes + reserve or (is_small and bool(heavier))

    def _heavier_than(self, account: PrincipalBacklog, size: int) -> list[PrincipalBacklog]:
        """The accounts that hold more than this one would with so many bytes more, heaviest first."""
        heavier = [it for it in self._accounts.values() if it.bytes > account.bytes + size]
        return sorted(heavier, key=lambda it: -it.bytes)


class PrincipalBacklog:
    """The unread messages of one principal."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self.bytes = 0
        """Bytes held at the moment."""
        self._streams: dict[ResponseStream, None] = {}
        """The streams that hold them, oldest first."""

    def hold(self, stream: ResponseStream, size: int, *, always: bool = False) -> bool:
        """Count a message of a stream, if there is room for it, or always. Returns whether it is counted."""
        backlog = self._backlog
        if (
            (self.bytes + size > backlog.principal_bytes or backlog.bytes + size > backlog.total_bytes)
            and not always
            and not backlog.make_room(self, size)
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
        """Stop counting messages of a stream that are gone."""
        stream.held_bytes -= size
        self.bytes -= size
        self._backlog.bytes -= size
        if not stream.held_bytes:
            self._streams.pop(stream, None)

    def drop_left(self, excess: int) -> int:
        """Drop what is kept for clients that left, oldest first, until so many bytes are free.

        Returns how many bytes that has freed.
        """
        return self._shed(excess, [it for it in self._streams if it.follower is None])

    def close_slow(self, excess: int) -> int:
        """Close connections of slow readers, the furthest behind first, until so many bytes are free.

        Returns how many bytes that has freed.
        """
        late = time.monotonic() - GRACE_SECONDS
        slow = [it for it in self._streams if it.follower is not None and it.held_since < late]
        return self._shed(excess, sorted(slow, key=lambda it: -it.held_bytes))

    def _shed(self, excess: int, streams: Iterable[ResponseStream]) -> int:
        before = self.bytes
        for stream in streams:
            if before - self.bytes >= excess:
                break
            if stream.follower is not None:
                stream.follower.cut_off()
            stream.forget()
        return before - self.bytes
