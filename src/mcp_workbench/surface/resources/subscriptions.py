"""The resource subscriptions of one client.

A legacy client subscribes to one resource at a time, and is notified of each change once. A modern client
lists resources when it opens a stream, and is notified on every stream that lists a changed one. Owns what
the client has subscribed to; `downstream.conversation.watches` owns the subscriptions at the servers.
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

MAX_SUBSCRIPTIONS: Final = 1000
"""Resources that one client may subscribe to."""
UPDATED: Final = "notifications/resources/updated"
PART_SEPARATORS: Final = ("/", "?", "#")
"""Characters between the URI of a resource and the rest of the URI of a part of it."""

log = logging.getLogger(__name__)


class _Subscription:
    """A subscription of a client to one resource."""

    def __init__(
        self, uri: str, toolbox_server: ToolboxServer, own: str, deadline: float = inf, *, modern: bool
    ) -> None:
        self._modern = modern
        """Whether the client is modern; after `begin`, whether the connection to the server is."""
        self.uri = uri
        """The URI that the client uses."""
        self.deadline = deadline
        """Seconds that a client waits for this subscription, if it opens several at once."""
        self.toolbox_server = toolbox_server
        self.own = own
        """The URI of the resource at its server."""
        self.watches: ResourceWatches | None = None
        """The subscriptions at the server, once the server has accepted this one."""

    async def begin(self) -> None:
        """Connect the server if needed, and subscribe there. Raises Refusal."""
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
            masked = self.toolbox_server.masked(error)
            data = msgspec.UNSET if masked.data is None else msgspec.Raw(masked.data)
            raise Refusal(masked.code, masked.message, data) from None
        except WireError as error:
            explained = self.toolbox_server.explain(None, error, connection.session)
            raise Refusal(INTERNAL_ERROR, clean_text(str(explained))) from None
        self.watches = watches

    def end(self) -> None:
        """End the subscription, at the server too if no other client has it."""
        watches, self.watches = self.watches, None
        if watches is not None:
            watches.remove(self.own, modern=self._modern)

    def is_about(self, update: Update) -> bool:
        """Whether an update is about this resource or a part of it."""
        if self.watches is None or update.session.origin != self.toolbox_server.origin:
            return False
        rest = update.uri.removeprefix(self.own)
        return update.uri == self.own or (rest != update.uri and rest.startswith(PART_SEPARATORS))


class Subscriptions:
    """All resource subscriptions of one client."""

    def __init__(self, peer: Peer, view: ClientView) -> None:
        self._peer = peer
        self._view = view
        self._legacy: dict[str, _Subscription] = {}
        self._streams: dict[Id, list[_Subscription]] = {}
        self._opening: dict[Id, asyncio.Task[None]] = {}

    async def subscribe(self, uri: str) -> None:
        """Subscribe a legacy client to a resource. Raises Refusal."""
        if uri in self._legacy:
            return
        self._require_space(1)
        from mcp_workbench.surface.resources.routing import route_resource  # noqa: PLC0415 - few clients do

        toolbox_server, own = route_resource(self._view, uri, is_modern=False)
        # Added at once: the client may unsubscribe before the server has accepted.
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
        """End a legacy client's subscription, if there is one."""
        if (subscription := self._legacy.pop(uri, None)) is not None:
            subscription.end()

    def open_stream(
        self, request_id: Id, uris: Sequence[str], acknowledge: Callable[[list[str]], None]
    ) -> None:
        """Subscribe a modern client's stream to resources. Raises Refusal.

        Calls `acknowledge` with the accepted URIs, once all servers have answered.
        """
        wanted = list(dict.fromkeys(uris))
        self._require_space(len(wanted))
        subscriptions = [found for found in map(self._find, wanted) if found is not None]
        self._streams[request_id] = subscriptions
        self._opening[request_id] = asyncio.create_task(self._open(request_id, subscriptions, acknowledge))

    def close_stream(self, request_id: Id) -> None:
        """End the subscriptions of a stream that has ended."""
        if (opening := self._opening.pop(request_id, None)) is not None:
            opening.cancel()
        for subscription in self._streams.pop(request_id, ()):
            subscription.end()

    def close(self) -> None:
        """End all subscriptions: the client is gone."""
        for request_id in list(self._streams):
            self.close_stream(request_id)
        for uri in list(self._legacy):
            self.unsubscribe(uri)

    def on_updated(self, update: Update) -> None:
        """Notify the client of an update, if it has subscribed to the resource."""
        if (params := _update_params(self._legacy.values(), update, {})) is not None:
            self._peer.notify(UPDATED, params)
        for request_id, subscriptions in self._streams.items():
            tag = {META_SUBSCRIPTION: request_id}
            is_open = request_id not in self._opening
            if is_open and (params := _update_params(subscriptions, update, tag)) is not None:
                self._peer.notify(UPDATED, params)

    def _require_space(self, count: int) -> None:
        taken = len(self._legacy) + sum(map(len, self._streams.values()))
        if taken + count > MAX_SUBSCRIPTIONS:
            raise Refusal(
                INVALID_REQUEST,
                f"Invalid Request: no more than {MAX_SUBSCRIPTIONS:,} resources can be subscribed to",
            )

    def _find(self, uri: str) -> _Subscription | None:
        from mcp_workbench.surface.resources.routing import route_resource  # noqa: PLC0415 - few clients do

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
        # The client is notified of nothing until the subscription is acknowledged.
        async with asyncio.timeout(deadline):
            await subscription.begin()
    except (Refusal, TimeoutError) as problem:
        label = {"server": "/".join(subscription.toolbox_server.origin)}
        reason = str(problem) or f"no answer within {deadline:g} s"
        log.info("a resource of it cannot be subscribed to: %s", reason, extra=label)


def _update_params(
    subscriptions: Collection[_Subscription], update: Update, tag: Mapping[str, Id]
) -> bytes | None:
    """Return the parameters of the client's notification; None if no subscription is about the update."""
    about = [subscription for subscription in subscriptions if subscription.is_about(update)]
    if not about:
        return None
    nearest = max(about, key=lambda subscription: len(subscription.own))
    if update.watched not in (None, nearest.own):
        return None  # a modern server repeats the update on the stream of the nearest resource
    uri = nearest.uri + update.uri.removeprefix(nearest.own)
    return encode(passed_on({**update.members, "uri": msgspec.Raw(encode(uri))}, **tag))
