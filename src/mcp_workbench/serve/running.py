"""What serving has in common, whatever it is that clients come by: how it begins, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_workbench.config.load import STATE_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.serve.logs import StderrHandler
    from mcp_workbench.serve.signals import SecondSignal
    from mcp_workbench.workbench.workbench import Workbench

SHORTEST_KEY = 32
"""Characters of a key that need not be warned of."""

log = logging.getLogger(__name__)


def begin(loaded: LoadedConfig, environ: Mapping[str, str], log_handler: StderrHandler) -> None:
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


async def close(workbench: Workbench, second_signal: SecondSignal) -> None:
    """Ends all servers, in good order unless somebody is in a hurry."""
    closing = asyncio.create_task(workbench.close())
    await first(asyncio.wait([closing]), second_signal.wait())
    if second_signal.is_set():
        workbench.kill()
    await closing


def loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """What runs the event loop."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.run
    return uvloop.run
