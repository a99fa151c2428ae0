"""The clients of the workbench, as its servers see them: for what a server says that belongs to no call.

Owns who is told. What a client is told, and in which form, is its own.
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
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.protocol.caller import Caller

    Members = dict[str, msgspec.Raw]

Kind = Literal["prompts", "resources"]


class Update(msgspec.Struct, frozen=True):
    """Word that a resource has changed."""

    session: Session
    uri: str
    """As the server has it. It may be a part of the one that was asked for."""
    watched: str | None
    """The one that was asked for, if that is known."""
    members: Members
    """All that was said."""


NO_CALL = "no call is in progress that this could belong to"


class Listener(Protocol):
    """A client that is told what servers ask, log and announce outside of its own calls."""

    @property
    def callers(self) -> Collection[Caller]:
        """As what it has introduced itself: none, one, or one in each era."""

    @property
    def principal(self) -> str:
        """Who it is: clients of one principal may know of each other."""

    def sees(self, toolbox: str) -> bool:
        """Whether the toolbox is there for it. Of any other it is to know nothing."""

    @property
    def client(self) -> object:
        """What its calls have as theirs."""

    @property
    def takes_questions(self) -> bool:
        """Whether it can be asked something outside of a call."""

    def on_question(self, inquiry: Pushed) -> None:
        """A server asks something outside of any call."""

    def on_log(self, session: Session, level: int, members: Members, about: Call | None) -> None:
        """A server logs, perhaps about this call."""

    def on_list_changed(self, kind: Kind) -> None:
        """There are other prompts or resources than before."""

    def on_updated(self, update: Update) -> None:
        """Take note that a resource has changed, for the client if it subscribes to it."""

    def on_elicitation_complete(self, session: Session, members: Members) -> None:
        """The user has done what the client was asked to send them to."""


class Listeners:
    """All clients that there are at the moment."""

    def __init__(self) -> None:
        self._listeners: dict[Listener, None] = {}
        self.is_shared = False
        """Whether there have been clients of more than one principal."""
        self._first: str | None = None
        """The principal of the first client."""
        self.alone: dict[str, float] = {}
        """That principal, and until when there was no other, once there was another."""

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
        """Those that may know of a server of this toolbox."""
        return [listener for listener in self._listeners if listener.sees(toolbox)]

    @property
    def capabilities(self) -> bytes:
        """What can be asked of them, as a legacy server is told it."""
        return declared_by(self._callers)

    @property
    def log_level(self) -> int | None:
        """The lowest level that one of them has asked for, if any has."""
        asked = [caller.log_level for caller in self._callers if caller.log_level is not None]
        return self.log_level_with(min(asked)) if asked else None

    def log_level_with(self, level: int) -> int:
        """The lowest level that is wanted, if one wants this: not all that want one are still known here."""
        asked = [caller.log_level for caller in self._callers if caller.log_level is not None]
        # A legacy client that has not asked gets all, which the others must not put an end to.
        wants_all = any(not caller.is_modern and caller.log_level is None for caller in self._callers)
        return 0 if wants_all else min([level, *asked])

    def ask(self, inquiry: Pushed) -> None:
        """Asks the one who can be meant, and nobody if there are several."""
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
        told: Collection[object],
        concerned: Collection[str],
    ) -> None:
        """A server logs. Those clients are told that it works for at the moment, and when it works for none
        all of them, if they are the same one's. Some have been told already. If it can only be about calls of
        the principals `concerned`, no others are told.
        """
        listeners = self._of(session.origin[0])
        legacy = [listener for listener in listeners if listener.takes_questions]
        calls = {call.client: call for call in session.calls} if legacy else {}
        for listener in legacy:
            about = calls.get(listener.client)
            if listener.client in told or (concerned and listener.principal not in concerned):
                continue
            if about or (not calls and self._are_of_one(listeners, session)):
                listener.on_log(session, level, members, about)

    def _are_of_one(self, listeners: Collection[Listener], session: Session) -> bool:
        """Whether all of them are the same principal's, and it is the only one that what the server says
        outside of any call can concern: no other has ever made a call there.
        """
        principals = {listener.principal for listener in listeners}
        if self.is_shared:
            principals |= session.attribution.served()
        return len(principals) == 1

    def list_changed(self, toolbox: str, kind: Kind) -> None:
        """There are other prompts or resources in a toolbox than before."""
        for listener in self._of(toolbox):
            listener.on_list_changed(kind)

    def updated(self, update: Update) -> None:
        """Tell all clients that see the server that one of its resources has changed."""
        for listener in self._of(update.session.origin[0]):
            listener.on_updated(update)

    def elicitation_complete(self, session: Session, members: Members) -> None:
        """The user has done what a client was asked to send them to."""
        for listener in self._of(session.origin[0]):
            listener.on_elicitation_complete(session, members)
