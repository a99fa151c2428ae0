"""The contents of results that are kept whole for one client, so that a model can read parts of them.

Owns what a kept content is, its handle, and which client it belongs to. `store` owns where contents are kept
and which are dropped; `surface` owns what the model is shown.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar

import msgspec

from mcp_workbench.errors import NotKept, ShareUsedUp
from mcp_workbench.fairness import RETRY_SECONDS
from mcp_workbench.wire.shared import outcome_of
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.replica import REPLICA, TAG_CHARACTERS, random_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.fairness import FairSemaphore
    from mcp_workbench.workbench.kept.store import ResultStore

T = TypeVar("T")
ContentKind = Literal["text", "json", "binary"]
"""The kind of a content: text, structured JSON, or binary data in base64."""

PREFIX: Final = "res_"
RANDOM_BYTES: Final = 16
"""Random bytes in a handle: 128 bits cannot be guessed."""
SEARCH_TIMEOUT_SECONDS: Final = 10.0
"""Real time for a search. It stops itself only after 2 s of its own time."""
SEARCH_WAIT_SECONDS: Final = 20.0
"""How long a search waits for its turn."""
SEARCH_THREAD_SECONDS: Final = 600.0
"""Time after which we no longer wait for the thread of a search."""

_LENGTH: Final = len(PREFIX) + TAG_CHARACTERS + -(-RANDOM_BYTES * 8 // 6)


def new_handle(replica: str = REPLICA) -> str:
    """Return a new handle: it names the process that keeps the content, and cannot be guessed."""
    return PREFIX + replica[:TAG_CHARACTERS] + random_text(RANDOM_BYTES)


def is_handle(text: str) -> bool:
    """Whether a text has the form of a handle."""
    return text.startswith(PREFIX) and len(text) == _LENGTH


def is_elsewhere(handle: str, replica: str = REPLICA) -> bool:
    """Whether another workbench process has made this handle."""
    return is_handle(handle) and not handle.startswith(replica[:TAG_CHARACTERS], len(PREFIX))


def not_kept(handle: str) -> NotKept:
    """Return the error for a handle under which nothing is kept for the client here."""
    return NotKept(handle, is_elsewhere=is_elsewhere(handle))


class Content(msgspec.Struct, frozen=True, eq=False):
    """A content of a result, whole, and what is known about it."""

    handle: str
    data: bytes
    """Text and JSON in UTF-8, anything else in base64 as the server sent it."""
    kind: ContentKind
    is_json: bool = False
    """Whether the content is a JSON value; text may be one too."""
    mime: str = ""
    frame: Mapping[str, msgspec.Raw] = {}
    """The other members of its block, for a content that is neither text nor JSON."""


class Source(Protocol):
    """The server that has made a content."""

    origin: Origin
    """The names of the toolbox and of the server."""

    def holds_secret(self, data: bytes) -> bool:
        """Whether the data contains a secret that must not be written to a file."""


class KeptContent:
    """A content while it is kept, in memory or in a file."""

    def __init__(
        self,
        content: Content,
        source: Source,
        limit: int,
        client_results: ClientResults,
        handed: Sequence[Origin] = (),
    ) -> None:
        # Without the data, which may be moved to a file.
        self.content = msgspec.structs.replace(content, data=b"")
        self.handle = content.handle
        self.size = len(content.data)
        self.source = source
        self.origins = tuple(dict.fromkeys((source.origin, *handed)))
        """The server that has made the content, and those whose results were handed to it for that."""
        self.limit = limit
        """Bytes that may be passed to a client at once."""
        self.client_results = client_results
        self.data: bytes | None = content.data
        """The whole content, while it is in memory."""
        self.file: str | None = None
        """The name of its file, if it is in one."""
        self.is_private = False
        """Whether it is known to contain a secret, so that it must not be written to a file."""
        self.used_at = 0.0


class ClientResults:
    """The kept results of one client. No other client can find them."""

    def __init__(self, store: ResultStore, principal: str = "") -> None:
        self._store = store
        self.principal = principal
        """The name of the principal that the client belongs to."""
        self._kept: dict[str, KeptContent] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, handle: str) -> KeptContent | None:
        """Return the content with this handle, if it belongs to this client and is still kept."""
        self._store.sweep()
        return self._kept.get(handle)

    async def read(self, kept: KeptContent) -> bytes | None:
        """Return the whole content; None if it was dropped meanwhile."""
        return await self._store.read(kept)

    def has_room(self, size: int) -> bool:
        """Whether `size` bytes can be kept without moving other contents."""
        return self._store.has_room(size)

    def keep_now(
        self, contents: Sequence[Content], source: Source, limit: int, handed: Sequence[Origin] = ()
    ) -> None:
        """Keep contents for which there is space in memory. `handed` are the sources of the call."""
        for content in contents:
            kept = KeptContent(content, source, limit, self, handed)
            self._kept[kept.handle] = kept
            self._store.add(kept)

    async def keep(
        self, contents: Sequence[Content], source: Source, limit: int, handed: Sequence[Origin] = ()
    ) -> bool:
        """Keep contents that belong together, and make space for them. `handed` are the sources of the call.

        Returns False if not all of them can be kept; none is kept then.
        """
        self.keep_now(contents, source, limit, handed)
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
        """Run `work` on a content in a thread and return its result. Raises TimeoutError."""
        async with self._store.workers.place(self.principal):
            return await in_thread(work, limit)

    async def search(self, work: Callable[[], T], size: int) -> T:
        """Run a regular expression search on a content of this size in a thread.

        Raises TimeoutError if the search takes too long, and ShareUsedUp if its turn does not come.
        """
        semaphore = self._store.searches(size)
        try:
            async with asyncio.timeout(SEARCH_WAIT_SECONDS):
                await semaphore.enter(self.principal)
        except TimeoutError:
            waited = f"This search has waited {SEARCH_WAIT_SECONDS:g} s for other searches of yours"
            raise ShareUsedUp(waited, "searches", RETRY_SECONDS) from None
        # Even if the waiting task is cancelled, the search uses memory until its thread has ended.
        search = asyncio.create_task(self._search(semaphore, work))
        async with asyncio.timeout(SEARCH_TIMEOUT_SECONDS):
            return await outcome_of(search)

    async def _search(self, semaphore: FairSemaphore, work: Callable[[], T]) -> T:
        try:
            return await in_thread(work, SEARCH_THREAD_SECONDS)
        finally:
            semaphore.leave(self.principal)

    def forget(self, kept: KeptContent) -> None:
        """Remove a content that is no longer kept."""
        self._kept.pop(kept.handle, None)

    def close(self) -> None:
        """Drop everything that is kept for this client: the client is gone."""
        self._drop(list(self._kept))

    def _drop(self, handles: Sequence[str]) -> None:
        for handle in handles:
            if (kept := self._kept.get(handle)) is not None:
                self._store.drop(kept)
