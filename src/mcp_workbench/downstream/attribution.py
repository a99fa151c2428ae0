"""Which call a question of a legacy server belongs to: it does not say so, and no wrong caller may see it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.call import Call

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Id
    from mcp_workbench.wire.peer import Peer

AFTERMATH: Final = 5.0
"""Seconds in which a server may still ask something for a call that was given up, unless it answers it."""
MOST_GIVEN_UP: Final = 1000
"""Such calls that are remembered."""


class _GivenUp(msgspec.Struct, frozen=True):
    """A call that nobody waits for any more."""

    conversation: object
    next_id: int
    """Of the call that came after."""


class Attribution:
    """The calls of one connection, as far as the server may have something to ask about them."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._given_up: dict[Id, _GivenUp] = {}
        self.certain: Id | None = None
        """The request on whose own stream the server says what is being looked at, if it has one."""

    def calls(self) -> list[Call] | None:
        """Those that a question may be about: all of them would have it put to the same client in the same
        way. An empty list if there is no call, and None if it cannot be told whose question it is.
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

    def give_up(self, call: Call) -> None:
        """The server may not know yet that nobody waits for this call, or not care: what it asks next may
        still belong to it. Unless it has just asked: to that it gets its answer.
        """
        if call.is_waiting:
            return
        if len(self._given_up) < MOST_GIVEN_UP:
            self._given_up[call.id] = _GivenUp(call.conversation, self._peer.next_id)
            # Not when somebody looks: with it goes its client, and all that was to be sent to it.
            asyncio.get_running_loop().call_later(AFTERMATH, self._given_up.pop, call.id, None)

    def on_stray(self, request_id: Id) -> None:
        """A call that was given up has ended in the server too."""
        self._given_up.pop(request_id, None)

    def _lately_given_up(self, before: int) -> list[object]:
        """The conversations of calls that were given up a moment ago, while the one with this id was already
        in progress. What is asked for a later one is asked by a server that has heard of the end of these.
        """
        return [it.conversation for it in self._given_up.values() if it.next_id > before]
