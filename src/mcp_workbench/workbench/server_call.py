"""A call to a server, from its beginning at the door to its end.

Owns when a call is sent: at once if its server is ready, later if the server has to start or its turn has to
come, again if the server wants that. What an answer, a failure or a question means to whoever made the call
is decided in subclasses.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.conversation.call import Call
from mcp_workbench.errors import CallError, NotTaken
from mcp_workbench.protocol.binding import bind
from mcp_workbench.protocol.names import TOOLS_CALL
from mcp_workbench.wire.message import decode_members, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.door import CallRecord, Outcome
    from mcp_workbench.workbench.policy.approver import UserAnswer
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

    Meta = Mapping[str, msgspec.Raw]

_TOOL_NAME: Final = b',"method":"tools/call","params":{"name":'
_TOOL_ARGUMENTS: Final = b',"arguments":'

NO_LONGER_NEEDED: Final = "no longer needed"


class _CallState(Call, kw_only=True):
    record: CallRecord | None = None
    """The door's record of the call; None if nothing observes calls, or the call has not begun."""
    parent: int | None = None
    """The number of the call that this one continues, if a question was answered in between."""
    method: str = TOOLS_CALL
    """The MCP method of the request."""
    capability: Capability | None = None
    """What the server has to offer for the request; None for tools."""
    preparation: Callable[[], Awaitable[None]] | None = None
    """Work that has to be done before the call can be sent. It may raise CallError."""
    sources: tuple[Origin, ...] = ()
    """The servers whose kept results the arguments refer to."""
    may_forget_arguments: bool = False
    """Whether the arguments are dropped once they are sent, if no repetition can need them."""
    extra: tuple[bytes, ...] = ()
    """Members of a request that answers questions, each after a comma; for modern servers only."""
    rounds: int = 0
    """How often the call was made again because the server asked for that."""
    given: Body = b""
    """The arguments as the client wrote them, if references in them were replaced; else empty."""
    approval: UserAnswer | None = None
    """What a person has answered already to the question whether this call may be made."""
    undo: Callable[[str], None] | None = None
    """Withdraws the questions that the client is being asked while no server works on the call."""
    task: asyncio.Task[None] | None = None
    """What the call waits for while it is not sent: a decision, preparation, its server, its turn."""


class ServerCall(_CallState):
    """A call to one server for one client. It begins and ends once, however often it is sent."""

    view: ClientView
    toolbox_server: ToolboxServer
    name: str
    """The tool, the resource URI or the prompt, as the server knows it."""
    arguments: Body
    """The arguments of a tool, or all parameters but `_meta` of another request."""
    meta: Meta

    @property
    def origin(self) -> Origin:
        """The names of the toolbox and of the server."""
        return self.toolbox_server.origin

    @property
    def principal(self) -> str:
        """The name of the principal that the call is made for."""
        return self.view.principal.name

    @property
    def request_bytes(self) -> int:
        """The size of the arguments as JSON."""
        return len(self.arguments)

    @property
    def number(self) -> int | None:
        """The number of the call's record, if calls are recorded."""
        return None if self.record is None else self.record.number

    @property
    def tool(self) -> str | None:
        """The tool that the server must have; None if the request is not for a tool."""
        return self.name if self.capability is None else None

    @property
    def approved_by(self) -> str:
        """Who has approved the call, if that was needed and counts for a call that continues it."""
        decision = None if self.record is None else self.record.decision
        return "" if decision is None else decision.approved_by

    def bound(self) -> bytes:
        """Return the digest of the method, the server, the name and the arguments as the client wrote them.

        It ties a question to the call: a retry with the answer must have the same.
        """
        return bind(self.method, *self.origin, self.name, arguments=self.given or self.arguments)

    @property
    @abstractmethod
    def client_name(self) -> str:
        """The name that the client gives itself."""

    @abstractmethod
    def can_ask_user(self, question: bytes) -> bool:
        """Whether the client can ask its user before the call is sent; the parameters are a form's."""

    @abstractmethod
    async def ask_user(self, question: bytes, limit: float) -> msgspec.Raw:
        """Ask the client's user, and return the answer. `limit` is the timeout in seconds.

        Raises WireError if there is no answer, and CallRefused if the client has to make the call again with
        it.
        """

    @abstractmethod
    def on_restart(self) -> None:
        """Take note that this object stands for the call from now on: it is about to be sent again."""

    @abstractmethod
    def on_refusal(self, error: CallError) -> None:
        """Tell the client why the call was not sent."""

    @abstractmethod
    def on_not_offered(self) -> None:
        """Tell the client that the server does not offer what the request needs."""

    @abstractmethod
    def on_error(self, error: WireError) -> None:
        """Tell the client why there is no result."""

    @abstractmethod
    def on_fault(self) -> None:
        """Tell the client that the workbench itself failed, with the exception that is being handled."""

    def begin(self) -> None:
        """Begin the call: send it now if its server is ready, else when it is."""
        if not self.view.door.is_watched or self._pass_door():
            self.start()

    def _pass_door(self) -> bool:
        """Begin the record of the call and ask the deciders. Return whether the call may go on now."""
        door = self.view.door
        self.record = record = door.begin(self)
        if not door.has_deciders:
            return True
        try:
            hold = door.decide(record, self)
        except CallError as error:
            self.refuse(error)
            return False
        if hold is None:
            return True
        self.task = hold
        hold.add_done_callback(self._on_decided)
        return False

    def _on_decided(self, decision: asyncio.Task[None]) -> None:
        """Go on with a call that was held, or refuse it."""
        if self.task is not decision:
            return  # the call was cancelled meanwhile
        self.task = None
        try:
            decision.result()
            self._find_server()
            self.start()
        except CallError as error:
            self.refuse(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()

    def _find_server(self) -> None:
        """Take the server that is configured by now: one that is no longer would not be ended.

        Raises CallError.
        """
        self.toolbox_server = self.view.toolbox_server(*self.origin)

    def start(self) -> None:
        """Send the call as soon as its server takes it. The call has begun."""
        if self.preparation is None and (
            connection := self.toolbox_server.ready(self.tool, self.caller.is_modern, self.principal)
        ):
            self.send(connection)
        else:
            self.task = asyncio.create_task(self._start_later())

    def send(self, connection: Connection) -> None:
        """Send the call on a connection that takes it now. A call that has not begun begins here."""
        # On the hot path: no function calls that are not needed.
        view = self.view
        if self.record is None and view.door.is_watched and not self._pass_door():
            return
        self.task = None
        self.session = session = connection.session
        if view.principal.name:
            self.tally = connection.turns.tally(view.principal.name)
        arguments = self.arguments
        extra = self.extra if session.is_modern else ()
        head: tuple[Body, ...]
        if self.capability is None:
            head = (_TOOL_NAME, encode(self.name), _TOOL_ARGUMENTS, arguments, *extra)
            if self.may_forget_arguments and not (
                self.caller.is_modern or session.is_modern or session.may_repeat
            ):
                self.arguments = b""
        elif session.offer.has(self.capability):
            method = b',"method":"%b","params":' % self.method.encode()
            head = (method, memoryview(arguments)[:-1], *extra)
        else:
            if self.record is not None:
                self.record.close("refused", "NotOffered")
            self.on_not_offered()
            return
        if self.record is not None:
            self.record.is_sent = True
        session.call(self, head, self.meta, connection.timeout, size=len(arguments))

    def deliver(self, result: msgspec.Raw) -> None:
        """End the call with a result that no connection has brought."""
        self.task = None
        if self.record is not None:
            self.record.is_sent = True
        self.on_result(result, None)
        if self.record is not None:
            self.record.answered(result)

    async def _start_later(self) -> None:
        try:
            if self.preparation is not None:
                await self.preparation()
                self.preparation = None
                self._find_server()
            await self.toolbox_server.take(self)
        except CallError as error:
            self.refuse(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()

    def refuse(self, error: CallError) -> None:
        """End the call before it was sent."""
        self.task = None
        if self.record is not None:
            self.record.failed(error)
        self.on_refusal(error)

    def end_with_question(self) -> None:
        """End the call: the client was answered with a question, and makes a new call with the answer."""
        if self.record is not None:
            self.record.close("asked")

    def fault(self) -> None:
        """End the call because the workbench itself failed, with the exception that is being handled."""
        self.task = None
        self.end_with_fault()
        self.on_fault()

    def end_with_fault(self) -> None:
        """End the call: the workbench itself failed, and the client was told so."""
        if self.record is not None:
            self.record.close("failed", "InternalError")

    def on_failure(self, error: WireError) -> None:
        """End the call, which was sent and gets no result."""
        try:
            self.on_error(error)
            # Afterwards: the client may have been told by a question, and then the call did not fail.
            if self.record is not None:
                self.record.failed(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fault()

    def fail(self, error: WireError) -> None:
        """End the call, or send it again with the arguments that it has dropped."""
        if isinstance(error, NotTaken) and error.params is not None and not self.arguments:
            self.arguments = decode_members(error.params)["arguments"]
        super().fail(error)

    def again(self, *fields: bytes) -> None:
        """Send the call once more, with these members in addition. A server that ended is started again."""
        extra = tuple(b",%b" % field for field in fields)
        self._restart(
            msgspec.structs.replace(self, extra=extra, rounds=self.rounds + 1, inquiries=None, undo=None)
        )

    def repeat(self) -> None:
        """Send the call anew to a server that has not looked at it."""
        self._restart(msgspec.structs.replace(self, inquiries=None, is_repeated=True))

    def _restart(self, call: ServerCall) -> None:
        """Send a copy of this call to the server that is configured by now."""
        call.on_restart()
        try:
            call._find_server()
        except CallError as error:
            call.refuse(error)
        else:
            call.start()

    def cancel(self, reason: str = NO_LONGER_NEEDED, outcome: Outcome = "cancelled") -> None:
        """End the call without an answer, and tell the server that it need not go on."""
        if self.record is not None:
            self.record.close(outcome)
        if self.undo is not None:
            self.undo(reason)
        if self.task is not None:
            self.task.cancel()
            self.task = None
        if self.is_sent:
            super().cancel(reason)
