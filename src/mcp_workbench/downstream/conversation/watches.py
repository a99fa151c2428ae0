"""The resources of one server that clients subscribe to.

Owns what is requested of the server: each resource once, for as long as any client subscribes, and again
after every start. A legacy server gets a subscription, a modern one a stream for each resource.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.conversation.change_stream import URIS, ChangeStream
from mcp_workbench.errors import BadAnswer, RequestTimeout
from mcp_workbench.wire.message import ABSENT, encode
from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
NOT_AGREED: Final = "it has not agreed to say when this resource changes"


class _ResourceStream(ChangeStream, kw_only=True):
    """The stream of a modern server for changes of one resource."""

    agreed: asyncio.Future[None]
    """Done when the server has said for the first time whether it will notify of changes."""

    def on_acknowledged(self, agreed: Mapping[str, msgspec.Raw]) -> None:
        """Complete `agreed`, depending on whether the server has accepted the resource."""
        if not self.agreed.done():
            uris = agreed.get(URIS, ABSENT)
            if self.uri in _read_uris(uris):
                self.agreed.set_result(None)
            else:
                self.fail(BadAnswer(NOT_AGREED))

    def fail(self, error: WireError) -> None:
        """Fail `agreed`: the server will not notify of changes."""
        if not self.agreed.done():
            self.agreed.set_exception(error)
            self.agreed.exception()  # retrieved: all callers may have been cancelled


def _read_uris(raw: msgspec.Raw) -> list[str]:
    try:
        return msgspec.json.decode(raw, type=list[str])
    except msgspec.DecodeError:
        return []


class _Watch:
    """The subscription to one resource."""

    def __init__(self, uri: str, session: Session, limit: float) -> None:
        self.users = 0
        self._uri = uri
        self.session = session
        """The session in which the server was request."""
        self._stream: _ResourceStream | None = None
        self.request = asyncio.create_task(self._ask(limit))
        """The request to the server, which all clients share. Done when the server has agreed."""

    async def _ask(self, limit: float) -> None:
        if self.session.is_modern:
            try:
                async with asyncio.timeout(limit):
                    await self._listen().agreed
            except TimeoutError:
                raise RequestTimeout(limit, capped=False) from None
        else:
            await self.session.ask(SUBSCRIBE, b'"uri":%b' % encode(self._uri), limit=limit)

    def ask_again(self, session: Session) -> None:
        """Request the resource again, after the server was restarted."""
        self.session = session
        self._stream = None
        if session.is_modern:
            self._listen()
        else:
            self._tell(SUBSCRIBE)

    def end(self) -> None:
        """End the subscription, because no client needs it any more."""
        is_refused = self.request.done() and self.request.exception() is not None
        self.request.cancel()
        if self._stream is not None:
            self._stream.close()
        elif not is_refused:
            self._tell(UNSUBSCRIBE)

    def _listen(self) -> _ResourceStream:
        agreed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stream = stream = _ResourceStream(self.session.peer, {URIS: [self._uri]}, agreed=agreed)
        stream.open()
        return stream

    def _tell(self, method: str) -> None:
        self.session.tell(method, {"uri": self._uri})


class ResourceWatches:
    """All resources of one server that clients subscribe to.

    Modern and legacy connections to a server may lead to two processes, which do not know of each other's
    changes. So a resource is requested on each connection that a client subscribes through.
    """

    def __init__(self) -> None:
        self._watches: dict[tuple[str, bool], _Watch] = {}

    async def add(self, uri: str, session: Session, limit: float) -> None:
        """Subscribe to a resource, and return when the server has agreed. Raises WireError."""
        key = uri, session.is_modern
        watch = self._watches.get(key)
        if watch is None:
            watch = self._watches[key] = _Watch(uri, session, limit)
        watch.users += 1
        try:
            await outcome_of(watch.request)
        except BaseException:
            self._leave(key, watch)
            raise

    def remove(self, uri: str, *, modern: bool) -> None:
        """End one subscription to a resource."""
        key = uri, modern
        self._leave(key, self._watches[key])

    def ask_again(self, session: Session, others: Sequence[Session]) -> None:
        """Request resources again on a new connection, if their connection is not in use any more."""
        for watch in self._watches.values():
            if watch.session not in others:
                watch.ask_again(session)

    def _leave(self, key: tuple[str, bool], watch: _Watch) -> None:
        watch.users -= 1
        if watch.users == 0:
            del self._watches[key]
            watch.end()
