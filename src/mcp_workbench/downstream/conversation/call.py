"""A client's request to a server while it is in flight: its ends, and the questions in the middle of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mcp_workbench.downstream.conversation.inquiry import InputRequired
from mcp_workbench.errors import BadAnswer, NotTaken, RequestTimeout, TooLong
from mcp_workbench.protocol.names import METHOD_NOT_FOUND
from mcp_workbench.protocol.results import Stamps, read_stamps
from mcp_workbench.wire.message import OBJECT, QUOTED_LIMIT, decode_text
from mcp_workbench.wire.request import Request

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.inquiry import Pushed
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError
    from mcp_workbench.protocol.caller import Caller

_COMPLETE: Final = msgspec.Raw(b'"complete"')


class EndRecord(Protocol):
    """Where the end of a call is noted."""

    def answered(self, result: msgspec.Raw) -> None:
        """Note that the server returned a result."""


class _Passed(Request, kw_only=True):
    record: EndRecord | None = None
    """Where the end of the call is noted, if anything observes calls."""
    session: Session = msgspec.UNSET  # type: ignore[assignment] # a call is sent before anything else
    """The conversation that the call was sent on; set when it is sent."""
    inquiries: dict[Pushed, None] | None = None
    """The questions of the server in this call that are not answered yet; None if it has asked nothing."""
    is_repeated: bool = False
    """Whether the call was sent a second time, because the server ignored the first request."""


class Call(_Passed):
    """A request to a server for a client. Subclasses decide what a result, a failure or a question leads to.

    Exactly one of `on_result` and `on_failure` is called, unless the call is cancelled.
    """

    caller: Caller

    @property
    def is_sent(self) -> bool:
        """Whether the call was ever sent to its server."""
        return self.session is not msgspec.UNSET  # type: ignore[comparison-overlap] # see above

    @property
    def is_waiting(self) -> bool:
        """Whether the server waits for an answer that can only be about this call."""
        return any(inquiry.is_certain for inquiry in self.inquiries or ())

    @property
    @abstractmethod
    def conversation(self) -> object:
        """What a question in this call is put to: the same object for all calls that share a conversation."""

    @property
    @abstractmethod
    def client(self) -> object:
        """The client that makes the call: the same object for all of its calls."""

    @property
    @abstractmethod
    def principal(self) -> str:
        """The name of the principal that makes the call."""

    @property
    @abstractmethod
    def is_heard(self) -> bool:
        """Whether the client waits for the answer at this moment."""

    @abstractmethod
    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:
        """Take the result as the server sent it; a modern one with its stamps, which are read already."""

    @abstractmethod
    def on_failure(self, error: WireError) -> None:
        """Take the error of a call that gets no result."""

    @abstractmethod
    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """Take the members of a progress notification about this call."""

    @abstractmethod
    def on_log(self, members: dict[str, msgspec.Raw]) -> None:
        """Take the members of a log message that the client has asked for."""

    @abstractmethod
    def on_question(self, question: Pushed) -> None:
        """Ask the client what a legacy server wants to know. The call goes on when that is answered."""

    @abstractmethod
    def on_input_required(self, required: InputRequired) -> None:
        """Ask the client what a modern server wants to know. The call is made again when that is answered."""

    @abstractmethod
    def again(self, *fields: bytes) -> None:
        """Send the same call once more, with these members in addition."""

    @abstractmethod
    def repeat(self) -> None:
        """Send the same call again, unchanged."""

    def succeed(self, result: msgspec.Raw) -> None:
        """Take the server's response: a result, or the questions of a modern server."""
        session = self.session
        session.has_served = True
        if session.listeners.is_shared:
            session.attribution.end(self)
        if self.inquiries:
            self._leave_inquiries()
        if memoryview(result)[0] != OBJECT:
            self.on_failure(BadAnswer("its result is not an object"))
        elif session.is_modern:
            try:
                stamps = read_stamps(result)
                is_complete = stamps.result_type == _COMPLETE or not stamps.result_type
                inquiry = None if is_complete else self._read_incomplete(result, stamps)
            except BadAnswer as problem:
                self.on_failure(problem)
            else:
                if inquiry is None:
                    self.on_result(result, stamps)
                    if self.record is not None:
                        self.record.answered(result)
                elif session.rights is not None and (
                    refusal := session.rights.refusal(inquiry.questions.values())
                ):
                    inquiry.refuse(METHOD_NOT_FOUND, refusal)
                else:
                    self.on_input_required(inquiry)
        else:
            self.on_result(result, None)
            if self.record is not None:
                self.record.answered(result)

    def fail(self, error: WireError) -> None:
        """End the call with an error, and tell a server that may still work on it."""
        if self.session.listeners.is_shared:
            self.session.attribution.end(self)
        self._leave_inquiries()
        # A call whose client has yet to come back is not made anew: the client could not be told of it.
        if isinstance(error, NotTaken) and not self.is_repeated and self.is_heard:
            self.repeat()
            return
        rights = self.session.rights
        self.on_failure(error if rights is None else rights.explain(error))
        if isinstance(error, RequestTimeout):
            self.session.stop(self, "timed out")
            self.session.on_silence()
        elif isinstance(error, TooLong):
            # The line that is too long may never end.
            self.session.on_silence()

    def cancel(self, reason: str = "no longer needed") -> None:
        """End the call without telling the client, and tell the server that it need not go on."""
        if self.session.peer.find(self.id) is self:
            self.session.peer.forget(self)
            self.session.stop(self, reason)
        self._leave_inquiries()

    def _leave_inquiries(self) -> None:
        for inquiry in list(self.inquiries or ()):
            inquiry.leave(self)

    def _read_incomplete(self, result: msgspec.Raw, stamps: Stamps) -> InputRequired | None:
        kind = decode_text(stamps.result_type)
        if kind == "complete":
            return None
        if kind == "input_required":
            return InputRequired(self, result)
        shown = bytes(memoryview(stamps.result_type)[:QUOTED_LIMIT]).decode(errors="replace")
        raise BadAnswer(f"its result is of the unknown type {shown}")
