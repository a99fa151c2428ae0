"""One configured server: started when needed, watched while it lives, started again after it has died.

One task owns each life of it, from the first step to the last; callers only await what it makes. A caller
that is cancelled therefore never takes away what others share.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.config import Secrets
from mcp_workbench.downstream import diagnosis
from mcp_workbench.downstream.backoff import Backoff
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.linking import link_to
from mcp_workbench.downstream.recording import Recorder
from mcp_workbench.downstream.start import DiedOnProbe, Start
from mcp_workbench.downstream.waiting import WaitingRoom
from mcp_workbench.downstream.watching import Watches
from mcp_workbench.errors import ConnectionClosed, RequestTimeout, StartError, TooLong, WireError
from mcp_workbench.wire import stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.audience import Audience
    from mcp_workbench.downstream.connection import Tools
    from mcp_workbench.downstream.era_memory import EraMemory
    from mcp_workbench.downstream.link import Link
    from mcp_workbench.downstream.offer import Offer
    from mcp_workbench.downstream.tool_memory import Record, ToolMemory
    from mcp_workbench.downstream.valve import Valve
    from mcp_workbench.wire.guard import Guard

State = Literal["idle", "starting", "ready", "failed", "stopping"]

log = logging.getLogger(__name__)


class Surroundings(msgspec.Struct, frozen=True):
    """What all servers of a workbench share."""

    environ: Mapping[str, str]
    memory: EraMemory
    catalogue: ToolMemory
    guard: Guard
    valve: Valve
    audience: Audience
    hide: Callable[[Secrets], None] = lambda _: None
    """Told of secrets that the configuration does not hold."""


class Server:
    """A server of a toolbox, whether its process runs at the moment or not."""

    def __init__(
        self, toolbox: str, name: str, config: ServerConfig, secrets: Secrets, surroundings: Surroundings
    ) -> None:
        self.name = name
        self.config = config
        self._origin = (toolbox, name)
        self._label = "/".join(self._origin)
        self._log = logging.LoggerAdapter(log, {"server": self._label})
        self._stderr_log = logging.LoggerAdapter(logging.getLogger(stderr.LOGGER), {"server": self._label})
        self.secrets = secrets
        self._tokens = Secrets({})
        self._surroundings = surroundings
        self._recorder = Recorder(self._origin, config, secrets, surroundings.catalogue, self.mask)
        self._lives: set[asyncio.Task[None]] = set()
        self._links: set[Link] = set()
        self._ready: asyncio.Future[Connection] | None = None
        self._last_words: Sequence[str] = ()
        self._backoff = Backoff()
        self._last_failure: StartError | None = None
        self._start_failed = False
        """Whether the last start did not get to anything."""
        self._users = 0
        self.waiting_room = WaitingRoom()
        """Where calls wait for it."""
        self.connection: Connection | None = None
        """The conversation with it, while it is up."""
        self.watches = Watches()
        """Its resources that somebody wants to hear about."""
        self.offer: Offer | None = None
        """What it has, from when it was first up: then it is open, even if its process has ended since."""

    @property
    def last_served(self) -> int:
        """The number of the call that it has answered last, among those of all servers, while it is up."""
        return 0 if self.connection is None else self.connection.session.last_served

    @property
    def state(self) -> State:
        """Where it is in its life."""
        if self.connection is not None:
            return "ready"
        if self._ready is not None:
            return "starting"
        if self._last_failure is not None:
            return "failed"
        return "stopping" if self._lives else "idle"

    @property
    def in_use(self) -> bool:
        """Whether somebody waits for it, or for an answer from it."""
        is_busy = self.connection is not None and self.connection.session.peer.is_busy
        return is_busy or self._users > 0 or self.waiting_room.calls > 0

    def adopt(self, config: ServerConfig, secrets: Secrets) -> None:
        """Takes over what has changed in a configuration for the same program."""
        self.config = config
        self.secrets = secrets
        self._recorder.adopt(config, secrets)
        if self.connection is not None:
            self.connection.adopt(config)

    def another(self, audience: Audience) -> Server:
        """One of the same configuration, for nobody but these."""
        surroundings = msgspec.structs.replace(self._surroundings, audience=audience)
        return Server(*self._origin, self.config, self.secrets, surroundings)

    async def tools(self) -> Tools:
        """Its tools, after any change that it has announced; connects first if need be. Raises StartError."""
        self._users += 1
        try:
            connection = await self._connection()
            return await connection.tools()
        finally:
            self._users -= 1

    def recalled(self) -> Record | None:
        """What it offered when it was last listed, by this process or another, if that is known."""
        return self._recorder.recall()

    async def close(self) -> None:
        """Ends the process, if there is one, and everything that hangs on it."""
        ends = self.begin_to_close()
        if ends:
            await asyncio.wait(ends)

    def begin_to_close(self) -> tuple[asyncio.Task[None], ...]:
        """The same, without waiting for the end."""
        if self._ready is not None:
            self._log.debug("stopping")
        self.leave()
        self._ready = self.connection = None  # whoever comes from now on gets a new life, after this one
        for life in self._lives:
            life.cancel()
        return *self._lives, *self._recorder.hasten()

    def leave(self) -> None:
        """It is not open any more, and what it has is not listed."""
        offer, self.offer = self.offer, None
        if offer is not None:
            self._announce(offer)

    def kill(self) -> None:
        """Ends all processes this instant."""
        for link in self._links:
            link.kill()

    def explain(self, error: WireError) -> str:
        """What went wrong in a call, and what to do about it."""
        if isinstance(error, ConnectionClosed):
            return diagnosis.explain_loss(error, self._wait(), diagnosis.tail(self._last_words))
        if isinstance(error, RequestTimeout):
            return diagnosis.explain_timeout(self.config, error)
        if isinstance(error, TooLong):
            return diagnosis.explain_length(error)
        return self.mask(diagnosis.explain(error))

    def mask(self, text: str) -> str:
        """`text` without the secret values of the configuration, nor those that logins have brought."""
        return self._tokens.mask(self.secrets.mask(text))

    def holds_secret(self, data: bytes) -> bool:
        """Whether such a value stands in it."""
        return self.secrets.occur_in(data) or self._tokens.occur_in(data)

    def _hide(self, secrets: Secrets) -> None:
        self._tokens |= secrets
        self._surroundings.hide(secrets)

    async def _connection(self) -> Connection:
        if self._ready is None:
            self._refuse_while_it_must_wait()
            self._ready = asyncio.get_running_loop().create_future()
            ready = self._ready
            life = asyncio.create_task(self._own(ready, tuple(self._lives)), name=self._label)
            self._lives.add(life)
            # Not in the task itself: one that is cancelled before its first step runs nothing of it.
            life.add_done_callback(lambda life: self._on_end_of_life(life, ready))
        return await asyncio.shield(self._ready)

    def _refuse_while_it_must_wait(self) -> None:
        last = self._last_failure
        if last is not None and (wait := self._wait()):
            reason = diagnosis.must_wait(self._backoff.failures, wait, last.reason)
            raise StartError(self.name, reason, stderr=last.stderr, hint=last.hint)

    async def _own(self, ready: asyncio.Future[Connection], earlier: tuple[asyncio.Task[None], ...]) -> None:
        """One life of the server."""
        try:
            if earlier:
                await asyncio.wait(earlier)
            await self._live(ready)
        except Exception:  # noqa: BLE001 - nobody is to wait for ever
            self._log.exception("failed inside the workbench")
            self._fail(ready, StartError(self.name, "a fault of the workbench; its log has the details"))

    def _on_end_of_life(self, life: asyncio.Task[None], ready: asyncio.Future[Connection]) -> None:
        self._lives.discard(life)
        self._refuse(ready, StartError(self.name, "it was closed while it was starting"))

    def _fail(self, ready: asyncio.Future[Connection], error: StartError) -> None:
        """It did not come up. Whoever waits is told at once: to end what there is of it takes its time."""
        if not error.wants_login:  # which may come any moment, and costs nothing to look for
            self._backoff.fail(asyncio.get_running_loop().time())
        self._last_failure = error
        self._start_failed = True
        self._log.warning("failed: %s%s", error.reason, diagnosis.next_try(self._wait()))
        self._refuse(ready, error)

    def _refuse(self, ready: asyncio.Future[Connection], error: StartError) -> None:
        """Whatever happened, nobody waits any longer, and the next use starts anew."""
        self._part_from(ready)
        if not ready.done():
            ready.set_exception(error)
            ready.exception()  # seen: whoever asked may have gone away since

    async def _live(self, ready: asyncio.Future[Connection]) -> None:
        self._log.info("starting")
        start = Start(
            self.name,
            self.config,
            self.mask,
            self._surroundings.memory,
            has_failed=self._start_failed,
        )
        try:
            await self._live_once(ready, start)
        except DiedOnProbe:
            await self._live_once(ready, start)

    async def _live_once(self, ready: asyncio.Future[Connection], start: Start) -> None:
        around = self._surroundings
        link = link_to(
            self._origin,
            self.config,
            around.environ,
            around.guard,
            mask=self.mask,
            hide=self._hide,
            on_stderr=self._on_stderr,
        )
        self._links.add(link)
        try:
            async with link:
                await self._live_through(link, ready, start)
        finally:
            self._links.discard(link)

    async def _live_through(self, link: Link, ready: asyncio.Future[Connection], start: Start) -> None:
        self._last_words = link.last_words
        connection = Connection(self._origin, link, self.mask, self.config, self._surroundings.audience)
        link.closed.add_done_callback(lambda closed: self._on_closed(connection, closed.result()))
        try:
            era = await start.attempt(link, connection)
        except StartError as error:
            self._fail(ready, error)
            link.give_up(error.reason)
            return
        except DiedOnProbe:
            link.give_up("it ended when it was asked for its era")
            raise
        self._log.info("ready: %s, tools: %d", era, len(connection.listed))
        self._last_failure = None
        self._start_failed = False
        connection.adopt(self.config)  # which may have changed while it was starting
        self.connection = connection
        self.offer = connection.session.offer
        ready.set_result(connection)
        connection.on_listed = lambda: self._recorder.take(connection, era)
        connection.on_listed()
        self.watches.ask_again(connection.session)
        self._announce(self.offer)
        link.parting.add_done_callback(lambda _: self._part_from(ready))
        await self._serve(link, connection)

    def _announce(self, offer: Offer) -> None:
        """What is listed together is listed from when a server is open."""
        if offer.prompts:
            self._surroundings.audience.list_changed(self._origin[0], "prompts")
        if offer.resources:
            self._surroundings.audience.list_changed(self._origin[0], "resources")

    async def _serve(self, link: Link, connection: Connection) -> None:
        connection.up_since = asyncio.get_running_loop().time()
        self._surroundings.valve.add(connection)
        try:
            await asyncio.shield(link.closed)
        finally:
            connection.up_since = None
            self._surroundings.valve.remove(connection)

    def _on_closed(self, connection: Connection, how: str) -> None:
        """It can no longer be talked to. If it was of use until now, that was not our doing."""
        if connection.up_since is not None:
            now = asyncio.get_running_loop().time()
            up = now - connection.up_since
            self._backoff.end(now, up=up, served=connection.session.last_served > 0)
            self._last_failure = StartError(self.name, how, stderr=diagnosis.tail(self._last_words))
            self._log.warning("failed: %s%s", how, diagnosis.next_try(self._wait()))
        connection.close(how)

    def _part_from(self, ready: asyncio.Future[Connection]) -> None:
        """The next use starts a new life, even while this one is still being cleaned up."""
        if self._ready is ready:
            self._ready = self.connection = None

    def _wait(self) -> float:
        """Seconds until it may be started again."""
        return self._backoff.remaining(asyncio.get_running_loop().time())

    def _on_stderr(self, line: str) -> None:
        self._stderr_log.info("%s", line)
