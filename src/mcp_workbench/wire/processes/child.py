"""A child process: its process group, its pipes, the last lines of its stderr, and its end.

Owns the process from start to reaping. `Child.closed` is the one signal that it can no longer be used;
`stop` is the one way to end it, and ends its whole process tree.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from mcp_workbench.wire import threads
from mcp_workbench.wire.cancellation import run_to_completion
from mcp_workbench.wire.lines import MAX_LINE_BYTES
from mcp_workbench.wire.processes import stderr
from mcp_workbench.wire.processes.guard import MARK
from mcp_workbench.wire.processes.tree import ProcessTree
from mcp_workbench.wire.reader import LineReader, read_lines
from mcp_workbench.wire.writer import open_writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, Self

    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Outgoing
    from mcp_workbench.wire.processes.guard import Guard
    from mcp_workbench.wire.writer import Writer


EXIT_GRACE_SECONDS = 2.0
"""Seconds for a child to exit by itself after its stdin was closed."""
TERM_GRACE_SECONDS = 0.75
"""Seconds between SIGTERM and SIGKILL."""
REAP_SECONDS = 0.3
"""Seconds for the system to report the end of a killed child."""
SHORT_GRACE_SECONDS = 0.5
"""Seconds, in place of each of the two grace periods, for a child that can no longer be used."""
CLOSING_SECONDS = 0.25
"""Seconds from the first sign of a child's end to `closed`: time for its last response and its exit code."""


class Receiver(Protocol):
    """Receives what a child writes to its stdout."""

    def receive(self, line: Line) -> None:
        """Receive a line without its newline."""

    def receive_rest(self, line: Line) -> None:
        """Receive the bytes after the last newline. Nothing more follows."""

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        """Receive the beginning of a line that is too long, and with `is_over` also its end."""

    def on_full(self, is_full: bool) -> None:
        """Called when much waits for the child to read it, and when nothing does any more."""

    def on_unwritten(self, lines: bytes) -> None:
        """Called with lines that were not delivered, because the child had ended before."""


class Program(msgspec.Struct, frozen=True):
    """What to run: the command, its environment and its working directory."""

    command: list[str]
    env: dict[str, str]
    cwd: str | None
    watched: tuple[bytes, ...] = ()
    """Byte strings that long lines of its stdout are searched for, see `LineSplitter`."""


class Child:
    """A child process with its pipes and its process tree. The context manager stops it at the end."""

    def __init__(self, guard: Guard, mask: Callable[[str], str], on_stderr: Callable[[str], None]) -> None:
        self._guard = guard
        self._stderr = stderr.Stderr(mask, on_stderr)
        self._process_tree: ProcessTree | None = None
        self._stdin: Writer | None = None
        self._readers: list[LineReader] = []
        self._stdout_open = True
        self._stderr_open = True
        self._given_up = False
        self._exited = asyncio.Event()
        self._closing_timer: asyncio.TimerHandle | None = None
        self.exit_code: int | None = None
        self.stderr = self._stderr.lines
        """The last lines of its stderr, with secrets masked."""
        self.closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done at the first sign of its end: nothing new should be sent, but responses may still arrive."""
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when the child can no longer be used. The result says what happened."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # A task that is cancelled still has to end its child.
        await run_to_completion(self.stop())

    async def start(self, program: Program, receiver: Receiver, line_limit: int = MAX_LINE_BYTES) -> None:
        """Start the program. Raises OSError if the system cannot."""
        number = self._guard.prepare()
        # Not through the loop: under uvloop a child would get sockets in place of pipes, and inherit more
        # descriptors than its own.
        process = subprocess.Popen(  # noqa: ASYNC220 - a quarter of a millisecond, and see above
            program.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**program.env, MARK: self._guard.mark(number)},
            cwd=program.cwd,
            start_new_session=True,
        )
        self._process_tree = ProcessTree(process, number, self._guard.scanner)
        self._guard.watch(self._process_tree.group)
        _watch_exit(process, self._on_exit)
        # A cancelled start completes this step too: half-connected pipes would never be closed.
        await run_to_completion(self._connect(process, receiver, line_limit, program.watched))

    async def _connect(
        self,
        process: subprocess.Popen[bytes],
        receiver: Receiver,
        line_limit: int,
        watched: tuple[bytes, ...],
    ) -> None:
        pipes = (process.stdin, process.stdout, process.stderr)
        stdin, stdout, errors = (cast("BinaryIO", pipe) for pipe in pipes)

        def on_unwritten(lines: bytes) -> None:
            self._begin_closing()
            receiver.on_unwritten(lines)

        self._stdin = await open_writer(stdin, self._begin_closing, receiver.on_full, on_unwritten)
        self._readers = [
            LineReader(
                receiver.receive,
                self._on_stdout_end,
                receiver.receive_overlong,
                line_limit,
                receiver.receive_rest,
                watched=watched,
            ),
            LineReader(
                self._stderr.receive, self._on_stderr_end, self._stderr.receive_overlong, stderr.READ_BYTES
            ),
        ]
        await read_lines(stdout, self._readers[0])
        await read_lines(errors, self._readers[1])

    @property
    def waiting(self) -> int:
        """Number of bytes that wait for the child to read them."""
        return 0 if self._stdin is None else self._stdin.waiting

    def write(self, line: Outgoing) -> None:
        """Send a line to the child's stdin."""
        if self._stdin is not None:
            self._stdin.write(line)

    def pause(self) -> None:
        """Stop reading the child's stdout, so that it has to wait. Ignored once it has exited."""
        if self._readers and self.exit_code is None:
            self._readers[0].pause()

    def resume(self) -> None:
        """Read the child's stdout again."""
        if self._readers:
            self._readers[0].resume()

    def give_up(self, reason: str) -> None:
        """Declare the child unusable. It still has to be stopped, which then takes less time."""
        self._given_up = True
        if not self.closing.done():
            self.closing.set_result(None)
        self._close(reason)

    def kill(self) -> None:
        """Kill the process tree. The child still has to be stopped, which then takes no time."""
        if self._process_tree is not None:
            self._process_tree.kill()

    async def stop(self) -> None:
        """End the process tree: close stdin, then send SIGTERM, then SIGKILL."""
        process_tree = self._process_tree
        if process_tree is None:
            return
        in_good_order = self.exit_code is None
        exit_grace, term_grace = self._graces()
        process_tree.meet()
        # A child that is blocked in a write could not exit.
        self.resume()
        if self._stdin is not None:
            self._stdin.close()
        if not await self._exits_within(exit_grace):
            process_tree.signal_group(signal.SIGTERM)
            if not await self._exits_within(term_grace):
                in_good_order = False
                process_tree.kill()
                await self._exits_within(REAP_SECONDS)
        await process_tree.end(patiently=in_good_order)
        self._guard.forget(process_tree.group)
        self._process_tree = None  # its process numbers may soon be reused
        if self._stdin is not None:
            # The child has ended, but another process may still hold the other end of the pipe.
            self._stdin.abort()
        for reader in self._readers:
            reader.close()
        self._stderr.close()

    def _graces(self) -> tuple[float, float]:
        """Return the seconds to exit by itself, and the seconds after SIGTERM."""
        if self._given_up:
            return 0, SHORT_GRACE_SECONDS
        if self.closed.done():
            return SHORT_GRACE_SECONDS, SHORT_GRACE_SECONDS
        return EXIT_GRACE_SECONDS, TERM_GRACE_SECONDS

    async def _exits_within(self, seconds: float) -> bool:
        if not seconds:
            return self._exited.is_set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()

    def _on_exit(self, code: int) -> None:
        self.exit_code = code
        self._exited.set()
        # What is left in the pipe may be responses, and is not much.
        self.resume()
        self._begin_closing()

    def _on_stdout_end(self) -> None:
        self._stdout_open = False
        self._begin_closing()

    def _on_stderr_end(self) -> None:
        self._stderr_open = False
        self._stderr.settle()
        # Not a sign of the end by itself: many servers close their stderr.
        if self.closing.done():
            self._begin_closing()

    def _begin_closing(self) -> None:
        """Note a sign of the child's end. `closed` follows when all signs were seen, or shortly after."""
        if not self.closing.done():
            self.closing.set_result(None)
        if self.exit_code is not None and not (self._stdout_open or self._stderr_open):
            self._close(self._how_it_ended())
        elif self._closing_timer is None:
            loop = asyncio.get_running_loop()
            self._closing_timer = loop.call_later(CLOSING_SECONDS, lambda: self._close(self._how_it_ended()))

    def _close(self, how: str) -> None:
        if self._closing_timer is not None:
            self._closing_timer.cancel()
        self._stderr.settle()
        if not self.closed.done():
            self.closed.set_result(how)

    def _how_it_ended(self) -> str:
        if self.exit_code is None:
            return "the server closed its input" if self._stdout_open else "the server closed its output"
        if self.exit_code < 0:
            with suppress(ValueError):
                return f"the server was ended by {signal.Signals(-self.exit_code).name}"
        return f"the server exited with code {self.exit_code}"


def _watch_exit(process: subprocess.Popen[bytes], on_exit: Callable[[int], None]) -> None:
    """Report the exit of a process at once, even if other processes still hold its pipes."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # only Linux has these, since 5.3
        threads.wait_in_thread(process, on_exit)
        return

    def report() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        on_exit(process.wait())

    loop.add_reader(descriptor, report)
