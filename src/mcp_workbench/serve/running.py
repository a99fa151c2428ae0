"""What serving over stdio and over HTTP have in common: its start, its lifetime and its end."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import TYPE_CHECKING

from mcp_workbench.config.load import STATE_KEY
from mcp_workbench.serve import call_log
from mcp_workbench.serve.call_log import CallLog
from mcp_workbench.serve.reload import Reloader
from mcp_workbench.serve.signals import SecondSignal
from mcp_workbench.storage.protocol_versions import cache_directory
from mcp_workbench.workbench.call_counts import CallCounts
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.registry import build

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.serve.logs import SecretSink, StderrHandler
    from mcp_workbench.workbench.door import Decider, Observer

SHORTEST_KEY = 32
"""Characters of a key that need not be warned of."""

log = logging.getLogger(__name__)


def begin(loaded: LoadedConfig, environ: Mapping[str, str], log_handler: SecretSink) -> None:
    """Keeps secrets out of the log, and tells people what they should know."""
    log_handler.hide(loaded.secrets)
    for warning in loaded.warnings:
        log.warning("warning: %s", warning)
    if 0 < len(environ.get(STATE_KEY, "")) < SHORTEST_KEY:
        log.warning("warning: %s is short, and can be guessed: use %d characters", STATE_KEY, SHORTEST_KEY)


async def first(*waits: Coroutine[Any, Any, object]) -> None:
    """Returns when one of them has, and gives up the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """What runs the event loop."""
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
    ) -> None:
        self.loaded = loaded
        self.environ = environ
        self.log_handler = log_handler
        self._reloader: Reloader | None = None
        self.counts = CallCounts()
        """How often each tool was called, and how the calls ended."""
        self.workbench = build(
            loaded,
            environ=environ,
            cache=cache_directory(environ),
            hide=log_handler.hide,
            door=Door(deciders, [self.counts, *observers]),
        )

    def start(self, on_reload: Callable[[LoadedConfig], None]) -> None:
        """Watch the configuration file, if there is one, and load what some servers need."""
        if self.loaded.stamp is not None:
            reloader = Reloader(self.loaded, self.environ, self.workbench, self.log_handler, on_reload)
            self._reloader = reloader
            reloader.start()
        self.workbench.warm_up()

    def stop_watching(self) -> None:
        """Leave the configuration as it is."""
        if self._reloader is not None:
            self._reloader.close()

    async def unless_hurried(self, work: Coroutine[Any, Any, object]) -> None:
        """Do some work that a serving process gives up at a second signal."""
        await work

    async def close(self) -> None:
        """End all servers in good order."""
        await self.workbench.close()


class ProcessService(Service):
    """A workbench that a process of its own serves: signals end the process, and calls are logged."""

    def __init__(self, loaded: LoadedConfig, environ: Mapping[str, str], log_handler: StderrHandler) -> None:
        self._call_log = CallLog(log_handler)
        observers = [self._call_log] if call_log.is_wanted() else []
        super().__init__(loaded, environ, log_handler, observers=observers)
        self.interrupted = asyncio.Event()
        """Set when the process is asked to end."""
        self.second_signal = SecondSignal(self.interrupted.set)
        """Set when the process is asked to end at once."""

    def start(self, on_reload: Callable[[LoadedConfig], None]) -> None:
        """Watch the configuration, and load what some servers need. Everything else is set up by now."""
        # What is there now stays: it need not be looked through again and again.
        gc.freeze()
        gc.enable()
        super().start(on_reload)

    async def unless_hurried(self, work: Coroutine[Any, Any, object]) -> None:
        """Do some work, and give it up at a second signal."""
        await first(work, self.second_signal.wait())

    async def close(self) -> None:
        """End all servers: in good order, or at once after a second signal. Log the calls that this ended."""
        closing = asyncio.create_task(super().close())
        await self.unless_hurried(asyncio.wait([closing]))
        if self.second_signal.is_set():
            self.workbench.kill()
        await closing
        self._call_log.flush()
