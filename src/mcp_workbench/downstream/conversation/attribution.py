"""Decides which call a question of a legacy server belongs to, and whose calls a server may be talking about.

A legacy server does not say which call its question or log message is about. What may concern more than one
principal is shown to none of them.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.conversation.call import Call

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.wire.message import Id
    from mcp_workbench.wire.peer import Peer

LATE_QUESTION_SECONDS: Final = 5.0
"""Seconds in which a server may still ask something for a call that was given up, unless it answers it."""
GIVEN_UP_SECONDS: Final = 30.0
"""Seconds for which a call that was given up keeps questions from other principals, unless the server answers
it. Longer than LATE_QUESTION_SECONDS, because a question refused does less harm than one shown to the wrong person."""
ENDED_SECONDS: Final = 2.0
"""Seconds for which a call that was answered keeps questions and log messages from other principals: a server
may send them right after the answer."""
MAX_GIVEN_UP: Final = 1000
"""Calls that were given up and are remembered one by one."""


class _GivenUp(msgspec.Struct, frozen=True):
    """A call that nobody waits for any more."""

    principal: str
    conversation: object
    """Whom its questions went to; None if it does not matter any more."""
    next_id: int
    """Of the call that came after."""
    at: float
    """When it was given up."""


class Attribution:
    """The calls of one connection, as far as the server may have something to ask or to log about them."""

    def __init__(self, peer: Peer, listeners: Listeners) -> None:
        self._peer = peer
        self._listeners = listeners
        self._began_alone = not listeners.is_shared
        """Whether calls may have ended here before there was a second principal, when none is recorded."""
        self._given_up: dict[Id, _GivenUp] = {}
        """In the order in which they were given up."""
        self._sweep: asyncio.TimerHandle | None = None
        self._crowded_out: dict[str, float] = {}
        """When a principal has last given up a call that there was no room to remember."""
        self._ended: dict[str, float] = {}
        """When the last call of each principal was answered, where there are several principals; minus
        infinity for one whose calls were only given up."""
        self._stray_at = -inf
        """When the server has last answered a call of which it is not known any more whose it was."""
        self.certain: Id | None = None
        """The request on whose own stream the server says what is being looked at, if it has one."""

    def calls(self) -> list[Call] | None:
        """Those that a question may be about: all of them would have it put to the same client in the same
        way. An empty list if there is no call, and None if it cannot be told whose question it is.

        Only for a question that can concern no more than one principal: see `concerned`.
        """
        if isinstance(call := self._peer.find(self.certain), Call):
            return [call]
        calls = [request for request in self._peer.requests if isinstance(request, Call)]
        # One that waits for an answer already does not ask something else.
        able = [call for call in calls if not call.is_waiting] or calls
        given_up = self._lately_given_up(before=min((call.id for call in able), default=0))
        if not able:
            # A legacy client can be asked at any time, so that it makes no difference to it.
            return None if any(isinstance(conversation, Call) for conversation in given_up) else []
        conversations = {*(id(call.conversation) for call in able), *map(id, given_up)}
        return able if len(conversations) == 1 else None

    def concerned(self) -> set[str] | None:
        """The principal whose calls the server may be talking about now, if any; None if there are several of
        them, or it cannot be told.
        """
        certain = self._peer.find(self.certain)
        if isinstance(certain, Call):
            return {certain.principal}
        if self._listeners.is_shared and certain is None:
            is_of_ended = self.certain is not None  # on the stream of a call that was answered
            now = asyncio.get_running_loop().time()
            if is_of_ended or now - self._stray_at < ENDED_SECONDS:
                return None
        possible = self._possible()
        return possible if len(possible) <= 1 else None

    def _possible(self) -> set[str]:
        """The principals of all calls in flight, also those that wait for an answer, and of those that have
        ended a moment ago.
        """
        found = {request.principal for request in self._peer.requests if isinstance(request, Call)}
        if self._listeners.is_shared:
            now = asyncio.get_running_loop().time()
            given_up = self._given_up.values()
            found.update(it.principal for it in given_up if now - it.at < GIVEN_UP_SECONDS)
            found.update(name for name, at in self._ended_calls().items() if now - at < ENDED_SECONDS)
            found.update(name for name, at in self._crowded_out.items() if now - at < GIVEN_UP_SECONDS)
        return found

    def served(self) -> set[str]:
        """All principals that are known to have made a call on this connection, however long ago."""
        return self._possible() | self._ended_calls().keys()

    def end(self, call: Call) -> None:
        """Note that a call was answered. Needed only where there are several principals."""
        self._ended[call.principal] = asyncio.get_running_loop().time()

    def give_up(self, call: Call) -> None:
        """The server may not know yet that nobody waits for this call, or not care: what it asks next may
        still belong to it.
        """
        now = asyncio.get_running_loop().time()
        self._ended.setdefault(call.principal, -inf)
        if len(self._given_up) >= MAX_GIVEN_UP:
            self._crowded_out[call.principal] = now
            return
        # To what a call has just asked the server gets its answer, so it asks its own client nothing more.
        conversation = None if call.is_waiting else call.conversation
        self._given_up[call.id] = _GivenUp(call.principal, conversation, self._peer.next_id, now)
        if self._sweep is None:
            self._forget_later()

    def on_stray(self, request_id: Id) -> None:
        """A call that was given up has ended in the server too."""
        given_up = self._given_up.pop(request_id, None)
        if self._listeners.is_shared:
            now = asyncio.get_running_loop().time()
            if given_up is None:
                self._stray_at = now
            else:
                self._ended[given_up.principal] = now

    def _forget_later(self) -> None:
        # Not only when somebody looks: a conversation keeps its client, and all that was to be sent to it.
        self._sweep = asyncio.get_running_loop().call_later(LATE_QUESTION_SECONDS, self._forget_old)

    def _forget_old(self) -> None:
        self._sweep = None
        now = asyncio.get_running_loop().time()
        for request_id, it in list(self._given_up.items()):
            if now - it.at >= GIVEN_UP_SECONDS:
                del self._given_up[request_id]
            elif now - it.at >= LATE_QUESTION_SECONDS and it.conversation is not None:
                self._given_up[request_id] = msgspec.structs.replace(it, conversation=None)
        if self._given_up:
            self._forget_later()

    def _ended_calls(self) -> dict[str, float]:
        """When the last call of each principal has ended, at the latest."""
        if self._began_alone and self._listeners.is_shared:
            self._began_alone = False
            for name, at in self._listeners.alone.items():
                self._ended[name] = max(at, self._ended.get(name, -inf))
        return self._ended

    def _lately_given_up(self, before: int) -> list[object]:
        """The conversations of calls that were given up a moment ago, while the one with this id was already
        in progress. What is asked for a later one is asked by a server that has heard of the end of these.
        """
        since = asyncio.get_running_loop().time() - LATE_QUESTION_SECONDS
        return [
            it.conversation
            for it in self._given_up.values()
            if it.conversation is not None and it.next_id > before and it.at > since
        ]
