"""Requests of a client that a server answers, while they are in flight."""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from mcp_workbench.downstream.conversation.call import Call
from mcp_workbench.errors import BadAnswer, NotTaken, RemoteError
from mcp_workbench.protocol.names import (
    INVALID_PARAMS,
    META_PROGRESS,
    MISSING_CAPABILITY,
    URL_ELICITATION_REQUIRED,
)
from mcp_workbench.surface.questions.sealing import bind
from mcp_workbench.surface.relay import results
from mcp_workbench.surface.relay.links import LONG_BYTES, SHORT_BYTES, find_key, follow, may_hold_uris
from mcp_workbench.surface.relay.metadata import log_line, passed_on
from mcp_workbench.surface.relay.progress import Progress
from mcp_workbench.surface.requests import progress_token
from mcp_workbench.wire.message import decode_members, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.inquiry import Inquiry
    from mcp_workbench.errors import CallError, WireError
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.surface.relay.calls import Calls
    from mcp_workbench.surface.requests import Meta
    from mcp_workbench.wire.message import Body, Id
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

_NAME: Final = b',"method":"tools/call","params":{"name":'
_ARGUMENTS: Final = b',"arguments":'

_find_error: Final = re.compile(rb'"isError"\s*+:\s*+true').search
TAIL: Final = 1024
"""Bytes at the end of a result in which it is looked for: all SDKs have it after the content."""

MOST_KEPT: Final = 256
"""Calls of one client that keep their arguments, to explain a failure with."""
LONGEST_KEPT: Final = 64 * 1024
"""Bytes of the arguments of each. Longer ones would not be looked at."""


class RelayedRequest(Call):
    """A request that one server answers for one client."""

    calls: Calls
    request_id: Id
    toolbox_server: ToolboxServer
    name: str
    """What is asked for, as the server knows it."""
    arguments: Body
    """Given up once they are sent, where the request cannot have to be made or recognised again."""
    meta: Meta
    extra: tuple[bytes, ...] = ()
    """Members that only a request has that answers questions, each after a comma; for modern servers."""
    rounds: int = 0
    """How often it was made again."""
    undo: Callable[[str], None] | None = None
    """Takes back what its client is being asked while no server works on it."""
    progress: Progress | None = None
    """What was reported of it, if anything."""
    is_followed: bool = False
    """Whether the resource URIs in its result have been looked at."""
    is_cacheable: ClassVar[bool] = False
    """Whether a modern client is told how long it may keep the result."""

    @property
    def is_heard(self) -> bool:
        """Whether its client waits for it at this moment."""
        return self.request_id in self.calls

    @property
    def client(self) -> object:
        """All its calls have the same."""
        return self.calls

    @property
    def principal(self) -> str:
        """The principal of its client."""
        return self.calls.principal

    @property
    def conversation(self) -> object:
        """A legacy client is asked as such; a modern one in the answer to one of its requests."""
        return self if self.caller.is_modern else self.calls

    @property
    @abstractmethod
    def tool(self) -> str | None:
        """The tool that the server has to have for it."""

    @abstractmethod
    def send(self, connection: Connection) -> None:
        """Makes the request."""

    @abstractmethod
    def refuse(self, error: CallError) -> None:
        """It cannot be made."""

    @abstractmethod
    def explain(self, error: WireError) -> None:
        """It was made, and has failed."""

    @abstractmethod
    def bound(self) -> bytes:
        """Stands for the request, in the state that a modern client brings back with it."""

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
            if _find_error(result, max(size - TAIL, 0)):
                result = self.advised(result)
            if self.caller.is_modern:
                stamped = results.modern(result, stamps, is_cacheable=self.is_cacheable)
                self.calls.answer(self.request_id, *stamped)
            else:
                self.calls.answer(self.request_id, result)
        except BadAnswer as error:
            self.on_failure(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.calls.fail(self.request_id)

    def set_aside(self, result: msgspec.Raw, stamps: Stamps | None) -> bool:  # noqa: ARG002 - see Use
        """Has a result made short that is too large to be passed on. Whether that is done."""
        return False

    def on_failure(self, error: WireError) -> None:
        """Says what went wrong, or what is to be done first."""
        try:
            if self.progress is not None:
                self.progress.end()
            if not (isinstance(error, RemoteError) and self._sends_user(error)):
                self.explain(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.calls.fail(self.request_id)

    def _sends_user(self, error: RemoteError) -> bool:
        wants_visit = error.code == URL_ELICITATION_REQUIRED and not self.session.is_modern
        return wants_visit and self.calls.bridge.send_user(self, error)

    def on_inquiry(self, inquiry: Inquiry) -> None:
        """Asks the client."""
        try:
            self.calls.bridge.ask(self, inquiry)
        except Exception:  # noqa: BLE001 - the client must get an answer, and the server too
            self.calls.fail(self.request_id)
            self.cancel()

    def ask_back(self, *result: Body) -> None:
        """Answers a modern client with a question, which ends the request as far as it is concerned."""
        if self.progress is not None:
            self.progress.end()
        self.calls.answer(self.request_id, *result)

    def again(self, *fields: bytes) -> None:
        """Makes it once more. The server may have ended since, and is started then."""
        self.undo = None
        extra = tuple(b",%b" % field for field in fields)
        once_more = msgspec.structs.replace(self, extra=extra, rounds=self.rounds + 1, inquiries=None)
        self.calls.start_again(once_more)

    def repeat(self) -> None:
        """Makes it anew, of a server that has not looked at it."""
        if self.is_heard:
            self.calls.start_again(msgspec.structs.replace(self, inquiries=None, is_repeated=True))

    def cancel(self, reason: str = "no longer needed") -> None:
        """The client does not want it any more."""
        if self.progress is not None:
            self.progress.drop()
        if self.undo is not None:
            self.undo(reason)
        super().cancel(reason)

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
    """A call of a server's tool."""

    is_short: bool = False
    """Whether its result is as short as it can be made."""
    given: Body = b""
    """Its arguments as the client has written them, if references in them have been replaced."""

    @property
    def tool(self) -> str:
        """That one."""
        return self.name

    def send(self, connection: Connection) -> None:
        """Calls the tool."""
        self.session = session = connection.session
        if self.calls.principal:
            self.tally = connection.turns.tally(self.calls.principal)
        arguments = self.arguments
        if not (self.caller.is_modern or session.is_modern or session.may_repeat) and (
            len(arguments) > LONGEST_KEPT or len(self.calls.in_flight) > MOST_KEPT
        ):
            self.arguments = b""
        extra = self.extra if session.is_modern else ()
        head = (_NAME, encode(self.name), _ARGUMENTS, arguments, *extra)
        session.call(self, head, self.meta, connection.timeout, size=len(arguments))

    def set_aside(self, result: msgspec.Raw, stamps: Stamps | None) -> bool:
        """Keeps what is large in it, for the client to read in parts."""
        client_results = self.calls.client_results
        if self.is_short or client_results is None:
            return False
        from mcp_workbench.surface.kept.shortening import keep  # noqa: PLC0415 - most configurations do not want it

        self.is_short = True
        return keep(self, result, stamps, client_results)

    def fail(self, error: WireError) -> None:
        """Ends it, or makes it anew, for which it needs again what it has given up."""
        if isinstance(error, NotTaken) and error.params is not None and not self.arguments:
            self.arguments = decode_members(error.params)["arguments"]
        super().fail(error)

    def refuse(self, error: CallError) -> None:
        """Says so to the model."""
        self.calls.refuse(self.request_id, error, self.caller)

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
