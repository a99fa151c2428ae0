"""The resources whose changes one client wants to hear of.

A legacy client subscribes to one at a time, and is told of each change once. A modern one names them when it
opens a stream, and is told on every stream that has named one. Owns which client wants what; what a server is
asked for is `downstream.watching`'s.
"""

from __future__ import annotations

import asyncio
import logging
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import CallError, RemoteError, WireError
from mcp_workbench.protocol.names import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, META_SUBSCRIPTION
from mcp_workbench.surface.relay.metadata import passed_on
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.surface.resources.routing import route_resource
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mcp_workbench.downstream.conversation.listeners import Update
    from mcp_workbench.downstream.conversation.watches import ResourceWatches
    from mcp_workbench.wire.message import Id
    from mcp_workbench.wire.peer import Peer
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

MOST: Final = 1000
"""Resources that one client hears of."""
UPDATED: Final = "notifications/resources/updated"
PARTS: Final = ("/", "?", "#")
"""What comes between the URI of a resource and the rest of that of a part of it."""

log = logging.getLogger(__name__)


class _Subscription:
    """One resource that is heard of."""

    def __init__(
        self, uri: str, toolbox_server: ToolboxServer, own: str, deadline: float = inf, *, modern: bool
    ) -> None:
        self._modern = modern
        """Whether the client is modern; then, once the server has agreed, whether the connection to it is."""
        self.uri = uri
        """As the client has it."""
        self.deadline = deadline
        """Seconds that a client waits for it together with others."""
        self.toolbox_server = toolbox_server
        self.own = own
        """As its server has it."""
        self.watches: ResourceWatches | None = None
        """Where it is asked for, once the server has agreed."""

    async def begin(self) -> None:
        """Connects the server if need be, and asks it. Raises Refusal."""
        try:
            connection = await self.toolbox_server.connect(None, 0, modern=self._modern)
        except CallError as error:
            raise Refusal(INTERNAL_ERROR, clean_text(str(error))) from None
        try:
            if not connection.session.offer.updates:
                toolbox, server = self.toolbox_server.origin
                reason = f"Server '{server}' (toolbox '{toolbox}') does not say when a resource has changed"
                raise Refusal(INVALID_PARAMS, reason, {"uri": self.uri})
            self._modern = connection.session.is_modern
            watches = self.toolbox_server.watches
            await watches.add(self.own, connection.session, connection.timeout)
        except RemoteError as error:
            own = self.toolbox_server.masked(error)
            data = msgspec.UNSET if own.data is None else msgspec.Raw(own.data)
            raise Refusal(own.code, own.message, data) from None
        except WireError as error:
            explained = self.toolbox_server.explain(None, error, connection.session)
            raise Refusal(INTERNAL_ERROR, clean_text(str(explained))) from None
        self.watches = watches

    def end(self) -> None:
        """It is not wanted any more."""
        watches, self.watches = self.watches, None
        if watches is not None:
            watches.remove(self.own, modern=self._modern)

    def is_about(self, update: Update) -> bool:
        """Whether this is what has changed, or has a part that has."""
        if self.watches is None or update.session.origin != self.toolbox_server.origin:
            return False
        rest = update.uri.removeprefix(self.own)
        return update.uri == self.own or (rest != update.uri and rest.startswith(PARTS))


class Subscriptions:
    """All that one client has."""

    def __init__(self, peer: Peer, view: ClientView) -> None:
        self._peer = peer
        self._view = view
        self._legacy: dict[str, _Subscription] = {}
        self._streams: dict[Id, list[_Subscription]] = {}
        self._opening: dict[Id, asyncio.Task[None]] = {}

    async def subscribe(self, uri: str) -> None:
        """A legacy client wants to hear of a resource. Raises Refusal."""
        if uri in self._legacy:
            return
        self._require_room(1)
        toolbox_server, own = route_resource(self._view, uri, is_modern=False)
        # Here from the beginning: it may be taken back before the server has agreed.
        subscription = self._legacy[uri] = _Subscription(uri, toolbox_server, own, modern=False)
        try:
            await subscription.begin()
        except BaseException:
            if self._legacy.get(uri) is subscription:
                del self._legacy[uri]
            raise
        if self._legacy.get(uri) is not subscription:
            subscription.end()

    def unsubscribe(self, uri: str) -> None:
        """It does not any more."""
        if (subscription := self._legacy.pop(uri, None)) is not None:
            subscription.end()

    def open_stream(
        self, request_id: Id, uris: Sequence[str], acknowledge: Callable[[list[str]], None]
    ) -> None:
        """A modern client wants to hear of resources on a stream. Says which of them it will, when that is
        known. Raises Refusal.
        """
        wanted = list(dict.fromkeys(uris))
        self._require_room(len(wanted))
        subscriptions = [found for found in map(self._find, wanted) if found is not None]
        self._streams[request_id] = subscriptions
        self._opening[request_id] = asyncio.create_task(self._open(request_id, subscriptions, acknowledge))

    def close_stream(self, request_id: Id) -> None:
        """The stream has ended."""
        if (opening := self._opening.pop(request_id, None)) is not None:
            opening.cancel()
        for subscription in self._streams.pop(request_id, ()):
            subscription.end()

    def close(self) -> None:
        """The client is gone."""
        for request_id in list(self._streams):
            self.close_stream(request_id)
        for uri in list(self._legacy):
            self.unsubscribe(uri)

    def on_updated(self, update: Update) -> None:
        """Tells the client of a change, if it wants to hear of it."""
        if (told := _told(self._legacy.values(), update, {})) is not None:
            self._peer.notify(UPDATED, told)
        for request_id, subscriptions in self._streams.items():
            tag = {META_SUBSCRIPTION: request_id}
            is_open = request_id not in self._opening
            if is_open and (told := _told(subscriptions, update, tag)) is not None:
                self._peer.notify(UPDATED, told)

    def _require_room(self, count: int) -> None:
        taken = len(self._legacy) + sum(map(len, self._streams.values()))
        if taken + count > MOST:
            raise Refusal(
                INVALID_REQUEST, f"Invalid Request: no more than {MOST:,} resources can be subscribed to"
            )

    def _find(self, uri: str) -> _Subscription | None:
        try:
            toolbox_server, own = route_resource(self._view, uri, is_modern=True)
        except Refusal as refusal:
            log.info("cannot be subscribed to: %s", refusal.message)
            return None
        deadline = self._view.toolboxes[toolbox_server.origin[0]].open_deadline
        return _Subscription(uri, toolbox_server, own, deadline, modern=True)

    async def _open(
        self, request_id: Id, subscriptions: list[_Subscription], acknowledge: Callable[[list[str]], None]
    ) -> None:
        await asyncio.gather(*map(_try, subscriptions))
        del self._opening[request_id]
        acknowledge([subscription.uri for subscription in subscriptions if subscription.watches is not None])


async def _try(subscription: _Subscription) -> None:
    deadline = subscription.deadline
    try:
        # The client hears of nothing until it is told what it will hear of.
        async with asyncio.timeout(deadline):
            await subscription.begin()
    except (Refusal, TimeoutError) as problem:
        label = {"server": "/".join(subscription.toolbox_server.origin)}
        reason = str(problem) or f"no answer within {deadline:g} s"
        log.info("a resource of it cannot be subscribed to: %s", reason, extra=label)


def _told(subscriptions: Collection[_Subscription], update: Update, tag: Mapping[str, Id]) -> bytes | None:
    """What a client is told of an update; None if it is about nothing that it wants to hear of."""
    about = [subscription for subscription in subscriptions if subscription.is_about(update)]
    if not about:
        return None
    nearest = max(about, key=lambda subscription: len(subscription.own))
    if update.watched not in (None, nearest.own):
        return None  # a modern server says it once more, on the stream that was opened for the nearest
    uri = nearest.uri + update.uri.removeprefix(nearest.own)
    return encode(passed_on({**update.members, "uri": msgspec.Raw(encode(uri))}, **tag))
