"""Contents of results that are kept whole, so that a model can read of them what it needs.

Owns what a kept content is, its handle, and whom it belongs to. Where they are kept, and which have to go, is
in `store`; what the model is shown of them, in `surface`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar

import msgspec

from mcp_workbench.errors import NotKept, ShareUsedUp
from mcp_workbench.fairness import RETRY_SECONDS
from mcp_workbench.wire.shared import outcome_of
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.replica import REPLICA, TAG_LENGTH, random_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.fairness import FairSemaphore
    from mcp_workbench.workbench.kept.store import ResultStore

T = TypeVar("T")
Kind = Literal["text", "json", "binary"]

PREFIX: Final = "res_"
RANDOM_BYTES: Final = 16
"""In a handle: nobody guesses 128 bits."""
SEARCH_LIMIT: Final = 10.0
"""Seconds of real time for a search. It stops itself only after 2 s of CPU time."""
SEARCH_WAIT: Final = 20.0
"""Seconds that a search waits for its turn."""
SEARCH_END: Final = 600.0
"""Seconds after which the thread of a search is not waited for any longer."""

_LENGTH: Final = len(PREFIX) + TAG_LENGTH + -(-RANDOM_BYTES * 8 // 6)


def new_handle(replica: str = REPLICA) -> str:
    """What a content is found by, in which process. Nobody knows it who was not told."""
    return PREFIX + replica[:TAG_LENGTH] + random_text(RANDOM_BYTES)


def is_elsewhere(handle: str, replica: str = REPLICA) -> bool:
    """Whether a handle is one that another workbench process has made."""
    is_handle = handle.startswith(PREFIX) and len(handle) == _LENGTH
    return is_handle and not handle.startswith(replica[:TAG_LENGTH], len(PREFIX))


def not_kept(handle: str) -> NotKept:
    """What to tell a client about a handle under which nothing is kept for it here."""
    return NotKept(handle, is_elsewhere=is_elsewhere(handle))


class Content(msgspec.Struct, frozen=True, eq=False):
    """One content, whole, and what is known of it."""

    handle: str
    data: bytes
    """Text and JSON in UTF-8, anything else in base64, as it came."""
    kind: Kind
    is_json: bool = False
    """Whether it is a JSON value, as text may be too."""
    mime: str = ""
    frame: Mapping[str, msgspec.Raw] = {}
    """What else the block had that it was in; of what is neither text nor JSON."""


class Source(Protocol):
    """Who has made a content."""

    def holds_secret(self, data: bytes) -> bool:
        """Whether there is something in it that must not get into a file."""


class KeptContent:
    """A content while it is kept."""

    def __init__(self, content: Content, source: Source, limit: int, client_results: ClientResults) -> None:
        # Without the data, which may go to a file.
        self.content = msgspec.structs.replace(content, data=b"")
        self.handle = content.handle
        self.size = len(content.data)
        self.source = source
        self.limit = limit
        """Bytes that may be passed on of it at once."""
        self.client_results = client_results
        self.data: bytes | None = content.data
        """All of it, while it is in memory."""
        self.file: str | None = None
        """The name of the file that it is in, if it is in one."""
        self.is_private = False
        """Whether it is known to be nothing for a file."""
        self.used_at = 0.0


class ClientResults:
    """What is kept for one client. Nobody else finds it."""

    def __init__(self, store: ResultStore, principal: str = "") -> None:
        self._store = store
        self.principal = principal
        """The name of the principal that the client belongs to."""
        self._kept: dict[str, KeptContent] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, handle: str) -> KeptContent | None:
        """The content with this handle, if it is this client's and still there."""
        self._store.sweep()
        return self._kept.get(handle)

    async def read(self, kept: KeptContent) -> bytes | None:
        """All of it; None if it has gone meanwhile."""
        return await self._store.read(kept)

    def has_room(self, size: int) -> bool:
        """Whether so much can be kept without anything being moved."""
        return self._store.has_room(size)

    def keep_now(self, contents: Sequence[Content], source: Source, limit: int) -> None:
        """Keeps contents for which there is room."""
        for content in contents:
            kept = KeptContent(content, source, limit, self)
            self._kept[kept.handle] = kept
            self._store.add(kept)

    async def keep(self, contents: Sequence[Content], source: Source, limit: int) -> bool:
        """Keeps contents that belong together, and makes room for them. If not all of them can be kept none
        is, and False is returned.
        """
        self.keep_now(contents, source, limit)
        handles = [content.handle for content in contents]
        try:
            await self._store.settle()
        except asyncio.CancelledError:
            self._drop(handles)
            raise
        if all(handle in self._kept for handle in handles):
            return True
        self._drop(handles)
        return False

    async def work(self, work: Callable[[], T], limit: float) -> T:
        """What work on a content comes to, done beside the loop. TimeoutError after the limit."""
        async with self._store.workers.place(self.principal):
            return await in_thread(work, limit)

    async def search(self, work: Callable[[], T], size: int) -> T:
        """What a search for a regular expression in a content of that size comes to, done beside the loop.
        TimeoutError if it takes too long, and ShareUsedUp if its turn does not come.
        """
        gate = self._store.searches(size)
        try:
            async with asyncio.timeout(SEARCH_WAIT):
                await gate.enter(self.principal)
        except TimeoutError:
            waited = f"This search has waited {SEARCH_WAIT:g} s for other searches of yours"
            raise ShareUsedUp(waited, "searches", RETRY_SECONDS) from None
        # Whatever becomes of whoever waits for it, the search takes its memory until its thread has ended.
        search = asyncio.create_task(self._search(gate, work))
        async with asyncio.timeout(SEARCH_LIMIT):
            return await outcome_of(search)

    async def _search(self, gate: FairSemaphore, work: Callable[[], T]) -> T:
        try:
            return await in_thread(work, SEARCH_END)
        finally:
            gate.leave(self.principal)

    def forget(self, kept: KeptContent) -> None:
        """It is no longer kept."""
        self._kept.pop(kept.handle, None)

    def close(self) -> None:
        """The client is gone, and with it goes all that was kept for it."""
        self._drop(list(self._kept))

    def _drop(self, handles: Sequence[str]) -> None:
        for handle in handles:
            if (kept := self._kept.get(handle)) is not None:
                self._store.drop(kept)
