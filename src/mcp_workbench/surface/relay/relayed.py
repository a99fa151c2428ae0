"""Requests of a client that a server answers, while they are in flight."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from mcp_workbench.errors import BadAnswer, RemoteError
from mcp_workbench.protocol.names import (
    INVALID_PARAMS,
    META_PROGRESS,
    MISSING_CAPABILITY,
    URL_ELICITATION_REQUIRED,
)
from mcp_workbench.protocol.results import TAIL_BYTES, find_error
from mcp_workbench.surface.questions.sealing import bind
from mcp_workbench.surface.relay import results
from mcp_workbench.surface.relay.links import LONG_BYTES, SHORT_BYTES, find_key, follow, may_hold_uris
from mcp_workbench.surface.relay.metadata import log_line, passed_on
from mcp_workbench.surface.relay.progress import Progress
from mcp_workbench.surface.requests import progress_token
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.server_call import NO_LONGER_NEEDED, ServerCall

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Pushed
    from mcp_workbench.errors import CallError, WireError
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.surface.relay.calls import Calls
    from mcp_workbench.wire.message import Body, Id
    from mcp_workbench.workbench.door import Outcome

MAX_KEPT_CALLS: Final = 256
"""Calls of one client that keep their arguments, so that a failure can be explained with them."""
MAX_KEPT_BYTES: Final = 64 * 1024
"""Arguments of a call that are kept. Longer ones would not be checked against the schema."""


class RelayedRequest(ServerCall):
    """A client's request that a server answers. The answer is rendered for the client's protocol version."""

    calls: Calls
    request_id: Id
    progress: Progress | None = None
    """The progress that was reported of the request, if any."""
    is_followed: bool = False
    """Whether the resource URIs in the result have been looked at."""
    is_cacheable: ClassVar[bool] = False
    """Whether a modern client is told how long it may keep the result."""

    @property
    def is_heard(self) -> bool:
        """Whether the client waits for the answer at this moment."""
        return self.request_id in self.calls

    @property
    def client(self) -> object:
        """The calls of the client: the same object for all of its requests."""
        return self.calls

    @property
    def client_name(self) -> str:
        """The name that the client gives itself."""
        return self.calls.client_name(self.meta)

    @property
    def conversation(self) -> object:
        """What a question is put to: a legacy client as such, a modern one in the answer to a request."""
        return self if self.caller.is_modern else self.calls

    @abstractmethod
    def explain(self, error: WireError) -> None:
        """Tell the client why the request failed."""

    @abstractmethod
    def bound(self) -> bytes:
        """Return what identifies the request in the state that a modern client brings back with it."""

    def on_restart(self) -> None:
        """Answer the client's request with this object from now on."""
        self.calls.replace(self)

    def on_fault(self) -> None:
        """Answer with an internal error, and log the exception that is being handled."""
        self.calls.fail(self.request_id)

    def advised(self, result: msgspec.Raw) -> msgspec.Raw:
        """A result that may be an error, with what its client can do about that, if there is anything."""
        return result

    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:
        """Passes the result on as it came, unless it is to be made short first."""
        try:
            size = len(result)
            may_hold_links = find_key if size <= SHORT_BYTES else may_hold_uris
            is_done = self.is_followed or self.lacks_watched
            if not is_done and (size > LONG_BYTES or may_hold_links(result)):
                self.is_followed = True
                follow(self, result, stamps)  # which comes back here
                return
            if size > self.toolbox_server.inline_limit and self.set_aside(result, stamps):
                return
            if self.progress is not None:
                self.progress.end()
            if find_error(result, max(size - TAIL_BYTES, 0)):
                result = self.advised(result)
            if self.caller.is_modern:
                stamped = results.modern(result, stamps, is_cacheable=self.is_cacheable)
                self.calls.answer(self.request_id, *stamped)
            else:
                self.calls.answer(self.request_id, result)
        except BadAnswer as error:
            self.on_failure(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()

    def set_aside(self, result: msgspec.Raw, stamps: Stamps | None) -> bool:  # noqa: ARG002 - see Use
        """Has a result made short that is too large to be passed on. Whether that is done."""
        return False

    def on_error(self, error: WireError) -> None:
        """Tell the client why there is no result, or where to send its user before it tries again."""
        if self.progress is not None:
            self.progress.end()
        if not (isinstance(error, RemoteError) and self._sends_user(error)):
            self.explain(error)

    def _sends_user(self, error: RemoteError) -> bool:
        wants_visit = error.code == URL_ELICITATION_REQUIRED and not self.session.is_modern
        return wants_visit and self.calls.bridge.send_user(self, error)

    def on_question(self, question: Pushed) -> None:
        """Ask the client what a legacy server wants to know in the middle of the call."""
        try:
            self.calls.bridge.ask(self, question)
        except Exception:  # noqa: BLE001 - the client must get an answer, and the server too
            self.fault()
            self.cancel()

    def on_input_required(self, required: InputRequired) -> None:
        """Ask the client what a modern server wants to know before the call is made again."""
        try:
            self.calls.bridge.ask_before_retry(self, required)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()
            self.cancel()

    def ask_back(self, *result: Body) -> None:
        """Answer a modern client with a question, which ends the client's request."""
        if self.progress is not None:
            self.progress.end()
        self.calls.answer(self.request_id, *result)

    def cancel(self, reason: str = NO_LONGER_NEEDED, outcome: Outcome = "cancelled") -> None:
        """End the request without an answer."""
        if self.progress is not None:
            self.progress.drop()
        super().cancel(reason, outcome)

    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """Passes progress on under the caller's own token, or nowhere if the caller gave none."""
        if (token := progress_token(self.meta)) is not None and self.is_heard:
            if self.progress is None:
                self.progress = Progress(partial(self.calls.report, self.request_id))
            self.progress.report(encode({**passed_on(members), META_PROGRESS: token}))

    def on_log(self, members: dict[str, msgspec.Raw]) -> None:
        """Passes it on, with where it comes from."""
        self.calls.outlet.about(self.request_id)(log_line(self.session, members))


class ToolCall(RelayedRequest):
    """A client's call of a server's tool."""

    is_short: bool = False
    """Whether the result is as short as it can be made."""
    given: Body = b""
    """The arguments as the client wrote them, if references in them have been replaced."""

    def set_aside(self, result: msgspec.Raw, stamps: Stamps | None) -> bool:
        """Keeps what is large in it, for the client to read in parts."""
        client_results = self.calls.client_results
        if self.is_short or client_results is None:
            return False
        from mcp_workbench.surface.kept.shortening import keep  # noqa: PLC0415 - most configurations do not want it

        self.is_short = True
        return keep(self, result, stamps, client_results)

    def on_refusal(self, error: CallError) -> None:
        """Tell the model why the tool was not called, in a result with `isError`."""
        self.calls.refuse(self.request_id, error, self.caller)

    def on_not_offered(self) -> None:
        """Never called: every server may have tools."""
        raise AssertionError(self.name)

    def bound(self) -> bytes:
        """Stands for the tool and the arguments."""
        arguments = self.given or self.arguments
        return bind("tools/call", *self.session.origin, self.name, arguments=arguments)

    def explain(self, error: WireError) -> None:
        """Says what went wrong to the model; to a modern client itself, what it cannot do for the server."""
        are_modern = self.caller.is_modern and self.session.is_modern
        if are_modern and isinstance(error, RemoteError) and error.code == MISSING_CAPABILITY:
            self.calls.fail_with(self.request_id, self.toolbox_server.masked(error))
            return
        told = ""
        if isinstance(error, RemoteError):
            from mcp_workbench.surface.relay import advice  # noqa: PLC0415 - few calls fail

            is_refused = error.code == INVALID_PARAMS
            told = advice.advice_on(
                self.toolbox_server, self.name, self.arguments, error.message, is_refused=is_refused
            )
        self.calls.refuse(
            self.request_id,
            self.toolbox_server.explain(self.name, error, self.session),
            self.caller,
            told,
        )

    def advised(self, result: msgspec.Raw) -> msgspec.Raw:
        """With the tool's definition, if the arguments do not fit."""
        from mcp_workbench.surface.relay import advice  # noqa: PLC0415 - few calls fail

        return advice.advised(self.toolbox_server, self.name, self.arguments, result)
