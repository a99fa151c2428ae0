"""Notifications and questions to a client outside of its requests: changes, log messages, elicitations.

A legacy client gets what concerns it at any time. A modern client gets changes on its subscription streams,
and log messages only while a request that wants them is in flight.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.caller import NOBODY
from mcp_workbench.protocol.names import INVALID_REQUEST, META_SUBSCRIPTION
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.metadata import log_line
from mcp_workbench.surface.relay.relayed import RelayedRequest
from mcp_workbench.surface.requests import NotificationFilter, Refusal
from mcp_workbench.wire.message import encode, result_line

if TYPE_CHECKING:
    from collections.abc import Collection

    import msgspec

    from mcp_workbench.downstream.conversation.call import Call
    from mcp_workbench.downstream.conversation.inquiry import Pushed
    from mcp_workbench.downstream.conversation.listeners import ListKind, Update
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.callers import Callers
    from mcp_workbench.surface.questions.asking import Asker
    from mcp_workbench.surface.relay.in_flight import RequestsInFlight
    from mcp_workbench.surface.resources.subscriptions import Subscriptions
    from mcp_workbench.wire.message import Id
    from mcp_workbench.wire.peer import Peer
    from mcp_workbench.workbench.client_view import ClientView

    Members = dict[str, msgspec.Raw]

MAX_SUBSCRIPTIONS: Final = 1000
"""Subscription streams that one client may have open at once."""
CHANGE_DELAY_SECONDS: Final = 0.05
"""Seconds in which changes of one kind are merged into one notification: a toolbox opens many servers."""


class Announcements:
    """Sends one client what servers announce, log and ask outside of the client's calls."""

    def __init__(
        self,
        peer: Peer,
        callers: Callers,
        requests: RequestsInFlight,
        asker: Asker,
        subscriptions: Subscriptions,
        *,
        streams: dict[Id, NotificationFilter],
        view: ClientView,
    ) -> None:
        self.principal = view.principal.name
        self._view = view
        self.client = requests
        self._peer = peer
        self._callers = callers
        self._asker = asker
        self._subscriptions = subscriptions
        self.streams = streams
        """The open subscription streams of a modern client, by request id, and what each is for."""
        self._due: dict[str, asyncio.TimerHandle] = {}

    @property
    def callers(self) -> Collection[Caller]:
        """The capabilities that the client has declared: in its handshake, and in requests."""
        return list(self._callers)

    def sees(self, toolbox: str) -> bool:
        """Whether the client may use this toolbox."""
        return toolbox in self._view.toolboxes

    @property
    def takes_questions(self) -> bool:
        """Whether the client is a legacy client, which can be asked questions at any time."""
        return self._callers.legacy is not None

    def open_stream(self, request_id: Id, wanted: NotificationFilter) -> None:
        """Open a subscription stream of a modern client, and acknowledge what it is for. Raises Refusal."""
        if len(self.streams) >= MAX_SUBSCRIPTIONS:
            open_ = f"{MAX_SUBSCRIPTIONS} subscriptions are open already, and one is enough"
            raise Refusal(INVALID_REQUEST, f"Invalid Request: {open_}")
        if wanted.resource_subscriptions:
            # No notifications before the acknowledgement, which depends on the answers of servers.
            acknowledge = partial(self._acknowledge, request_id, wanted)
            self._subscriptions.open_stream(request_id, wanted.resource_subscriptions, acknowledge)
            self.streams[request_id] = NotificationFilter()
        else:
            self._acknowledge(request_id, wanted, [])

    def _acknowledge(self, request_id: Id, wanted: NotificationFilter, uris: list[str]) -> None:
        wanted.resource_subscriptions = uris
        self.streams[request_id] = wanted
        acknowledged = b'{"_meta":{%b},"notifications":%b}' % (_tag(request_id), encode(wanted))
        self._peer.notify("notifications/subscriptions/acknowledged", acknowledged)

    def close_stream(self, request_id: Id) -> None:
        """Close a subscription stream that the client has cancelled."""
        self.streams.pop(request_id, None)
        self._subscriptions.close_stream(request_id)

    def close(self) -> None:
        """End all subscription streams, each with a result."""
        for timer in self._due.values():
            timer.cancel()
        self._subscriptions.close()
        for request_id in self.streams:
            ended = b'{"_meta":{%b}}' % _tag(request_id)
            self.client.respond(request_id, result_line(request_id, *stamping.modern_result(ended)))
        self.streams.clear()

    def tools_changed(self) -> None:
        """Tell the client that the definitions of the meta-tools have changed."""
        self._tell_changed("tools")

    def on_list_changed(self, kind: ListKind) -> None:
        """Tell the client, after a short delay, that the list of prompts or resources has changed."""
        has_listener = self.streams or self._callers.legacy is not None
        if has_listener and kind not in self._due:
            self._due[kind] = asyncio.get_running_loop().call_later(
                CHANGE_DELAY_SECONDS, self._tell_changed, kind
            )

    def _tell_changed(self, kind: ListKind | str) -> None:
        self._due.pop(kind, None)
        method = f"notifications/{kind}/list_changed"
        if self._callers.legacy is not None:
            self._peer.notify(method)
        for request_id, wanted in self.streams.items():
            if wanted.wants(kind):
                self._peer.notify(method, b'{"_meta":{%b}}' % _tag(request_id))

    def on_updated(self, update: Update) -> None:
        """Tell the client that a resource has changed, under the URI that the client subscribed to."""
        self._subscriptions.on_updated(update)

    def on_question(self, inquiry: Pushed) -> None:
        """Ask a legacy client a question of a server outside of any call."""
        self.client.bridge.ask_outside(self._callers.legacy or NOBODY, inquiry)

    def on_elicitation_complete(self, session: Session, members: Members) -> None:
        """Tell a legacy client that a URL elicitation is complete, if it was asked for it."""
        self._asker.on_elicitation_complete(session, members)

    def on_log(self, session: Session, level: int, members: Members, about: Call | None) -> None:
        """Send a legacy client a log message of a server, marked with the server's name."""
        if ((self._callers.legacy or NOBODY).log_level or 0) <= level:
            output = self.client.output
            write = output.about(about.request_id) if isinstance(about, RelayedRequest) else output.write
            write(log_line(session, members))


def _tag(request_id: Id) -> bytes:
    return b'"%b":%b' % (META_SUBSCRIPTION.encode(), encode(request_id))
