"""Calls of legacy servers that wait for a modern client to come back with an answer.

Owns them from the question to the retry, and ends those whose client does not come back.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.names import INVALID_PARAMS
from mcp_workbench.surface.requests import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.conversation.inquiry import Pushed
    from mcp_workbench.fairness import Shares
    from mcp_workbench.surface.relay.relayed import RelayedRequest
    from mcp_workbench.wire.message import Id, Outgoing
    from mcp_workbench.workbench.door import Outcome

MOST: Final = 1000
"""Calls that are parked at once where nobody has to say who they are."""

ABANDONED: Final = "the client did not come back with what was asked for"
NOT_WAITING: Final = (
    "Invalid params: `requestState` belongs to a call that no longer waits: it was cancelled, or given up. "
    "Make the request anew"
)


class ParkedCall:
    """One such call."""

    def __init__(self, call: RelayedRequest, inquiry: Pushed, on_end: Callable[[], None]) -> None:
        self.call = call
        self.asked_by = call.request_id
        """The client's request that was answered with the question."""
        self.inquiries: deque[Pushed] = deque()
        """What the server waits for. The client has been asked the first."""
        self.answer: Callable[[Id], Outgoing] | None = None
        """Its answer, if it was answered all the same: a server may go on without what it asked for."""
        self._on_end = on_end
        self._timer = asyncio.get_running_loop().call_later(
            call.session.input_timeout, self.end, ABANDONED, "client_gone"
        )
        self.add(inquiry)

    def add(self, inquiry: Pushed) -> None:
        """The server asks one more thing."""
        self.inquiries.append(inquiry)
        inquiry.on_withdrawn = lambda _: self.inquiries.remove(inquiry)

    def leave(self) -> None:
        """The client is back, or the call is given up."""
        self._timer.cancel()
        self._on_end()

    def end(self, reason: str, outcome: Outcome = "cancelled") -> None:
        """Gives the call up."""
        self.leave()
        if self.answer is None:
            self.call.cancel(reason, outcome)


class ParkedCalls:
    """All of them, whichever connection they came by."""

    def __init__(self, shares: Shares | None = None) -> None:
        self._shares = shares
        self._parked: dict[bytes, ParkedCall] = {}
        self._count_of: Counter[str] = Counter()

    def has_room(self, principal: str) -> bool:
        """Whether one more call of a principal can be parked."""
        return self._count_of[principal] < self.limit(principal)

    def limit(self, principal: str) -> int:
        """How many calls of a principal may wait for an answer of its client."""
        return self._shares.limits.questions if principal and self._shares is not None else MOST

    def add(self, ticket: bytes, call: RelayedRequest, inquiry: Pushed) -> None:
        """Parks a call whose client has been answered, to be found by its ticket."""
        calls, name = call.calls, ticket.hex()
        principal = calls.principal

        def forget() -> None:
            del self._parked[ticket], calls.parked[name]
            self._count_of[principal] -= 1
            if not self._count_of[principal]:
                del self._count_of[principal]

        self._count_of[principal] += 1
        self._parked[ticket] = calls.parked[name] = ParkedCall(call, inquiry, forget)
        # The client's id is its own again, and may be that of another request before the call goes on.
        call.request_id = name

    def close(self) -> None:
        """Gives all of them up."""
        for parked in list(self._parked.values()):
            parked.end("the workbench is ending")

    def take(self, ticket: bytes) -> ParkedCall:
        """The call with this ticket, whose client is back. Raises Refusal."""
        if (parked := self._parked.get(ticket)) is None:
            raise Refusal(INVALID_PARAMS, NOT_WAITING)
        parked.leave()
        return parked
