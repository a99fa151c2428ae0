"""Asks a person about the calls for which the policy says `ask`, and remembers what was allowed.

The user of the client is asked by an elicitation, in the form that the client's protocol version has: see
`surface.questions`. If that is not possible, or the policy says `"ask": "console"`, a person is asked in a
terminal: see `console`. An approval is bound to the principal, the target and the arguments, and is good
once; or, if the user says so, to the client's session and the target: see `session_grants`.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mcp_workbench.errors import RemoteError, RequestTimeout, WireError
from mcp_workbench.fairness import RETRY_SECONDS
from mcp_workbench.protocol.names import COMPLETION
from mcp_workbench.workbench.policy.approval_form import description, form, read_answer
from mcp_workbench.workbench.policy.approver import refused
from mcp_workbench.workbench.policy.session_grants import SessionGrants, session_title
from mcp_workbench.workbench.text.sanitise import clean_text
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from mcp_workbench.fairness import Shares
    from mcp_workbench.workbench.door import CallDecision, CallRecord
    from mcp_workbench.workbench.policy.approver import UserAnswer
    from mcp_workbench.workbench.server_call import ServerCall

ANSWER_SECONDS: Final = 300.0
"""How long the user of a client has for the answer."""
MAX_OPEN: Final = 100
"""Calls that may wait for an answer at once, if clients are not authenticated."""
MAX_REASON_CHARACTERS: Final = 200

NOT_ALLOWED: Final = "the user was asked whether to allow it, and said no"
DENIED: Final = "a person was asked by `mcp-workbench approvals` whether to allow it, and said no"
NO_ANSWER: Final = f"the user was asked whether to allow it, and did not answer within {ANSWER_SECONDS:.0f} s"
UNREADABLE: Final = "the user was asked whether to allow it, and the client's answer cannot be read"
CROWDED: Final = (
    "too many calls already wait for an approval. The user has to answer some of them first; "
    f"try again in {RETRY_SECONDS} s"
)


class Terminals(Protocol):
    """Where a person is asked outside of the client, as `console.Console` does."""

    async def ask(self, call: ServerCall, rule: str, lines: list[str], why: str) -> UserAnswer:
        """Return what a person has answered about the call. Raises CallRefused if there is no answer."""


class Approvals:
    """Asks people about calls: an `Approver` for all clients of one workbench."""

    def __init__(self, console: Terminals, shares: Shares) -> None:
        self._console = console
        self._shares = shares
        self._grants = SessionGrants()
        self._open: Counter[str] = Counter()
        """How many calls wait for an answer, by principal."""

    def ask(self, record: CallRecord, call: ServerCall, decision: CallDecision) -> Awaitable[None] | None:
        """Let an approved call pass now, or hold it until a person has answered. Raises CallRefused."""
        # What the user of the client has answered before counts no more where a terminal has to be asked.
        is_of_client = decision.place == "client"
        if is_of_client and self._grants.allow(call, decision.rule):
            record.decision = msgspec.structs.replace(decision, by="session")
            return None
        lines = description(call, decision.rule)
        if (answer := call.approval) is not None and (is_of_client or answer.by == "console"):
            self._judge(record, call, decision, answer)
            return None
        return self._ask(record, call, decision, lines)

    async def _ask(
        self, record: CallRecord, call: ServerCall, decision: CallDecision, lines: list[str]
    ) -> None:
        with self._counted(call):
            question = form(lines, session_title(call))
            if decision.place == "client" and call.can_ask_user(question):
                answer = await self._ask_user(call, question)
            else:
                answer = await self._console.ask(call, decision.rule, lines, _why(call, decision))
        self._judge(record, call, decision, answer)

    async def _ask_user(self, call: ServerCall, question: bytes) -> UserAnswer:
        try:
            return read_answer(await call.ask_user(question, ANSWER_SECONDS))
        except RequestTimeout:
            raise refused(call, NO_ANSWER) from None
        except WireError as error:
            told = error.message if isinstance(error, RemoteError) else str(error)
            reason = shorten(clean_text(told), MAX_REASON_CHARACTERS)
            raise refused(call, f"the client could not ask the user whether to allow it: {reason}") from None

    def _judge(
        self, record: CallRecord, call: ServerCall, decision: CallDecision, answer: UserAnswer
    ) -> None:
        """Note the answer of a person. Raises CallRefused if it is not an approval."""
        record.decision = msgspec.structs.replace(decision, by=answer.by)
        if answer.choice == "no":
            raise refused(call, DENIED if answer.by == "console" else NOT_ALLOWED)
        if answer.choice == "unreadable":
            raise refused(call, UNREADABLE)
        if answer.choice == "session":
            self._grants.add(call, decision.rule)

    @contextmanager
    def _counted(self, call: ServerCall) -> Iterator[None]:
        """Count a call that waits for an answer. Raises CallRefused if its principal has too many."""
        principal = call.principal
        if self._open[principal] >= (self._shares.limits.questions if principal else MAX_OPEN):
            raise refused(call, CROWDED)
        self._open[principal] += 1
        try:
            yield
        finally:
            self._open[principal] -= 1
            if not self._open[principal]:
                del self._open[principal]


def _why(call: ServerCall, decision: CallDecision) -> str:
    """Return why a person has to be asked in a terminal."""
    needed = "it needs an approval" + (f" ({decision.rule})" if decision.rule else "")
    if decision.place == "console":
        return f"{needed}, which has to be given in a terminal"
    if call.method == COMPLETION and call.caller.is_modern:
        return f"{needed}, and a completion leaves no room for a question to the user of the client"
    return f"{needed}, and this client cannot ask its user"
