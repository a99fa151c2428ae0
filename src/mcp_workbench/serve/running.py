"""The parts of a server process that stdio and HTTP have in common: start, lifetime and end."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import TYPE_CHECKING

from mcp_workbench.config.load import STATE_KEY
from mcp_workbench.serve.audit.call_audit import CallAudit
from mcp_workbench.serve.logs import call_log
from mcp_workbench.serve.logs.call_log import CallLog
from mcp_workbench.serve.reload import Reloader, log_faults
from mcp_workbench.serve.signals import SecondSignal
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.call_counts import CallCounts
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.policy.configured import ConfiguredPolicy, approver_of
from mcp_workbench.workbench.registry import build

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.serve.logs import SecretSink, StderrHandler
    from mcp_workbench.workbench.door import Decider, Observer

MIN_KEY_CHARACTERS = 32
"""Characters of the shortest key that needs no warning."""

log = logging.getLogger(__name__)


def begin(loaded: LoadedConfig, environ: Mapping[str, str], log_handler: SecretSink) -> None:
    """Hide secrets in the log, and log the warnings of the configuration."""
    log_handler.hide(loaded.secrets)
    for warning in loaded.warnings:
        log.warning("warning: %s", warning)
    log_faults(loaded)
    if 0 < len(environ.get(STATE_KEY, "")) < MIN_KEY_CHARACTERS:
        log.warning(
            "warning: %s is short, and can be guessed: use %d characters", STATE_KEY, MIN_KEY_CHARACTERS
        )


async def first(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when the first of these coroutines has finished, and cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """Return the function that runs the event loop: that of uvloop if it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.run
    return uvloop.run


class Service:
    """A workbench in use: its servers, with their calls counted and the configuration file watched.

    Owns what a serving process, `http_app` and the library have in common. It handles no signals and does not
    set up logging. Close it after everything that uses the workbench.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        environ: Mapping[str, str],
        log_handler: SecretSink,
        *,
        deciders: Sequence[Decider] = (),
        observers: Sequence[Observer] = (),
        keeps_going: bool = False,
        has_policy: bool = True,
    ) -> None:
        """Build a workbench. Without `has_policy` nothing is denied or hidden, for those who only look."""
        self.loaded = loaded
        self._keeps_going = keeps_going
        """Whether a mistake in the configuration costs only what it is in, and not the whole file."""
        self.environ = environ
        self.log_handler = log_handler
        self._reloader: Reloader | None = None
        self.counts = CallCounts()
        """How often each tool was called, and how the calls ended."""
        door = Door(deciders, [self.counts, *observers])
        self._audit = CallAudit(door, environ, log_handler)
        self._audit.set_level(loaded.config.audit)
        self.workbench = build(
            loaded, environ=environ, cache=cache_directory(environ), hide=log_handler.hide, door=door
        )
        self.policy = ConfiguredPolicy(door, approver_of(loaded.path, environ, self.workbench.shares))
        """Decides about calls by the configuration and the tokens."""
        if has_policy:
            self.policy.configure(loaded.config)

    def start(self, on_reload: Callable[[LoadedConfig], None]) -> None:
        """Watch the configuration file, if there is one, and load what some servers need."""

        def reconfigure(reloaded: LoadedConfig) -> None:
            self._audit.set_level(reloaded.config.audit)
            # First: what clients see depends on it.
            self.policy.configure(reloaded.config)
            on_reload(reloaded)

        if self.loaded.is_from_file:
            reloader = Reloader(
                self.loaded,
                self.environ,
                self.workbench,
                self.log_handler,
                reconfigure,
                keeps_going=self._keeps_going,
            )
            self._reloader = reloader
            reloader.start()
        self.workbench.warm_up()

    def stop_watching(self) -> None:
        """Stop watching the configuration for changes."""
        if self._reloader is not None:
            self._reloader.close()

    async def until_second_signal(self, work: Coroutine[Any, Any, object]) -> None:
        """Run some work. A process that serves cancels it at a second signal."""
        await work

    async def close(self) -> None:
        """End all servers in good order, and write what is recorded of the last calls."""
        await self.workbench.close()
        await self._audit.close()


class ProcessService(Service):
    """A workbench that a process of its own serves: signals end the process, and calls are logged."""

    def __init__(
        self,
        loaded: LoadedConfig,
        environ: Mapping[str, str],
        log_handler: StderrHandler,
        *,
        keeps_going: bool = False,
    ) -> None:
        self._call_log = CallLog(log_handler)
        observers = [self._call_log] if call_log.is_wanted() else []
        super().__init__(loaded, environ, log_handler, observers=observers, keeps_going=keeps_going)
        self.interrupted = asyncio.Event()
        """Set when the process is asked to end."""
        self.second_signal = SecondSignal(self.interrupted.set)
        """Set when the process is asked to end at once."""

    def start(self, on_reload: Callable[[LoadedConfig], None]) -> None:
        """Watch the configuration, and import what only some servers need. Call it after all other setup."""
        # Objects from startup stay: the garbage collector need not scan them again.
        gc.freeze()
        gc.enable()
        super().start(on_reload)

    async def until_second_signal(self, work: Coroutine[Any, Any, object]) -> None:
        """Run some work, and cancel it at a second signal."""
        await first(work, self.second_signal.wait())

    async def close(self) -> None:
        """End all servers: in good order, or at once after a second signal. Log the calls that this ended."""
        closing = asyncio.create_task(super().close())
        await self.until_second_signal(asyncio.wait([closing]))
        if self.second_signal.is_set():
            self.workbench.kill()
        await closing
        self._call_log.close()
