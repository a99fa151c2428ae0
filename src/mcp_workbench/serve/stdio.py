"""Serves the workbench over stdin and stdout, for an MCP client that launches it."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from mcp_workbench.serve.backpressure import StdioBackpressure
from mcp_workbench.serve.running import ProcessService, begin, first, loop_runner
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.output import SingleOutput
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal
from mcp_workbench.wire.reader import LineReader, read_lines
from mcp_workbench.wire.writer import open_writer
from mcp_workbench.workbench.client_view import ClientView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.serve.logs import StderrHandler
    from mcp_workbench.wire.writer import Writer

DRAIN_SECONDS = 0.5
"""Seconds that calls in flight get after the input has ended: a pipeline wants its answers."""
FLUSH_SECONDS = 0.5
"""Seconds that the client gets to read the last answers."""

log = logging.getLogger(__name__)


def run(
    loaded: LoadedConfig, environ: Mapping[str, str], log_handler: StderrHandler, *, keeps_going: bool = False
) -> int:
    """Serve until the input ends or a signal arrives. Return the exit code.

    With `keeps_going`, a mistake in a later version of the configuration costs only what it is in.
    """
    _separate_stderr()
    begin(loaded, environ, log_handler)
    try:
        # Before anything else is opened: a new file would get the number of a closed stdin or stdout.
        os.fstat(0), os.fstat(1)
    except OSError:
        log.error("stdin and stdout must be open: an MCP client talks through them")  # noqa: TRY400 - no traceback
        return 1
    stdin, stdout = os.dup(0), os.dup(1)
    # Only JSON-RPC may reach the client: whatever a library prints to stdout goes to stderr.
    with suppress(OSError):
        os.dup2(2, 1)
    with _modes_restored(stdin, stdout):
        service = partial(ProcessService, loaded, environ, log_handler, keeps_going=keeps_going)
        loop_runner()(_serve(service, os.dup(stdin), os.dup(stdout)))
    return 0


def _separate_stderr() -> None:
    """Drop the log if stderr and stdout are one file or pipe, where it would get between the answers."""
    with suppress(OSError):
        if os.path.sameopenfile(1, 2) and not os.isatty(2):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            os.close(null)


@contextmanager
def _modes_restored(*descriptors: int) -> Iterator[None]:
    """Restore the blocking mode of the descriptors, which are shared with the parent process."""
    if sys.platform == "win32":
        yield
        return
    modes = [os.get_blocking(descriptor) for descriptor in descriptors]
    try:
        yield
    finally:
        for descriptor, blocking in zip(descriptors, modes, strict=True):
            os.set_blocking(descriptor, blocking)


async def _serve(make_service: Callable[[], ProcessService], stdin: int, stdout: int) -> None:
    service = make_service()
    workbench, interrupted = service.workbench, service.interrupted
    ended = asyncio.Event()
    pressure = StdioBackpressure(workbench)
    read_too = _are_one_socket(stdin, stdout)
    output = os.fdopen(stdout, "wb", 0)
    client = await open_writer(output, interrupted.set, pressure.on_full, read_too=read_too)
    view = ClientView(workbench)
    parking = ParkedCalls()
    client_session = ClientSession(view, parking, Seal(service.environ))
    client_connection = ClientConnection(client_session, SingleOutput(client.write), pressure)
    reader = LineReader(client_connection.receive, ended.set, client_connection.receive_overlong)

    def on_reload(_: LoadedConfig) -> None:
        view.refresh()
        if client_session.refresh():
            client_connection.tell_tools_changed()

    async with AsyncExitStack() as stack:
        # Closed in reverse: no new requests, then the calls, then the servers, then the client.
        stack.push_async_callback(_flush, client, service)
        stack.callback(client.close)
        stack.push_async_callback(service.close)
        stack.callback(pressure.close)
        stack.callback(parking.close)
        stack.callback(client_connection.close)
        stack.callback(reader.close)
        stack.callback(service.stop_watching)
        pressure.watch(client, reader)
        await read_lines(os.fdopen(stdin, "rb", 0), reader)
        service.start(on_reload)
        if os.isatty(0):
            log.info(
                "waiting for an MCP client on stdin. Clients start this command themselves: "
                "mcp-workbench install adds it to them (Ctrl-C ends it)"
            )
        await first(ended.wait(), interrupted.wait())
        service.stop_watching()
        if not interrupted.is_set():
            await first(client_connection.drain(DRAIN_SECONDS), interrupted.wait())


async def _flush(client: Writer, service: ProcessService) -> None:
    """Wait until the client has read the last answers, but no longer than FLUSH_SECONDS."""

    async def flush() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await client.closed()

    await service.until_second_signal(flush())


def _are_one_socket(stdin: int, stdout: int) -> bool:
    """Whether stdin and stdout are the same socket, as inetd starts a program."""
    return stat.S_ISSOCK(os.fstat(stdin).st_mode) and os.path.sameopenfile(stdin, stdout)
