"""The clients of the workbench, for what a server sends outside of any call.

Owns which clients are told. Each client decides what it sends on, and in which form.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from mcp_workbench.protocol.caller import declared_by
from mcp_workbench.protocol.names import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_workbench.downstream.conversation.call import Call
    from mcp_workbench.downstream.conversation.inquiry import Pushed
    from mcp_workbench.downstream.conversation.server_rights import ServerRights
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.protocol.caller import Caller

    Members = dict[str, msgspec.Raw]

ListKind = Literal["prompts", "resources"]


class Update(msgspec.Struct, frozen=True):
    """A notification that a resource has changed."""

    session: Session
    uri: str
    """The URI in the notification. It may be below the one that was subscribed to."""
    watched: str | None
    """The URI that was subscribed to, if it is known."""
    members: Members
    """All members of the notification."""


NO_CALL = "no call is in progress that this could belong to"


class Listener(Protocol):
    """A client that receives what servers ask, log and announce outside of its own calls."""

    @property
    def callers(self) -> Collection[Caller]:
        """The descriptions that the client has given of itself: at most one legacy and one modern."""

    @property
    def principal(self) -> str:
        """The principal of the client. Clients of one principal may know of each other."""

    def sees(self, toolbox: str) -> bool:
        """Whether the client may use the toolbox. It must learn nothing about any other toolbox."""

    @property
    def client(self) -> object:
        """The value of `Call.client` in the calls of this client."""

    @property
    def takes_questions(self) -> bool:
        """Whether the client can be asked something outside of a call."""

    def on_question(self, inquiry: Pushed) -> None:
        """Handle a question of a server outside of any call."""

    def on_log(self, session: Session, level: int, members: Members, about: Call | None) -> None:
        """Handle a log message of a server, perhaps about this call."""

    def on_list_changed(self, kind: ListKind) -> None:
        """Handle a change in the list of prompts or resources."""

    def on_updated(self, update: Update) -> None:
        """Handle a change of a resource, if the client subscribes to it."""

    def on_elicitation_complete(self, session: Session, members: Members) -> None:
        """Handle the end of an elicitation by URL: the user has done what was asked."""


class Listeners:
    """All clients that are connected now."""

    def __init__(self) -> None:
        self._listeners: dict[Listener, None] = {}
        self.is_shared = False
        """Whether there have been clients of more than one principal."""
        self._first: str | None = None
        """The principal of the first client."""
        self.alone: dict[str, float] = {}
        """The first principal, and until when it was the only one; empty while there is no second."""

    def add(self, listener: Listener) -> None:
        """Tell this client of server notifications from now on."""
        if not self.is_shared and listener.principal != self._first:
            self._note_principal(listener.principal)
        self._listeners[listener] = None

    def _note_principal(self, name: str) -> None:
        if self._first is None:
            self._first = name
        else:
            self.is_shared = True
            self.alone = {self._first: asyncio.get_running_loop().time()}

    def remove(self, listener: Listener) -> None:
        """Stop telling this client of server notifications."""
        del self._listeners[listener]

    @property
    def _callers(self) -> list[Caller]:
        return [caller for listener in self._listeners for caller in listener.callers]

    def _of(self, toolbox: str) -> list[Listener]:
        """Return the clients that may use a toolbox."""
        return [listener for listener in self._listeners if listener.sees(toolbox)]

    def capabilities(self, rights: ServerRights | None) -> bytes:
        """Return the union of the clients' capabilities as JSON, for the handshake with a legacy server.

        Those that the rights of the server exclude are left out.
        """
        callers = self._callers
        return declared_by(callers if rights is None else map(rights.limit, callers))

    @property
    def log_level(self) -> int | None:
        """The lowest log level that any client has asked for; None if none has."""
        levels = [caller.log_level for caller in self._callers if caller.log_level is not None]
        return self.log_level_with(min(levels)) if levels else None

    def log_level_with(self, level: int) -> int:
        """Return the lowest log level that is wanted, including this one of a client that may be gone."""
        levels = [caller.log_level for caller in self._callers if caller.log_level is not None]
        # A legacy client that has set no level gets all messages, whatever the others have set.
        wants_all = any(not caller.is_modern and caller.log_level is None for caller in self._callers)
        return 0 if wants_all else min([level, *levels])

    def ask(self, inquiry: Pushed) -> None:
        """Ask the one client that the question can be for. Refuse it if there are several."""
        listeners = self._of(inquiry.session.origin[0])
        able = [listener for listener in listeners if listener.takes_questions]
        if len(able) == 1 and self._are_of_one(listeners, inquiry.session):
            able[0].on_question(inquiry)
        else:
            inquiry.refuse(METHOD_NOT_FOUND, NO_CALL)

    def log(
        self,
        session: Session,
        level: int,
        members: Members,
        notified: Collection[object],
        concerned: Collection[str],
    ) -> None:
        """Pass a log message on to the clients that the server works for now.

        If it works for none, all clients get it, if they are of one principal. Clients in `notified` have it
        already. With `concerned`, only clients of these principals get it.
        """
        listeners = self._of(session.origin[0])
        legacy = [listener for listener in listeners if listener.takes_questions]
        calls = {call.client: call for call in session.calls} if legacy else {}
        for listener in legacy:
            about = calls.get(listener.client)
            if listener.client in notified or (concerned and listener.principal not in concerned):
                continue
            if about or (not calls and self._are_of_one(listeners, session)):
                listener.on_log(session, level, members, about)

    def _are_of_one(self, listeners: Collection[Listener], session: Session) -> bool:
        """Whether one principal has all listeners, and has made all calls in the session."""
        principals = {listener.principal for listener in listeners}
        if self.is_shared:
            principals |= session.attribution.served()
        return len(principals) == 1

    def list_changed(self, toolbox: str, kind: ListKind) -> None:
        """Tell all clients that may use the toolbox that its prompts or resources have changed."""
        for listener in self._of(toolbox):
            listener.on_list_changed(kind)

    def updated(self, update: Update) -> None:
        """Tell all clients that may use the toolbox that a resource has changed."""
        for listener in self._of(update.session.origin[0]):
            listener.on_updated(update)

    def elicitation_complete(self, session: Session, members: Members) -> None:
        """Tell all clients that may use the toolbox that an elicitation by URL has ended."""
        for listener in self._of(session.origin[0]):
            listener.on_elicitation_complete(session, members)
