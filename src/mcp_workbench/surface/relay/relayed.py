"""Requests of a client that a server answers, and how their outcomes are told to the client."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from mcp_workbench.errors import BadAnswer, CallRefused, RemoteError
from mcp_workbench.protocol.binding import bind
from mcp_workbench.protocol.names import (
    ELICITATION,
    INVALID_PARAMS,
    META_CLIENT,
    META_PROGRESS,
    MISSING_CAPABILITY,
    TOOLS_CALL,
    URL_ELICITATION_REQUIRED,
)
from mcp_workbench.protocol.results import TAIL_BYTES, find_error
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.links import LONG_BYTES, SHORT_BYTES, find_key, may_hold_uris, note_uris
from mcp_workbench.surface.relay.metadata import log_line, passed_on
from mcp_workbench.surface.relay.progress import Progress
from mcp_workbench.surface.requests import progress_token
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.server_call import NO_LONGER_NEEDED, ServerCall

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Pushed
    from mcp_workbench.errors import CallError, WireError
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.surface.relay.in_flight import RequestsInFlight
    from mcp_workbench.wire.message import Body, Id
    from mcp_workbench.workbench.door import Outcome

MAX_KEPT_CALLS: Final = 256
"""Calls of one client that keep their arguments, so that a failure can be explained with them."""
MAX_KEPT_BYTES: Final = 64 * 1024
"""Bytes of the longest arguments that are kept. Longer ones would not be checked against the schema."""


RETRIED_METHODS: Final = (TOOLS_CALL, "resources/read", "prompts/get")
"""Requests that the modern protocol lets a server answer with a question."""


class AnswerNeeded(CallRefused):
    """A modern client has to ask its user first, and then make the call again with the answer."""

    def __init__(self, call: RelayedRequest, question: bytes, limit: float) -> None:
        self.question = question
        self.limit = limit
        toolbox, server = call.origin
        super().__init__(call.name, server, toolbox, "its user has to be asked first")


class RelayedRequest(ServerCall):
    """A client's request that a server answers. The answer is rendered for the client's protocol version."""

    requests: RequestsInFlight
    """All requests in flight of the client, this one among them."""
    request_id: Id
    progress: Progress | None = None
    """The progress reports of the request; None if there were none."""
    has_noted_uris: bool = False
    """Whether the resource URIs in the result have been noted."""
    is_cacheable: ClassVar[bool] = False
    """Whether a modern client is told how long it may keep the result."""

    @property
    def is_heard(self) -> bool:
        """Whether the client waits for the answer at this moment."""
        return self.request_id in self.requests

    @property
    def client(self) -> object:
        """The client's requests in flight, which identify the client: one object for all of its requests."""
        return self.requests

    @property
    def client_name(self) -> str:
        """The name that the client gives itself."""
        # Not by `name_of`: a step less for every call.
        info = self.meta.get(META_CLIENT)
        callers = self.requests.callers
        if info is None:
            return callers.legacy_name
        # Nearly all requests of a client say the same.
        return callers.modern_name if info == callers.client_info else callers.read_name(info)

    @property
    def conversation(self) -> object:
        """What a question belongs to: all requests of a legacy client, or this request of a modern one."""
        return self if self.caller.is_modern else self.requests

    @abstractmethod
    def explain(self, error: WireError) -> None:
        """Tell the client why the request failed."""

    def can_ask_user(self, question: bytes) -> bool:
        """Whether the client has declared forms, a person answers, and the request can wait for that."""
        caller = self.caller
        can_wait = self.method in RETRIED_METHODS or not caller.is_modern
        return can_wait and caller.is_attended and caller.lack(ELICITATION, msgspec.Raw(question)) is None

    async def ask_user(self, question: bytes, limit: float) -> msgspec.Raw:
        """Ask the user of a legacy client. A modern one is answered with the question: raises CallRefused."""
        if self.caller.is_modern:
            raise AnswerNeeded(self, question, limit)
        return await self.requests.bridge.ask_user(self, question, limit)

    def refuse(self, error: CallError) -> None:
        """End the request before it was sent: with an error, or with a question that comes before it."""
        if isinstance(error, AnswerNeeded):
            self.task = None
            self.requests.bridge.ask_before_call(self, error.question, error.limit)
        else:
            super().refuse(error)

    def on_restart(self) -> None:
        """Register this object as the client's request, in the place of the one that was sent before."""
        self.requests.replace(self)

    def on_fault(self) -> None:
        """Answer with an internal error, and log the exception that is being handled."""
        self.requests.fail(self.request_id)

    def with_advice(self, result: msgspec.Raw) -> msgspec.Raw:
        """Return a result that may be an error, with advice for the model if there is any."""
        return result

    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:
        """Answer with the result, after its URIs have been noted and a large one has been shortened."""
        try:
            size = len(result)
            may_hold_links = find_key if size <= SHORT_BYTES else may_hold_uris
            is_done = self.has_noted_uris or self.lacks_watched
            if not is_done and (size > LONG_BYTES or may_hold_links(result)):
                self.has_noted_uris = True
                note_uris(self, result, stamps)  # calls `on_result` again
                return
            if size > self.toolbox_server.inline_limit and self.set_aside(result, stamps):
                return
            if self.progress is not None:
                self.progress.end()
            if find_error(result, max(size - TAIL_BYTES, 0)):
                result = self.with_advice(result)
            if self.caller.is_modern:
                stamped = stamping.modern_result(result, stamps, is_cacheable=self.is_cacheable)
                self.requests.answer(self.request_id, *stamped)
            else:
                self.requests.answer(self.request_id, result)
        except BadAnswer as error:
            self.on_failure(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()

    def set_aside(self, result: msgspec.Raw, stamps: Stamps | None) -> bool:  # noqa: ARG002 - see ToolCall
        """Keep a large result, and answer with a short one. Return whether that is done."""
        return False

    def on_error(self, error: WireError) -> None:
        """Tell the client why there is no result, or which URL its user must open before it retries."""
        if self.progress is not None:
            self.progress.end()
        if not (isinstance(error, RemoteError) and self._sends_user(error)):
            self.explain(error)

    def _sends_user(self, error: RemoteError) -> bool:
        needs_url = error.code == URL_ELICITATION_REQUIRED and not self.session.is_modern
        return needs_url and self.requests.bridge.send_user(self, error)

    def on_question(self, question: Pushed) -> None:
        """Ask the client what a legacy server wants to know in the middle of the call."""
        try:
            self.requests.bridge.ask(self, question)
        except Exception:  # noqa: BLE001 - the client must get an answer, and the server too
            self.fault()
            self.cancel()

    def on_input_required(self, required: InputRequired) -> None:
        """Ask the client what a modern server wants to know before the call is made again."""
        try:
            self.requests.bridge.ask_before_retry(self, required)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()
            self.cancel()

    def ask_back(self, *result: Body) -> None:
        """Answer a modern client with a question, which ends the client's request."""
        if self.progress is not None:
            self.progress.end()
        self.requests.answer(self.request_id, *result)

    def cancel(self, reason: str = NO_LONGER_NEEDED, outcome: Outcome = "cancelled") -> None:
        """End the request without an answer."""
        if self.progress is not None:
            self.progress.drop()
        super().cancel(reason, outcome)

    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """Report progress under the client's own token, if it gave one."""
        if (token := progress_token(self.meta)) is not None and self.is_heard:
            if self.progress is None:
                self.progress = Progress(partial(self.requests.report, self.request_id))
            self.progress.report(encode({**passed_on(members), META_PROGRESS: token}))

    def on_log(self, members: dict[str, msgspec.Raw]) -> None:
        """Send the client a log message of the server, marked with the server's name."""
        self.requests.output.about(self.request_id)(log_line(self.session, members))


class ToolCall(RelayedRequest):
    """A client's call of a server's tool."""

    is_short: bool = False
    """Whether the result has been shortened already."""
    binding: ClassVar[str] = TOOLS_CALL
    """What ties a `requestState` to calls that are made in this way, and in no other."""

    def set_aside(self, result: msgspec.Raw, stamps: Stamps | None) -> bool:
        """Keep a large result for the client to read in parts, and answer with a short one."""
        client_results = self.requests.client_results
        if self.is_short or client_results is None or self.caller.is_program:
            return False
        from mcp_workbench.surface.kept.shortening import keep  # noqa: PLC0415 - few configurations need it

        self.is_short = True
        return keep(self, result, stamps, client_results)

    def on_refusal(self, error: CallError) -> None:
        """Tell the model why the tool was not called, in a result with `isError`."""
        self.requests.refuse(self.request_id, error, self.caller)

    def on_not_offered(self) -> None:
        """Raise AssertionError: tools need no capability, so this is never called."""
        raise AssertionError(self.name)

    def bound(self) -> bytes:
        """Return the digest of the way to call, the server, the tool and the arguments as written."""
        return bind(self.binding, *self.origin, self.name, arguments=self.given or self.arguments)

    def explain(self, error: WireError) -> None:
        """Tell the model why the call failed; a missing capability of a modern client is a JSON-RPC error."""
        are_modern = self.caller.is_modern and self.session.is_modern
        if are_modern and isinstance(error, RemoteError) and error.code == MISSING_CAPABILITY:
            self.requests.fail_with(self.request_id, self.toolbox_server.masked(error))
            return
        hint = ""
        if isinstance(error, RemoteError):
            from mcp_workbench.surface.relay import advice  # noqa: PLC0415 - few calls fail

            is_refused = error.code == INVALID_PARAMS
            hint = advice.advice_on(
                self.toolbox_server, self.name, self.arguments, error.message, is_refused=is_refused
            )
        self.requests.refuse(
            self.request_id,
            self.toolbox_server.explain(self.name, error, self.session),
            self.caller,
            hint,
        )

    def with_advice(self, result: msgspec.Raw) -> msgspec.Raw:
        """Return the result with the tool's input schema, if it is an error and the arguments do not fit."""
        if self.caller.is_program:
            return result
        from mcp_workbench.surface.relay import advice  # noqa: PLC0415 - few calls fail

        return advice.with_advice(self.toolbox_server, self.name, self.arguments, result)
