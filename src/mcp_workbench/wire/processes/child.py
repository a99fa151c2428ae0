"""A child process: its own process group, its pipes, its last words, and its end.

Owns the process from start to reaping. `Child.closed` is the one signal that it can no longer be talked
to; `stop` is the one way to end it, and leaves nothing of its family behind.
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
"""Seconds for a child to finish its work after its input has ended."""
TERM_GRACE_SECONDS = 0.75
"""Seconds more after SIGTERM, before SIGKILL."""
REAP_SECONDS = 0.3
"""Seconds for the system to report the end of a killed child."""
SHORT_GRACE_SECONDS = 0.5
"""Seconds, in place of each of the first two, for one that cannot be talked to any more."""
CLOSING_SECONDS = 0.25
"""Seconds from the first sign of a child's end to `closed`: time for its last answer and its exit code."""


class Receiver(Protocol):
    """Who talks to a child."""

    def receive(self, line: Line) -> None:
        """It has said something."""

    def receive_rest(self, line: Line) -> None:
        """It has said something without ending the line, and will say no more."""

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        """It says something too long to keep: this is the beginning of it, and the end if it is over."""

    def on_full(self, is_full: bool) -> None:
        """Much waits for it to be read, or nothing any more."""

    def on_unwritten(self, lines: bytes) -> None:
        """It had ended before it could be sent these."""


class Program(msgspec.Struct, frozen=True):
    """What to run, and in which surroundings."""

    command: list[str]
    env: dict[str, str]
    cwd: str | None
    watched: tuple[bytes, ...] = ()
    """Byte strings that its long lines are searched for, see `LineSplitter`."""


class Child:
    """A child and everything that hangs on it. As a context manager it is sure to be stopped."""

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
        """Its last words, masked."""
        self.closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done at the first sign of its end: nothing new should be sent, but answers may still come."""
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done, with what happened, when the child can no longer be talked to."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        # Whoever cancels the owner wants the child gone, so that must not end the ending of the child.
        await run_to_completion(self.stop())

    async def start(self, program: Program, receiver: Receiver, line_limit: int = MAX_LINE_BYTES) -> None:
        """Starts the program. Raises OSError when the system cannot."""
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
        # A cancelled start goes on to this end too: half-connected pipes would belong to nobody.
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
        """How many bytes wait for it to be read."""
        return 0 if self._stdin is None else self._stdin.waiting

    def write(self, line: Outgoing) -> None:
        """Sends a line to its stdin."""
        if self._stdin is not None:
            self._stdin.write(line)

    def pause(self) -> None:
        """Reads nothing more of its stdout, so that it has to wait. Not for longer than it lives."""
        if self._readers and self.exit_code is None:
            self._readers[0].pause()

    def resume(self) -> None:
        """Reads its stdout again."""
        if self._readers:
            self._readers[0].resume()

    def give_up(self, reason: str) -> None:
        """Says that it can no longer be talked to. It is still to be stopped, which is then done at once."""
        self._given_up = True
        if not self.closing.done():
            self.closing.set_result(None)
        self._close(reason)

    def kill(self) -> None:
        """Ends it and its family without asking. It is still to be stopped, which then takes no time."""
        if self._process_tree is not None:
            self._process_tree.kill()

    async def stop(self) -> None:
        """Ends it and its family: input closed, then SIGTERM, then SIGKILL."""
        process_tree = self._process_tree
        if process_tree is None:
            return
        in_good_order = self.exit_code is None
        exit_grace, term_grace = self._graces()
        process_tree.meet()
        # One that waits for us to read could not finish its work.
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
        self._process_tree = None  # its numbers may soon be those of strangers
        if self._stdin is not None:
            # Whoever was to read the rest is gone, though somebody may still hold the other end.
            self._stdin.abort()
        for reader in self._readers:
            reader.close()
        self._stderr.close()

    def _graces(self) -> tuple[float, float]:
        """Seconds to go by itself, and after SIGTERM."""
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
        # What it has left in the pipe may be answers, and is not much.
        self.resume()
        self._begin_closing()

    def _on_stdout_end(self) -> None:
        self._stdout_open = False
        self._begin_closing()

    def _on_stderr_end(self) -> None:
        self._stderr_open = False
        self._stderr.settle()
        # Not a sign by itself: many servers do without one.
        if self.closing.done():
            self._begin_closing()

    def _begin_closing(self) -> None:
        """A sign of its end was seen: `closed` follows when all have been, or shortly after."""
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
    """Reports the exit at once, whoever still holds the pipes."""
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
