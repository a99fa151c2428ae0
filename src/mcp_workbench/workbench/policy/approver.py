"""The contract between the policy and whatever asks a person about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp_workbench.workbench.door import CallDecision, CallRecord
    from mcp_workbench.workbench.server_call import ServerCall


class Approver(Protocol):
    """Asks a person whether a call may be sent."""

    def ask(self, record: CallRecord, call: ServerCall, decision: CallDecision) -> Awaitable[None] | None:
        """Return None if a person has approved the call already, or an awaitable to hold it for the answer.

        Raises CallRefused if nobody can be asked, now or when awaited if the person says no. Who approved the
        call is noted in the record's decision.
        """
