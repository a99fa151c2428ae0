"""The contract between the policy and whatever asks a person about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from mcp_workbench.errors import CallRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp_workbench.workbench.door import CallDecision, CallRecord
    from mcp_workbench.workbench.server_call import ServerCall

Choice = Literal["once", "session", "no", "unreadable"]
"""What a person has decided about a call. Of an answer that cannot be read, nothing is known."""


class UserAnswer(msgspec.Struct, frozen=True):
    """What a person has answered to the question whether a call may be made."""

    choice: Choice
    by: str = "user"
    """Who has answered, as in `CallDecision.by`."""


class Approver(Protocol):
    """Asks a person whether a call may be sent."""

    def ask(self, record: CallRecord, call: ServerCall, decision: CallDecision) -> Awaitable[None] | None:
        """Return None if a person has approved the call already, or an awaitable to hold it for the answer.

        Raises CallRefused if nobody can be asked, now or when awaited if the person says no. Who approved the
        call is noted in the record's decision.
        """


def refused(call: ServerCall, reason: str) -> CallRefused:
    """Return the error for a call that no person has approved."""
    toolbox, server = call.origin
    return CallRefused(call.name, server, toolbox, reason)
