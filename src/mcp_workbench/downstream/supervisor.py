"""Keeps one connection to a server: connects when needed, and again after the connection has ended.

One task owns each connection, from start to end; callers only await its result. So a caller that is
cancelled never ends what others share. `server` decides which clients a connection serves.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

import msgspec

from mcp_workbench.downstream.backoff import Backoff
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.diagnosis import calls
from mcp_workbench.downstream.start import RetryStart, Start
from mcp_workbench.errors import ConnectionClosed, RequestTimeout, StartError, TooLong
from mcp_workbench.fairness import Shares
from mcp_workbench.wire.processes import stderr
from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import Origin, Secrets, ServerConfig
    from mcp_workbench.downstream.connection import Admit
    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.downstream.conversation.negotiation import Agreed
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.downstream.limits.flow_control import FlowControl
    from mcp_workbench.downstream.link import Link
    from mcp_workbench.errors import WireError
    from mcp_workbench.storage.catalogue import Catalogue
    from mcp_workbench.storage.protocol_versions import VersionMemory, Versions
    from mcp_workbench.wire.processes.guard import Guard

log = logging.getLogger(__name__)


class ServerContext(msgspec.Struct, frozen=True):
    """What all servers of a workbench share."""

    environ: Mapping[str, str]
    memory: VersionMemory
    catalogue: Catalogue
    guard: Guard
    flow_control: FlowControl
    listeners: Listeners
    hide: Callable[[Secrets], None] = lambda _: None
    """Called with secrets that are not in the configuration, such as tokens of logins."""
    shares: Shares = msgspec.field(default_factory=Shares)
    """The limits for each principal."""


class SupervisedServer(Protocol):
    """The server that a supervisor keeps a connection to."""

    @property
    def config(self) -> ServerConfig:
        """The current configuration of the server."""

    @property
    def versions(self) -> Versions:
        """The protocol versions that the server is known to speak."""

    @property
    def admit(self) -> Admit:
        """Judges each list of tools before any of them is used."""

    def mask(self, text: str) -> str:
        """Return the text with secrets masked."""

    def mask_definition(self, text: str) -> str:
        """Return the definition of a tool with secrets masked."""

    def hide(self, secrets: Secrets) -> None:
        """Mask the tokens of a login from now on."""

    def on_start(self) -> None:
        """Called before a connection is made. Raises StartError if there must not be another one."""

    def on_up(self, supervisor: Supervisor, connection: Connection, agreed: Agreed) -> bool:
        """Called when a connection is ready. Return whether its protocol version can be used."""

    def on_down(self, supervisor: Supervisor) -> None:
        """Called when the connection can no longer be used."""

    def on_failed_start(self) -> None:
        """Called when a start has failed, so that what is known of the server may be wrong."""


class VersionMismatch(Exception):
    """The new connection is not used, because of its protocol version. Another attempt may succeed."""


class Supervisor:
    """Keeps one connection to a server, which may be up or not."""

    def __init__(
        self, origin: Origin, context: ServerContext, server: SupervisedServer, *, for_modern: bool
    ) -> None:
        self._origin = origin
        self._name = origin[1]
        self._label = "/".join(origin)
        self._log = logging.LoggerAdapter(log, {"server": self._label})
        self._stderr_log = logging.LoggerAdapter(logging.getLogger(stderr.LOGGER), {"server": self._label})
        self._context = context
        self._server = server
        self.for_modern = for_modern
        """Whether the connection is for modern clients, so that the modern protocol is preferred."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[Link] = set()
        self._ready: asyncio.Future[Connection] | None = None
        self._last_stderr_lines: Sequence[str] = ()
        self._backoff = Backoff()
        self.start_failed = False
        """Whether the last start failed."""
        self.last_failure: StartError | None = None
        """Why there is no connection, if the last one failed or ended unexpectedly."""
        self.connection: Connection | None = None
        """The connection; None while it is not up."""
        self.last_session: Session | None = None
        """The session of the last connection that was up."""

    @property
    def is_needed(self) -> bool:
        """Whether the connection is up or being made."""
        return self._ready is not None

    @property
    def is_starting(self) -> bool:
        """Whether a connection is being made."""
        return self._ready is not None and self.connection is None

    @property
    def has_tasks(self) -> bool:
        """Whether any connection exists, even one that is being cleaned up."""
        return bool(self._tasks)

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for a response."""
        return self.connection is not None and self.connection.session.peer.is_busy

    def begin_to_close(self) -> tuple[asyncio.Task[None], ...]:
        """Begin to end the connection and its process, and return the tasks to wait for."""
        if self._ready is not None:
            self._log.debug("stopping")
        self._set_down()  # later callers get a new connection, after this one has ended
        for task in self._tasks:
            task.cancel()
        return tuple(self._tasks)

    def kill(self) -> None:
        """Kill all processes at once."""
        for link in self._links:
            link.kill()

    def explain(self, error: WireError) -> str:
        """Return why a call failed, and what to do about it."""
        if isinstance(error, ConnectionClosed):
            last_stderr_lines = self._quotable(calls.tail(self._last_stderr_lines))
            return calls.explain_loss(error, self._wait(), last_stderr_lines)
        if isinstance(error, RequestTimeout):
            return calls.explain_timeout(self._server.config, error)
        if isinstance(error, TooLong):
            return calls.explain_length(error)
        return self._server.mask(calls.explain(error))

    async def connect(self) -> Connection:
        """Return the connection, made first if necessary. Raises StartError or VersionMismatch."""
        return await outcome_of(self.begin_to_connect())

    def begin_to_connect(self) -> asyncio.Future[Connection]:
        """Return a future of the connection. Raises StartError while the server must wait."""
        if self._ready is None:
            self._refuse_during_backoff()
            self._server.on_start()
            self._ready = ready = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._run_task(ready, tuple(self._tasks)), name=self._label)
            self._tasks.add(task)
            # Not in the task itself: a task that is cancelled before its first step never runs.
            task.add_done_callback(lambda task: self._on_task_done(task, ready))
        return self._ready

    def _refuse_during_backoff(self) -> None:
        last = self.last_failure
        if last is not None and (wait := self._wait()):
            reason = calls.must_wait(self._backoff.failures, wait, last.reason)
            # What a server wrote before it was ready is about no call.
            stderr = last.stderr if self.start_failed else self._quotable(last.stderr)
            raise StartError(self._name, reason, stderr=stderr, hint=last.hint, cause=last.cause)

    async def _run_task(
        self, ready: asyncio.Future[Connection], earlier: tuple[asyncio.Task[None], ...]
    ) -> None:
        """Run one connection from its start to its end."""
        try:
            if earlier:
                await asyncio.wait(earlier)
            await self._run(ready)
        except Exception:  # noqa: BLE001 - callers must not wait for ever
            self._log.exception("failed inside the workbench")
            self._fail(ready, StartError(self._name, "a bug in the workbench; its log has the details"))

    def _on_task_done(self, task: asyncio.Task[None], ready: asyncio.Future[Connection]) -> None:
        self._tasks.discard(task)
        self._refuse(ready, StartError(self._name, "it was closed while it was starting"))

    def _fail(self, ready: asyncio.Future[Connection], error: StartError) -> None:
        """Record a failed start. Waiting callers are told at once, because cleaning up takes time."""
        if not error.wants_login:  # the user may log in at any moment
            self._backoff.fail(asyncio.get_running_loop().time())
        self.last_failure = error
        self.start_failed = True
        self._log.warning("failed: %s%s", error.reason, calls.next_try(self._wait()))
        self._server.on_failed_start()
        self._refuse(ready, error)

    def _refuse(self, ready: asyncio.Future[Connection], error: StartError | VersionMismatch) -> None:
        """Fail all waiting callers. The next use starts again."""
        self._detach(ready)
        if not ready.done():
            ready.set_exception(error)
            ready.exception()  # retrieved: all callers may have been cancelled

    async def _run(self, ready: asyncio.Future[Connection]) -> None:
        self._log.info("starting")
        start = Start(
            self._name,
            self._server.config,
            self._server.mask,
            self._server.versions,
            self._context.environ,
            for_modern=self.for_modern,
            has_failed=self.start_failed,
        )
        while True:
            try:
                await self._attempt(ready, start)
            except RetryStart:  # raised twice at most
                continue
            return

    async def _attempt(self, ready: asyncio.Future[Connection], start: Start) -> None:
        context = self._context
        from mcp_workbench.downstream.link import link_to  # noqa: PLC0415 - nothing runs at the start

        link = link_to(
            self._origin,
            self._server.config,
            context.environ,
            context.guard,
            mask=self._server.mask,
            hide=self._server.hide,
            on_stderr=self._on_stderr,
        )
        self._links.add(link)
        try:
            async with link:
                await self._run_link(link, ready, start)
        finally:
            self._links.discard(link)

    async def _run_link(self, link: Link, ready: asyncio.Future[Connection], start: Start) -> None:
        self._last_stderr_lines = link.last_stderr_lines
        server, context = self._server, self._context
        connection = Connection(
            self._origin, link, server.mask, server.config, context.listeners, shares=context.shares
        )
        connection.mask_definition = server.mask_definition
        connection.admit = server.admit
        link.closed.add_done_callback(lambda closed: self._on_closed(connection, closed.result()))
        try:
            agreed = await start.attempt(link, connection)
        except StartError as error:
            self._fail(ready, error)
            link.give_up(error.reason)
            return
        except RetryStart as reason:
            link.give_up(str(reason))
            raise
        self._log.info("ready: %s, tools: %d", agreed.protocol, len(connection.listed))
        self.last_failure = None
        self.start_failed = False
        connection.adopt(server.config)  # it may have changed during the start
        self.connection = connection
        self.last_session = connection.session
        if not server.on_up(self, connection, agreed):
            self._log.info("ended again: it was made for clients of another protocol version")
            self._refuse(ready, VersionMismatch())
            return
        ready.set_result(connection)
        link.closing.add_done_callback(lambda _: self._detach(ready))
        await self._serve(link, connection)

    async def _serve(self, link: Link, connection: Connection) -> None:
        connection.up_since = asyncio.get_running_loop().time()
        self._context.flow_control.add(connection)
        try:
            await outcome_of(link.closed)
        finally:
            connection.up_since = None
            self._context.flow_control.remove(connection)

    def _on_closed(self, connection: Connection, how: str) -> None:
        """Close the connection after its link has ended. If it was ready, that counts as a failure."""
        if connection.up_since is not None:
            now = asyncio.get_running_loop().time()
            up = now - connection.up_since
            self._backoff.end(now, up=up, served=connection.session.has_served)
            self.last_failure = StartError(self._name, how, stderr=calls.tail(self._last_stderr_lines))
            self._log.warning("failed: %s%s", how, calls.next_try(self._wait()))
        connection.close(how)

    def _detach(self, ready: asyncio.Future[Connection]) -> None:
        """Let the next use start a new connection, even while this one is being cleaned up."""
        if self._ready is ready:
            self._set_down()

    def _set_down(self) -> None:
        self._ready = self.connection = None
        self._server.on_down(self)

    def _wait(self) -> float:
        """Return the seconds until the server may be started again."""
        return self._backoff.remaining(asyncio.get_running_loop().time())

    def _quotable(self, stderr: Sequence[str]) -> Sequence[str]:
        """Return the lines of stderr that an error may quote. With several principals that is none: the
        lines may be about another's calls.
        """
        return [calls.STDERR_IN_LOG] if stderr and self._context.listeners.is_shared else stderr

    def _on_stderr(self, line: str) -> None:
        self._stderr_log.info("%s", line)
