"""A call that a program makes and awaits. It passes the same door as the calls of MCP clients."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, ExecutionFailed, RemoteError
from mcp_workbench.library.typed_results import read_progress, read_result
from mcp_workbench.protocol.caller import modern_caller
from mcp_workbench.protocol.names import METHOD_NOT_FOUND
from mcp_workbench.surface.questions.bridge import repeat_later
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.server_call import NO_LONGER_NEEDED, ServerCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Pushed
    from mcp_workbench.errors import CallError, WireError
    from mcp_workbench.library.typed_results import CallResult, ProgressReport
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.workbench.door import Outcome

    OnProgress = Callable[[ProgressReport], object]

PROGRAM: Final = modern_caller(msgspec.Raw(b"{}"), None)
"""The program that makes the calls, as servers see it: a modern client that cannot be asked for anything."""

NOT_ASKABLE: Final = "the client is a program that cannot be asked for anything"
CLOSED: Final = "the workbench was closed while the call was in flight"


class PendingCall:
    """The result that a program waits for, however often the call has to be sent."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self.result: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        self.call: AwaitedCall | None = None
        """The object that stands for the call at the moment."""
        self._on_progress = on_progress

    def succeed(self, result: CallResult) -> None:
        """End the wait with a result."""
        if not self.result.done():
            self.result.set_result(result)

    def fail(self, error: BaseException) -> None:
        """End the wait with an exception."""
        if not self.result.done():
            self.result.set_exception(error)

    def report(self, report: ProgressReport) -> None:
        """Tell the program of progress. If its callback fails, so does the call."""
        if self._on_progress is None or self.result.done():
            return
        try:
            self._on_progress(report)
        except Exception as error:  # noqa: BLE001 - the program is told where it waits
            self.cancel()
            self.fail(error)

    def cancel(self, reason: str = NO_LONGER_NEEDED, outcome: Outcome = "cancelled") -> None:
        """Tell the server that nothing waits for the result any more."""
        if self.call is not None:
            self.call.cancel(reason, outcome)

    def close(self) -> None:
        """Cancel the call because the workbench is closed, and end the wait with ExecutionFailed."""
        self.cancel(CLOSED)
        if self.call is not None:
            toolbox, server = self.call.origin
            self.fail(ExecutionFailed(self.call.name, server, toolbox, CLOSED))


class AwaitedCall(ServerCall):
    """A program's call of a tool. The result is decoded, and failures are raised where it is awaited."""

    pending: PendingCall

    @property
    def is_heard(self) -> bool:
        """Whether the program still waits for the result."""
        return not self.pending.result.done()

    @property
    def client(self) -> object:
        """The view that all calls of the program share."""
        return self.view

    @property
    def client_name(self) -> str:
        """Return an empty name: a program does not introduce itself."""
        return ""

    def can_ask_user(self, question: bytes) -> bool:  # noqa: ARG002 - whatever the question
        """Return False: there is no user that a program could ask."""
        return False

    async def ask_user(self, question: bytes, limit: float) -> msgspec.Raw:
        """Raise AssertionError: a program cannot be asked, so this is never called."""
        raise AssertionError(question, limit)

    @property
    def conversation(self) -> object:
        """Return this call: a question belongs to no other."""
        return self

    def on_restart(self) -> None:
        """Let this object stand for the call from now on."""
        self.pending.call = self

    def on_refusal(self, error: CallError) -> None:
        """Raise the error where the call is awaited."""
        self.pending.fail(error)

    def on_not_offered(self) -> None:
        """Never called: every server may have tools."""
        raise AssertionError(self.name)

    def on_fault(self) -> None:
        """Raise the exception that is being handled where the call is awaited."""
        self.pending.fail(sys.exc_info()[1] or RuntimeError("a bug in the workbench"))

    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:  # noqa: ARG002 - ServerCall
        """Decode the result for the program."""
        try:
            self.pending.succeed(read_result(result))
        except BadAnswer as error:
            self.on_failure(error)

    def on_error(self, error: WireError) -> None:
        """Raise ExecutionFailed where the call is awaited, with the cause if no secret is in it."""
        toolbox_server = self.toolbox_server
        failure = toolbox_server.explain(self.name, error, self.session)
        if isinstance(error, RemoteError):
            failure.__cause__ = toolbox_server.masked(error)
        elif not toolbox_server.holds_secret(str(error).encode()):
            failure.__cause__ = error
        self.pending.fail(failure)

    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """Tell the program of progress."""
        if (report := read_progress(encode(members))) is not None:
            self.pending.report(report)

    def on_log(self, members: dict[str, msgspec.Raw]) -> None:
        """Do nothing: a program asks for no log messages."""

    def on_question(self, question: Pushed) -> None:
        """Refuse what a legacy server asks in the middle of the call. The call goes on."""
        question.refuse(METHOD_NOT_FOUND, NOT_ASKABLE)

    def on_input_required(self, required: InputRequired) -> None:
        """Refuse what a modern server asks, which ends the call. Repeat a call if that is all it wants."""
        if required.questions:
            required.refuse(METHOD_NOT_FOUND, NOT_ASKABLE)
        else:
            repeat_later(self, required)
