"""The contract between the policy and whatever asks a person about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mcp_workbench.errors import CallRefused

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


class NobodyAsked:
    """Refuses all calls that a person would have to be asked about: there is no way to ask."""

    def ask(self, record: CallRecord, call: ServerCall, decision: CallDecision) -> None:  # noqa: ARG002 - see above
        """Raise CallRefused, with what would have to be changed."""
        toolbox, server = record.origin
        reason = (
            f"a person has to be asked before this call, by the rule {decision.rule} in the policy of this "
            "workbench, and nobody can be asked. Nothing was sent. The person who runs the workbench can "
            'change the rule to "allow"'
        )
        raise CallRefused(record.name, server, toolbox, reason)
