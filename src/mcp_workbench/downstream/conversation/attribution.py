"""Decides which call a question of a legacy server belongs to, and which principals a message may concern.

A legacy server does not say which call its question or log message is about. What may concern more than
one principal is shown to none of them.
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
"""Seconds in which a server may still ask something for a call that was given up."""
GIVEN_UP_SECONDS: Final = 30.0
"""Seconds for which a call that was given up keeps questions from other principals, unless the server has
responded to it. Longer than LATE_QUESTION_SECONDS, because a refused question does less harm than one that
is shown to the wrong person."""
ENDED_SECONDS: Final = 2.0
"""Seconds for which a call that has ended keeps questions and log messages from other principals: a server
may send them right after its response."""
MAX_GIVEN_UP: Final = 1000
"""Maximum number of calls that were given up and are recorded one by one."""


class _GivenUp(msgspec.Struct, frozen=True):
    """A call that was cancelled or timed out."""

    principal: str
    conversation: object
    """The conversation that its questions went to; None if the server can ask nothing more about it."""
    next_id: int
    """The id that the next request had when this call was given up."""
    at: float
    """Time when the call was given up."""


class Attribution:
    """The calls of one connection that the server may ask or log something about."""

    def __init__(self, peer: Peer, listeners: Listeners) -> None:
        self._peer = peer
        self._listeners = listeners
        self._began_alone = not listeners.is_shared
        """Whether calls may have ended here before there was a second principal, when none was recorded."""
        self._given_up: dict[Id, _GivenUp] = {}
        """The calls that were given up, by id, oldest first."""
        self._sweep: asyncio.TimerHandle | None = None
        self._crowded_out: dict[str, float] = {}
        """When a principal last gave up a call that was not recorded, because there were too many."""
        self._ended: dict[str, float] = {}
        """When the last call of each principal ended, if there are several principals; minus infinity for
        a principal whose calls were only given up."""
        self._stray_at = -inf
        """When the server last responded to a call that is not known any more."""
        self.certain: Id | None = None
        """The id of the request on whose own stream the current message arrived, if any."""

    def calls(self) -> list[Call] | None:
        """Return the calls that a question may be about, all of the same client; empty if no call is in
        flight, and None if the question cannot be attributed.

        Only for a question that concerns no more than one principal: see `concerned`.
        """
        if isinstance(call := self._peer.find(self.certain), Call):
            return [call]
        calls = [request for request in self._peer.requests if isinstance(request, Call)]
        # A call whose question is open does not ask another one.
        able = [call for call in calls if not call.is_waiting] or calls
        given_up = self._lately_given_up(before=min((call.id for call in able), default=0))
        if not able:
            # A legacy client can be asked at any time, so it does not matter which call it is.
            return None if any(isinstance(conversation, Call) for conversation in given_up) else []
        conversations = {*(id(call.conversation) for call in able), *map(id, given_up)}
        return able if len(conversations) == 1 else None

    def concerned(self) -> set[str] | None:
        """Return the principal that a message may concern, as a set; None if there may be several."""
        certain = self._peer.find(self.certain)
        if isinstance(certain, Call):
            return {certain.principal}
        if self._listeners.is_shared and certain is None:
            is_of_ended = self.certain is not None  # on the stream of a call that has ended
            now = asyncio.get_running_loop().time()
            if is_of_ended or now - self._stray_at < ENDED_SECONDS:
                return None
        possible = self._possible()
        return possible if len(possible) <= 1 else None

    def _possible(self) -> set[str]:
        """Return the principals of all calls in flight, and of calls that ended a moment ago."""
        found = {request.principal for request in self._peer.requests if isinstance(request, Call)}
        if self._listeners.is_shared:
            now = asyncio.get_running_loop().time()
            given_up = self._given_up.values()
            found.update(call.principal for call in given_up if now - call.at < GIVEN_UP_SECONDS)
            found.update(name for name, at in self._ended_calls().items() if now - at < ENDED_SECONDS)
            found.update(name for name, at in self._crowded_out.items() if now - at < GIVEN_UP_SECONDS)
        return found

    def served(self) -> set[str]:
        """Return all principals that are known to have made a call on this connection, however long ago."""
        return self._possible() | self._ended_calls().keys()

    def end(self, call: Call) -> None:
        """Record that a call has ended. Only needed if there are several principals."""
        self._ended[call.principal] = asyncio.get_running_loop().time()

    def give_up(self, call: Call) -> None:
        """Record that a call was given up: the next question of the server may still be about it."""
        now = asyncio.get_running_loop().time()
        self._ended.setdefault(call.principal, -inf)
        if len(self._given_up) >= MAX_GIVEN_UP:
            self._crowded_out[call.principal] = now
            return
        # A call on hold gets the answer to its question, so it asks its client nothing more.
        conversation = None if call.is_waiting else call.conversation
        self._given_up[call.id] = _GivenUp(call.principal, conversation, self._peer.next_id, now)
        if self._sweep is None:
            self._forget_later()

    def on_stray(self, request_id: Id) -> None:
        """Note a response to a call that was given up: it has ended in the server too."""
        given_up = self._given_up.pop(request_id, None)
        if self._listeners.is_shared:
            now = asyncio.get_running_loop().time()
            if given_up is None:
                self._stray_at = now
            else:
                self._ended[given_up.principal] = now

    def _forget_later(self) -> None:
        # By a timer: a conversation refers to its client, and to everything that waits to be sent to it.
        self._sweep = asyncio.get_running_loop().call_later(LATE_QUESTION_SECONDS, self._forget_old)

    def _forget_old(self) -> None:
        self._sweep = None
        now = asyncio.get_running_loop().time()
        for request_id, call in list(self._given_up.items()):
            if now - call.at >= GIVEN_UP_SECONDS:
                del self._given_up[request_id]
            elif now - call.at >= LATE_QUESTION_SECONDS and call.conversation is not None:
                self._given_up[request_id] = msgspec.structs.replace(call, conversation=None)
        if self._given_up:
            self._forget_later()

    def _ended_calls(self) -> dict[str, float]:
        """Return when the last call of each principal ended, at the latest."""
        if self._began_alone and self._listeners.is_shared:
            self._began_alone = False
            for name, at in self._listeners.alone.items():
                self._ended[name] = max(at, self._ended.get(name, -inf))
        return self._ended

    def _lately_given_up(self, before: int) -> list[object]:
        """Return the conversations of calls that were given up a moment ago, while call `before` was in
        flight.

        A question about a later call comes from a server that knows of the end of these.
        """
        since = asyncio.get_running_loop().time() - LATE_QUESTION_SECONDS
        return [
            call.conversation
            for call in self._given_up.values()
            if call.conversation is not None and call.next_id > before and call.at > since
        ]
