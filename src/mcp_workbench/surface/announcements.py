"""What a client is told without having asked just then: changes, log messages, questions outside of calls.

A legacy client is told what concerns it as it comes. A modern one is told of changes on the streams that it
has opened for them, and of log messages while a request is in flight that wants them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.caller import NOBODY
from mcp_workbench.protocol.names import INVALID_REQUEST, META_SUBSCRIPTION
from mcp_workbench.surface.relay import results
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
    from mcp_workbench.surface.relay.calls import Calls
    from mcp_workbench.surface.resources.subscriptions import Subscriptions
    from mcp_workbench.wire.message import Id
    from mcp_workbench.wire.peer import Peer
    from mcp_workbench.workbench.client_view import ClientView

    Members = dict[str, msgspec.Raw]

MOST_SUBSCRIPTIONS: Final = 1000
SOON: Final = 0.05
"""Seconds in which several changes of one kind are told as one: a toolbox opens many servers at once."""


class Announcements:
    """What one client is told."""

    def __init__(
        self,
        peer: Peer,
        callers: Callers,
        calls: Calls,
        asker: Asker,
        subscriptions: Subscriptions,
        *,
        streams: dict[Id, NotificationFilter],
        view: ClientView,
    ) -> None:
        self.principal = view.principal.name
        self._view = view
        self.client = calls
        self._peer = peer
        self._callers = callers
        self._asker = asker
        self._subscriptions = subscriptions
        self.streams = streams
        """Which changes a modern client wants to hear of, by the requests that said so."""
        self._due: dict[str, asyncio.TimerHandle] = {}

    @property
    def callers(self) -> Collection[Caller]:
        """As what the client has introduced itself."""
        return list(self._callers)

    def sees(self, toolbox: str) -> bool:
        """Whether the toolbox is there for the client."""
        return toolbox in self._view.toolboxes

    @property
    def takes_questions(self) -> bool:
        """Whether there is a legacy client, which can be asked at any time."""
        return self._callers.legacy is not None

    def open_stream(self, request_id: Id, wanted: NotificationFilter) -> None:
        """Tells a modern client of changes from now on, and first which of them. Raises Refusal."""
        if len(self.streams) >= MOST_SUBSCRIPTIONS:
            open_ = f"{MOST_SUBSCRIPTIONS} subscriptions are open already, and one is enough"
            raise Refusal(INVALID_REQUEST, f"Invalid Request: {open_}")
        if wanted.resource_subscriptions:
            # Until it is known which of them the client will hear of, it hears of nothing.
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
        """The client does not want to hear of it any more."""
        self.streams.pop(request_id, None)
        self._subscriptions.close_stream(request_id)

    def close(self) -> None:
        """Ends all streams in good order."""
        for timer in self._due.values():
            timer.cancel()
        self._subscriptions.close()
        for request_id in self.streams:
            ended = b'{"_meta":{%b}}' % _tag(request_id)
            self._peer.send(result_line(request_id, *results.modern(ended)))
        self.streams.clear()

    def tools_changed(self) -> None:
        """Our own tools are no longer what they were."""
        self._tell_changed("tools")

    def on_list_changed(self, kind: ListKind) -> None:
        """The servers together have other prompts or resources than before."""
        is_told = self.streams or self._callers.legacy is not None
        if is_told and kind not in self._due:
            self._due[kind] = asyncio.get_running_loop().call_later(SOON, self._tell_changed, kind)

    def _tell_changed(self, kind: ListKind | str) -> None:
        self._due.pop(kind, None)
        method = f"notifications/{kind}/list_changed"
        if self._callers.legacy is not None:
            self._peer.notify(method)
        for request_id, wanted in self.streams.items():
            if wanted.wants(kind):
                self._peer.notify(method, b'{"_meta":{%b}}' % _tag(request_id))

    def on_updated(self, update: Update) -> None:
        """Tells of a resource that has changed, under the name that the client has for it."""
        self._subscriptions.on_updated(update)

    def on_question(self, inquiry: Pushed) -> None:
        """Asks a legacy client."""
        self.client.bridge.ask_outside(self._callers.legacy or NOBODY, inquiry)

    def on_elicitation_complete(self, session: Session, members: Members) -> None:
        """Tells a legacy client, if it was the one that was asked."""
        self._asker.on_elicitation_complete(session, members)

    def on_log(self, session: Session, level: int, members: Members, about: Call | None) -> None:
        """Passes a server's log message on to a legacy client, with where it comes from."""
        if ((self._callers.legacy or NOBODY).log_level or 0) <= level:
            outlet = self.client.outlet
            write = outlet.about(about.request_id) if isinstance(about, RelayedRequest) else outlet.write
            write(log_line(session, members))


def _tag(request_id: Id) -> bytes:
    return b'"%b":%b' % (META_SUBSCRIPTION.encode(), encode(request_id))
