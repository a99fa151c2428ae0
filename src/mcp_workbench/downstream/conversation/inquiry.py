"""What a server asks of the client in the middle of a call, in one form for both protocol versions.

A legacy server sends a request and waits, with the call in flight. A modern server ends the call and expects
it again, with the answers. In both cases there are questions by name, and answers by the same names or a
reason why there are none. How the client is asked is decided in `surface.questions`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mcp_workbench.errors import BadAnswer, InputMissing
from mcp_workbench.protocol.names import INTERNAL_ERROR
from mcp_workbench.protocol.questions import Question, retry_fields
from mcp_workbench.wire.message import ABSENT, decode_text, error_line, result_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.downstream.conversation.call import Call
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.wire.message import Id

    Answers = Mapping[str, msgspec.Raw]

UNREADABLE: Final = "it asks for input in a form that could not be read: {}"


class Inquiry(Protocol):
    """The questions of a server in the middle of a call."""

    session: Session
    questions: Mapping[str, Question]
    on_withdrawn: Callable[[str], None] | None = None
    """Called with a reason when the questions of a legacy server need no answer any more."""

    @abstractmethod
    def answer(self, answers: Answers) -> None:
        """Give the server the answers by name. Names that were not asked for are ignored."""

    @abstractmethod
    def refuse(self, code: int, reason: str, data: object = msgspec.UNSET) -> None:
        """Tell the server that there will be no answers, and why."""


class Pushed(Inquiry):
    """A request of a legacy server, which waits for its answer with the call still in flight."""

    def __init__(self, session: Session, request_id: Id, asked: Question, calls: list[Call]) -> None:
        self.session = session
        # Found at once: with a thousand calls and a thousand questions, each may be about all of them.
        self.calls = dict.fromkeys(calls)
        """The calls that the question may be about. Their time-outs are suspended while it is open."""
        self.is_certain = len(calls) == 1
        """Whether the question can only be about one call."""
        self._id = request_id
        self._name = str(request_id)
        self.questions = {self._name: asked}
        for call in calls:
            call.inquiries = call.inquiries or {}
            call.inquiries[self] = None
            if self.is_certain:
                call.touch()
                session.peer.hold(call)
            elif call.held_for < session.input_timeout:
                # A question about another call is no sign of life: it must not suspend this one for ever.
                session.peer.hold(call)

    def answer(self, answers: Answers) -> None:
        """Answer the server's request, if it is still open."""
        if self._end():
            self.session.reply(result_line(self._id, answers[self._name]), is_owed=True)

    def refuse(self, code: int, reason: str, data: object = msgspec.UNSET) -> None:
        """Answer the server's request with an error, if it is still open."""
        if self._end():
            self.session.reply(error_line(self._id, code, reason, data), is_owed=True)

    def withdraw(self, reason: str, *, by_server: bool) -> None:
        """Withdraw the question: the server or the end of the call has made the answer useless."""
        told = self.on_withdrawn
        if by_server:
            self._end()
        else:
            # JSON-RPC demands a response even if nothing waits for it.
            self.refuse(INTERNAL_ERROR, reason)
        if told is not None:
            told(reason)

    def leave(self, call: Call) -> None:
        """Take note that a call which the question may be about has ended."""
        if self.calls.keys() == {call}:
            self.withdraw("the call that this was asked for has ended", by_server=False)
        else:
            self.calls.pop(call, None)

    def _end(self) -> bool:
        """Resume the time-outs of the calls. Return whether the question was still open."""
        for call in self.calls:
            inquiries = call.inquiries or {}
            inquiries.pop(self, None)
            if not inquiries:
                self.session.peer.release(call)
        return self.session.pushed.pop(self._id, None) is self


class InputRequired(Inquiry):
    """The result of a modern server that wants the call again, with answers and with its own state.

    Raises BadAnswer.
    """

    def __init__(self, call: Call, result: msgspec.Raw) -> None:
        found = _read_result(result)
        self.questions = found.requests
        self.state = found.state
        """The server's own state, which it expects back with the answers; empty if there is none."""
        self.result = result
        """The whole result as the server sent it."""
        self.session = call.session
        self._call = call

    def answer(self, answers: Answers) -> None:
        """Send the call again, with the answers."""
        self._call.again(*retry_fields(answers if self.questions else None, self.state))

    def refuse(self, code: int, reason: str, data: object = msgspec.UNSET) -> None:  # noqa: ARG002 - Inquiry
        """End the call: the server does not get its input."""
        self._call.on_failure(InputMissing(f"it asked for input, and got none: {reason}"))


class _Result(msgspec.Struct):
    requests: dict[str, Question] = msgspec.field(default_factory=dict, name="inputRequests")
    state: msgspec.Raw = msgspec.field(default=ABSENT, name="requestState")


_decode_result = msgspec.json.Decoder(_Result).decode


def _read_result(result: msgspec.Raw) -> _Result:
    try:
        found = _decode_result(result)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(UNREADABLE.format(error)) from None
    if found.state and decode_text(found.state) is None:
        raise BadAnswer(UNREADABLE.format("its `requestState` is not a string"))
    if not (found.requests or found.state):
        raise BadAnswer(UNREADABLE.format("it has neither `inputRequests` nor `requestState`"))
    return found
