"""One configured server: started when needed, watched while it lives, started again after it has died.

One task owns each life of the process, from spawn to reaping; callers only await what it makes. A caller
that is cancelled therefore never takes away what others share.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from mcp_workbench.downstream import diagnosis
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.environment import child_environment
from mcp_workbench.downstream.eras import open_conversation
from mcp_workbench.errors import ConnectionClosed, RequestTimeout, StartError, WireError
from mcp_workbench.wire.child import Child, Program
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config import Secrets, ServerConfig
    from mcp_workbench.downstream.connection import Tools
    from mcp_workbench.downstream.era_memory import Era, EraMemory

TAIL_SHOWN = 10
"""Lines of stderr that go into an error."""

log = logging.getLogger(__name__)


class Server:
    """A server of a toolbox, whether its process runs at the moment or not."""

    def __init__(
        self,
        toolbox: str,
        name: str,
        config: ServerConfig,
        *,
        environ: Mapping[str, str],
        secrets: Secrets,
        memory: EraMemory,
    ) -> None:
        self.name = name
        self.config = config
        self._label = f"{toolbox}/{name}"
        self._environ = environ
        self._secrets = secrets
        self._memory = memory
        self._lives: set[asyncio.Task[None]] = set()
        self._ready: asyncio.Future[Connection] | None = None
        self._last_words: deque[str] = deque()
        self._waiting = 0
        self.connection: Connection | None = None
        """The conversation with it, while it is up."""

    @property
    def in_use(self) -> bool:
        """Whether somebody waits for it, or for an answer from it."""
        return self._waiting > 0 or (self.connection is not None and self.connection.session.peer.is_busy)

    async def tools(self) -> Tools:
        """Its tools, after any change that it has announced; connects first if need be. Raises StartError."""
        self._waiting += 1
        try:
            connection = await self._connection()
            return await connection.tools()
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Ends the process, if there is one, and everything that hangs on it."""
        self._ready = self.connection = None  # whoever comes from now on gets a new life, after this one
        lives = tuple(self._lives)
        for life in lives:
            life.cancel()
        if lives:
            await asyncio.wait(lives)

    def explain(self, error: WireError) -> str:
        """What went wrong in a call, and what to do about it."""
        if isinstance(error, (ConnectionClosed, RequestTimeout)):
            return diagnosis.explain_no_answer(self.config, error, self._stderr_tail())
        return self.mask(str(error))

    def mask(self, text: str) -> str:
        """`text` without the secret values of the configuration."""
        return self._secrets.mask(text)

    async def _connection(self) -> Connection:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            ready = self._ready
            life = asyncio.create_task(self._own(ready, tuple(self._lives)), name=self._label)
            self._lives.add(life)
            # Not in the task itself: one that is cancelled before its first step runs nothing of it.
            life.add_done_callback(lambda life: self._on_end_of_life(life, ready))
        return await asyncio.shield(self._ready)

    async def _own(self, ready: asyncio.Future[Connection], earlier: tuple[asyncio.Task[None], ...]) -> None:
        """One life of the server."""
        try:
            if earlier:
                await asyncio.wait(earlier)
            await self._live(ready)
        except StartError as error:
            log.warning("[%s] %s", self._label, error)
            self._refuse(ready, error)
        except Exception:
            log.exception("[%s] failed inside the workbench", self._label)
            self._refuse(ready, StartError(self.name, "a fault of the workbench; its log has the details"))

    def _on_end_of_life(self, life: asyncio.Task[None], ready: asyncio.Future[Connection]) -> None:
        self._lives.discard(life)
        self._refuse(ready, StartError(self.name, "it was closed while it was starting"))

    def _refuse(self, ready: asyncio.Future[Connection], error: StartError) -> None:
        """Whatever happened, nobody waits any longer, and the next use starts anew."""
        self._part_from(ready)
        if not ready.done():
            ready.set_exception(error)
            ready.exception()  # seen: whoever asked may have gone away since

    async def _live(self, ready: asyncio.Future[Connection]) -> None:
        if self.config.command is None:
            raise StartError(self.name, diagnosis.REMOTE_REASON, hint=diagnosis.REMOTE_HINT)
        forced: Era | None = None if self.config.protocol == "auto" else self.config.protocol
        remembered = self._memory.recall(self._identity()) if forced is None else None
        try:
            await self._live_once(ready, forced, remembered)
        except _DiedOnProbe:
            # Servers on some SDKs end themselves when the first message is not `initialize`.
            await self._live_once(ready, forced, "legacy")
        except StartError:
            self._memory.forget(self._identity())
            raise

    async def _live_once(
        self, ready: asyncio.Future[Connection], forced: Era | None, remembered: Era | None
    ) -> None:
        async with Child(self.mask, self._on_stderr) as child:
            self._last_words = child.stderr
            connection = Connection(self._label, child.write, self.mask, self.config.timeout)
            child.closed.add_done_callback(lambda closed: connection.close(closed.result()))
            await self._start(child, connection)
            era = await self._get_ready(connection, forced, remembered)
            if forced is None and era != self._memory.recall(self._identity()):
                self._memory.remember(self._identity(), era)
            log.info("[%s] connected: %s, tools: %d", self._label, era, len(connection.listed))
            ready.set_result(connection)
            self.connection = connection
            child.parting.add_done_callback(lambda _: self._part_from(ready))
            how = await asyncio.shield(child.closed)
            log.warning("[%s] %s; the next use starts it again", self._label, how)

    async def _start(self, child: Child, connection: Connection) -> None:
        config = self.config
        command = [config.command or "", *config.args]
        program = Program(command, child_environment(config, self._environ), config.cwd)
        peer = connection.session.peer
        try:
            await child.start(program, peer.receive, peer.receive_overlong)
        except OSError as error:
            reason, hint = diagnosis.why_not_spawned(config, error)
            raise StartError(self.name, self.mask(reason), hint=self.mask(hint)) from None

    async def _get_ready(self, connection: Connection, forced: Era | None, remembered: Era | None) -> Era:
        limit = self.config.startup_timeout
        era: Era | None = None
        try:
            async with asyncio.timeout(limit):
                era = await open_conversation(
                    connection.session, forced=forced, remembered=remembered, limit=limit
                )
                connection.listed = await connection.session.list_tools(timeout=limit)
        except ConnectionClosed as error:
            if forced is None and remembered != "legacy" and era is None:
                raise _DiedOnProbe from None
            reason, hint = f"{error} before it could be used", diagnosis.HINT_ON_EXIT
        except (RequestTimeout, TimeoutError):
            reason, hint = f"it was not ready within {limit:g} s", diagnosis.hint_on_silence(self.config)
        except WireError as error:
            reason, hint = self.mask(str(error)), ""
        else:
            return era
        raise StartError(self.name, reason, stderr=self._stderr_tail(), hint=hint)

    def _part_from(self, ready: asyncio.Future[Connection]) -> None:
        """The next use starts a new life, even while this one is still being cleaned up."""
        if self._ready is ready:
            self._ready = self.connection = None

    def _on_stderr(self, line: str) -> None:
        log.info("[%s] %s", self._label, line)

    def _stderr_tail(self) -> list[str]:
        return [line for line in [*self._last_words][-TAIL_SHOWN:] if line]

    def _identity(self) -> str:
        """What makes this configuration this one, with secrets left out: the key of its remembered era."""
        config = self.config
        words = [config.command or "", *config.args, config.cwd or ""]
        return encode([self.mask(word) for word in words]).decode()


class _DiedOnProbe(Exception):
    """It went away after the probe, before anything was agreed."""
