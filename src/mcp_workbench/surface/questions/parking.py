"""Calls to legacy servers that wait for a modern client to retry with the answer to a question.

Owns these calls from the question to the retry, and cancels those whose client does not retry in time.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.requests import StateRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.conversation.inquiry import Inquiry
    from mcp_workbench.fairness import Shares
    from mcp_workbench.surface.relay.relayed import RelayedRequest
    from mcp_workbench.wire.message import Id, Outgoing
    from mcp_workbench.workbench.door import Outcome

MAX_PARKED_CALLS: Final = 1000
"""Calls that may be parked at once if clients are not authenticated."""

ABANDONED: Final = "the client did not retry with the answer"
NOT_WAITING: Final = (
    "Invalid params: `requestState` belongs to a call that no longer waits: it was cancelled, or given up. "
    "Make a new request"
)


class ParkedCall:
    """A call in flight whose client was answered with a question, and has to retry."""

    def __init__(self, call: RelayedRequest, inquiry: Inquiry, on_end: Callable[[], None]) -> None:
        self.call = call
        self.asked_in = call.request_id
        """The id of the client's request that was answered with the question."""
        self.inquiries: deque[Inquiry] = deque()
        """The questions that the server waits for. The client has been asked the first one."""
        self.answer: tuple[Callable[[Id], Outgoing], int | None] | None = None
        """Makes the answer for the retry, if the server answered the call without waiting for the client."""
        self._on_end = on_end
        self._timer = asyncio.get_running_loop().call_later(
            call.session.input_timeout, self.end, ABANDONED, "client_gone"
        )
        self.add(inquiry)

    def add(self, inquiry: Inquiry) -> None:
        """Add one more question of the server."""
        self.inquiries.append(inquiry)
        inquiry.on_withdrawn = lambda _: self.inquiries.remove(inquiry)

    def unpark(self) -> None:
        """Stop waiting for the client: it has retried, or the call is cancelled."""
        self._timer.cancel()
        self._on_end()

    def end(self, reason: str, outcome: Outcome = "cancelled") -> None:
        """Cancel the call, unless the server has answered it already."""
        self.unpark()
        if self.answer is None:
            self.call.cancel(reason, outcome)


class ParkedCalls:
    """The parked calls of all connections, limited for each principal."""

    def __init__(self, shares: Shares | None = None) -> None:
        self._shares = shares
        self._parked: dict[bytes, ParkedCall] = {}
        self._count_of: Counter[str] = Counter()

    def can_park(self, principal: str) -> bool:
        """Whether one more call of a principal can be parked."""
        return self._count_of[principal] < self.limit(principal)

    def limit(self, principal: str) -> int:
        """Return how many calls of a principal may be parked at once."""
        return self._shares.limits.questions if principal and self._shares is not None else MAX_PARKED_CALLS

    def add(self, ticket: bytes, call: RelayedRequest, inquiry: Inquiry) -> None:
        """Park a call under a ticket, after its client was answered with the question."""
        requests, name = call.requests, ticket.hex()
        principal = requests.principal

        def forget() -> None:
            del self._parked[ticket], requests.parked[name]
            self._count_of[principal] -= 1
            if not self._count_of[principal]:
                del self._count_of[principal]

        self._count_of[principal] += 1
        self._parked[ticket] = requests.parked[name] = ParkedCall(call, inquiry, forget)
        # The client may use its request id again before the call continues.
        call.request_id = name

    def close(self) -> None:
        """Cancel all parked calls: the workbench is ending."""
        for parked in list(self._parked.values()):
            parked.end("the workbench is ending")

    def take(self, ticket: bytes) -> ParkedCall:
        """Remove and return the call with this ticket, which its client retries. Raises StateRefused."""
        if (parked := self._parked.get(ticket)) is None:
            raise StateRefused(NOT_WAITING)
        parked.unpark()
        return parked
