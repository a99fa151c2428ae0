"""The door: the one place where calls to servers begin, and where it is known how each of them ended.

Every call passes it, whoever makes it: a client over stdio or HTTP, in either protocol version, or a program
that uses the library. The policy of the configuration and the deciders of a program may refuse a call or hold
it before anything is sent. Observers are told when a call begins and, exactly once, how it ended. Deciders
and observers are plain objects that the composition root passes in. Without any, no record is kept and a call
costs nothing more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import count
from typing import TYPE_CHECKING, Final, Literal, Protocol, runtime_checkable

import msgspec

from mcp_workbench.errors import (
    CallError,
    CallRefused,
    ExecutionFailed,
    Overloaded,
    RequestTimeout,
    ToolHeld,
    ToolNotFound,
)
from mcp_workbench.protocol.results import TAIL_BYTES, find_error, is_tool_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.policy import Action, AskPlace
    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

    EndCallback = Callable[["CallRecord", "CallEnd"], None]

Outcome = Literal[
    "answered",
    "tool_error",
    "asked",
    "failed",
    "refused",
    "cancelled",
    "timed_out",
    "client_gone",
]
"""How a call ended.

`answered`: the server returned a result. `tool_error`: it returned a result with `isError`. `asked`: the
client was answered with a question, and makes a new call with the answer. `failed`: the server or the
connection to it failed, or answered with an error. `refused`: nothing was sent, because a decider or the
workbench itself said no. `cancelled`: the client cancelled the request. `timed_out`: the
server did not answer in time. `client_gone`: the client left before the answer, or was disconnected because
the workbench ends.
"""

FAILED_OBSERVER: Final = "an observer of calls failed at the %s of %s"

_REFUSALS: Final = (CallRefused, ToolHeld, ToolNotFound)
"""The errors by which the policy refuses a call. Every other one is a fault."""

log = logging.getLogger(__name__)


class CallEnd(msgspec.Struct, frozen=True, gc=False):
    """How one call ended, how long it took and what came back."""

    outcome: Outcome
    error: str
    """The name of the error class, such as `ConnectionClosed`; empty if there was no error."""
    seconds: float
    """Time from the beginning of the call to its end, waiting for the server and for answers included."""
    response_bytes: int
    """Size of the server's result as JSON; 0 if there is none."""


class CallDecision(msgspec.Struct, frozen=True):
    """What the policy decided about one call, because of which rule, and who decided it."""

    action: Action
    rule: str
    """The rule that decided, for people: `"delete_*": "deny" of toolbox dev`. Empty if no rule matches."""
    by: str = "policy"
    """Who decided: `policy`, `user` (asked through the client), `session` (an earlier answer of the user) or
    `console` (a person in a terminal)."""
    place: AskPlace = "client"
    """Where a person is asked, if the action is `ask`."""

    @property
    def approved_by(self) -> str:
        """Who has approved the call for now, for another call that continues it; empty if nobody has."""
        return self.by if self.action == "ask" and self.by in ("user", "console") else ""


class CallRecord(msgspec.Struct, eq=False, gc=False):
    """One call as the door knows it, from its beginning to its end."""

    door: Door
    number: int
    """Counts the calls of this process, from 1 on."""
    method: str
    """The MCP method: `tools/call`, `resources/read`, `prompts/get` or `completion/complete`."""
    origin: Origin
    name: str
    """The tool, the resource URI or the prompt, as the server knows it."""
    principal: str
    """The name of the principal that makes the call; empty where clients are not authenticated."""
    client: str
    """The name that the client gives itself (`clientInfo.name`); empty if it gives none."""
    parent: int | None
    """The number of the call that this one continues, after a question that was answered."""
    begun_at: float
    """When the call began, in seconds since the epoch."""
    request_bytes: int
    """Size of the arguments as JSON."""
    started: float
    """When the call began, by the clock of the event loop."""
    is_sent: bool = False
    """Whether the server got the call. Before that, a tool's name is only what the client says."""
    end: CallEnd | None = None
    """How the call ended; None while it is in flight."""
    has_server: bool = True
    """Whether the server exists. If not, its name and that of the toolbox are only what the client says."""
    decision: CallDecision | None = None
    """What the policy decided; None if there is no policy."""
    arguments: Body | None = None
    """The arguments as JSON, if an observer needs them (`Door.keeps_arguments`)."""
    result: msgspec.Raw | None = None
    """The result of the server, if an observer needs it (`Door.keeps_results`)."""
    sources: tuple[Origin, ...] = ()
    """The servers whose kept results are handed to the server of this call."""

    @property
    def label(self) -> str:
        """The call's target as people write it: `toolbox/server/name`."""
        return "/".join((*self.origin, self.name))

    def answered(self, result: msgspec.Raw) -> None:
        """Note that the server returned a result."""
        # On the hot path of an observed call: no function calls that are not needed.
        size = len(result)
        may_be_error = find_error(result, max(size - TAIL_BYTES, 0)) or (
            size > TAIL_BYTES and find_error(result, 0, TAIL_BYTES)
        )
        outcome: Outcome = "tool_error" if may_be_error and is_tool_error(result) else "answered"
        if self.end is None:
            seconds = asyncio.get_running_loop().time() - self.started
            self.end = end = CallEnd(outcome, "", seconds, size)
            if self.door.keeps_results:
                self.result = result
            for on_end in self.door.on_end:
                try:
                    on_end(self, end)
                except Exception:
                    log.exception(FAILED_OBSERVER, "end", self.label)

    def failed(self, error: WireError | CallError) -> None:
        """Note that the call failed with this error, or was refused because of it."""
        cause = error.__cause__ if isinstance(error, ExecutionFailed) else None
        cause = error if cause is None else cause
        outcome: Outcome = "failed"
        if isinstance(cause, (RequestTimeout, TimeoutError)):
            outcome = "timed_out"
        elif (
            isinstance(cause, (CallError, Overloaded))
            and not isinstance(cause, ExecutionFailed)
            and not self.is_sent
        ):
            outcome = "refused"
        self.close(outcome, type(cause).__name__)

    def close(self, outcome: Outcome, error: str = "") -> None:
        """End the call without a result. Only the first end of a call counts, and only that is told."""
        if self.end is None:
            seconds = asyncio.get_running_loop().time() - self.started
            self.end = end = CallEnd(outcome, error, seconds, 0)
            for on_end in self.door.on_end:
                try:
                    on_end(self, end)
                except Exception:
                    log.exception(FAILED_OBSERVER, "end", self.label)


class Decider(Protocol):
    """Decides whether a call may be sent: a policy, a limit, a person."""

    def decide(self, record: CallRecord) -> Awaitable[None] | None:
        """Return None to let the call pass, or an awaitable to hold it until that is done.

        Raise CallRefused to refuse it, now or when awaited. The awaitable is for this call alone: it is
        cancelled when the call is.
        """


class CallPolicy(Protocol):
    """Decides by the rules of the configuration whether a call may be sent."""

    def decide(self, record: CallRecord, call: ServerCall) -> Awaitable[None] | None:
        """Decide about a call as a `Decider` does, and note the decision in its record.

        May also raise ToolNotFound and ToolHeld: a tool that is hidden does not exist for the client, and a
        person is not asked about a call that cannot be made.
        """

    def confirm(self, record: CallRecord, call: ServerCall) -> None:
        """Raise CallRefused if a call that was held is denied now, because the rules have changed."""

    @property
    def on_end(self) -> Callable[[CallRecord, CallEnd], None] | None:
        """What has to be told how calls end; None if the policy need not know."""

    def shown(self, toolbox_server: ToolboxServer, principal: Principal) -> ToolboxServer:
        """Return a server as a principal sees it: without the tools that are hidden from the principal."""


class Observer(Protocol):
    """Learns how every call ended: counters, a log, an audit, metrics."""

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        """Take note of how a call ended. This is called exactly once for each call."""


@runtime_checkable
class BeginObserver(Observer, Protocol):
    """An observer that also learns when a call begins, to show or trace calls in flight."""

    def on_begin(self, record: CallRecord) -> None:
        """Take note that a call has begun. It may still be refused."""


class BeginningCall(Protocol):
    """What the door has to know of a call that begins."""

    @property
    def method(self) -> str:
        """The MCP method of the request."""

    @property
    def origin(self) -> Origin:
        """The names of the toolbox and of the server."""

    @property
    def name(self) -> str:
        """The tool, the resource URI or the prompt."""

    @property
    def principal(self) -> str:
        """The name of the principal that makes the call."""

    @property
    def client_name(self) -> str:
        """The name that the client gives itself."""

    @property
    def parent(self) -> int | None:
        """The number of the call that this one continues."""

    @property
    def request_bytes(self) -> int:
        """The size of the arguments."""

    @property
    def arguments(self) -> Body:
        """The arguments of the request as JSON."""

    @property
    def sources(self) -> tuple[Origin, ...]:
        """The servers whose kept results the arguments refer to."""


class LostCall(msgspec.Struct, frozen=True):
    """A call to a toolbox or a server that does not exist, as the door has to know it."""

    method: str
    origin: Origin
    name: str
    principal: str
    client_name: str
    arguments: Body
    parent: int | None = None
    sources: tuple[Origin, ...] = ()

    @property
    def request_bytes(self) -> int:
        """The size of the arguments."""
        return len(self.arguments)


class Door:
    """Where the calls of all clients of one workbench begin and end."""

    def __init__(self, deciders: Sequence[Decider] = (), observers: Sequence[Observer] = ()) -> None:
        self._deciders = tuple(deciders)
        self.policy: CallPolicy | None = None
        """What decides by the rules of the configuration; None if it has no rules."""
        self._on_begin = tuple(it.on_begin for it in observers if isinstance(it, BeginObserver))
        self._observers: tuple[EndCallback, ...] = tuple(it.on_end for it in observers)
        self.on_end = self._observers
        """Told of each call that has ended, with its record and its end."""
        self._numbers = count(1)
        self.is_watched = bool(deciders or observers)
        """Whether there is anything to decide or to tell. If not, no records are made."""
        self.has_deciders = bool(deciders)
        """Whether a call may be refused or held."""
        self.keeps_arguments = False
        """Whether records have the arguments of their calls."""
        self.keeps_results = False
        """Whether records have the results of their calls."""

    def adopt(self, policy: CallPolicy | None) -> None:
        """Decide by this policy from now on; None if the configuration has no rules."""
        self.policy = policy
        self._watch(self._observers)

    def add_observer(self, observer: Observer) -> None:
        """Tell this observer too how calls end, from now on."""
        self._watch((*self._observers, observer.on_end))

    def remove_observer(self, observer: Observer) -> None:
        """Tell this observer no more of calls."""
        self._watch(tuple(on_end for on_end in self._observers if on_end != observer.on_end))

    def _watch(self, observers: tuple[EndCallback, ...]) -> None:
        """Tell these observers of calls, and the policy, whose limits count them."""
        self._observers = observers
        counting = None if self.policy is None else self.policy.on_end
        # First: an observer that fails is logged, and costs the limits nothing.
        self.on_end = observers if counting is None else (counting, *observers)
        self.has_deciders = self.policy is not None or bool(self._deciders)
        self.is_watched = self.has_deciders or bool(self.on_end)

    def turn_away(self, call: LostCall, error: CallError) -> None:
        """Tell the observers of a call to a server that does not exist: it begins, and is refused at once."""
        if self.is_watched:
            record = self.begin(call)
            record.has_server = False
            record.failed(error)

    def refuse_retry(self, call: LostCall, *, has_server: bool) -> None:
        """Tell the observers of a retry with a state that is not valid: it begins, and is refused at once."""
        if self.is_watched:
            record = self.begin(call)
            record.has_server = has_server
            record.close("refused", "StateRefused")

    def begin(self, call: BeginningCall) -> CallRecord:
        """Begin a call: make its record and tell the observers."""
        record = CallRecord(
            self,
            next(self._numbers),
            call.method,
            call.origin,
            call.name,
            call.principal,
            call.client_name,
            call.parent,
            time.time(),
            call.request_bytes,
            asyncio.get_running_loop().time(),
        )
        if self.keeps_arguments:
            record.arguments = call.arguments
        if call.sources:
            record.sources = call.sources
        for on_begin in self._on_begin:
            try:
                on_begin(record)
            except Exception:
                log.exception(FAILED_OBSERVER, "beginning", record.label)
        return record

    def decide(self, record: CallRecord, call: ServerCall) -> asyncio.Task[None] | None:
        """Ask the policy and then the deciders. None lets the call pass now; a task holds it until it ends.

        Raises CallRefused, or ToolNotFound for a hidden tool, and so may the task.
        """
        if self.policy is not None:
            hold = self._ask(record, self.policy.decide, record, call)
            if hold is not None:
                return self._hold(hold, self._deciders, record, call)
        for index, decider in enumerate(self._deciders):
            hold = self._ask(record, decider.decide, record)
            if hold is not None:
                return self._hold(hold, self._deciders[index + 1 :], record)
        return None

    def _hold(
        self,
        hold: asyncio.Future[None],
        others: Sequence[Decider],
        record: CallRecord,
        call: ServerCall | None = None,
    ) -> asyncio.Task[None]:
        """Wait for a decision, and then ask the others. The policy looks again at a call that it held."""
        decision = asyncio.create_task(self._decide_later(hold, others, record, call))
        # A task that is cancelled before its first step does not get to cancel what it waits for.
        decision.add_done_callback(lambda _: _drop(hold))
        return decision

    async def _decide_later(
        self,
        hold: asyncio.Future[None],
        others: Sequence[Decider],
        record: CallRecord,
        call: ServerCall | None,
    ) -> None:
        await self._wait(hold, record)
        if call is not None and self.policy is not None:
            self._ask(record, self.policy.confirm, record, call)
        for decider in others:
            if (another := self._ask(record, decider.decide, record)) is not None:
                await self._wait(another, record)

    def _ask(
        self, record: CallRecord, decide: Callable[..., Awaitable[None] | None], *about: object
    ) -> asyncio.Future[None] | None:
        try:
            hold = decide(*about)
            return None if hold is None else asyncio.ensure_future(hold)
        except _REFUSALS:
            raise
        except Exception as error:
            raise self._undecided(record) from error

    async def _wait(self, hold: asyncio.Future[None], record: CallRecord) -> None:
        try:
            await hold
        except _REFUSALS:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the call is cancelled, and not the decision alone
            raise self._undecided(record) from error
        except Exception as error:
            raise self._undecided(record) from error

    def _undecided(self, record: CallRecord) -> CallRefused:
        """A decider that fails refuses the call: rights never widen because of a fault."""
        log.exception("a decider failed on %s", record.label)  # noqa: LOG004 - of the caller's
        toolbox, server = record.origin
        return CallRefused(record.name, server, toolbox, "it could not be decided whether it is allowed")


def _drop(hold: asyncio.Future[None]) -> None:
    """Cancel a hold that nothing waits for any more. One that has ended stays as it is."""
    if not hold.cancel() and not hold.cancelled():
        hold.exception()  # retrieved, or asyncio would log that it never was
