"""A small modern MCP client for the demo: blocking, over the pipes of a child process.

Owns the process of the workbench, and a timeout for every wait. It has no session, because the modern
protocol has none, and checks only what the demo reads of a result.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from mcp_workbench import __version__
from mcp_workbench.errors import BadAnswer, ConnectionClosed, RemoteError, RequestTimeout, WireError
from mcp_workbench.protocol import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self


__all__ = ["Answer", "DemoClient", "is_running"]

PATIENCE_SECONDS: Final = 15.0
"""Seconds to wait for each step, many times more than it takes: only a fault exceeds them."""

_META: Final = {
    names.META_VERSION: names.MODERN,
    names.META_CLIENT: {"name": "mcp-workbench-demo", "version": __version__},
    names.META_CAPABILITIES: {},
}

T = TypeVar("T")


class Answer(NamedTuple, Generic[T]):
    """A result, and the seconds from sending the request to reading the response."""

    result: T
    seconds: float


class _Error(msgspec.Struct, frozen=True):
    code: int
    message: str


class _Response(msgspec.Struct, frozen=True):
    id: int | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: _Error | None = None


class DemoClient:
    """An MCP client with the workbench as its child process, which it ends on exit."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], stderr: IO[bytes]) -> None:
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        self._identifiers = itertools.count(1)
        self._sent_at: dict[int, float] = {}
        self._arrived: dict[int, Answer[_Response]] = {}
        self._lines: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        # A thread, because Windows cannot wait for a pipe with a timeout.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stop in (self._process.terminate, self._process.kill):
            if self._process.poll() is None:
                stop()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(PATIENCE_SECONDS)
        self._close_stdin()
        self._reader.join(PATIENCE_SECONDS)

    def request(self, method: str, params: dict[str, Any], result: type[T]) -> Answer[T]:
        """Send a request and return its result. Raises WireError if there is none."""
        return self.answer(self.send(method, params), result)

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Send a request, and return its id, by which `answer` waits for the result. Raises WireError."""
        number = next(self._identifiers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": _META}}
        self._sent_at[number] = time.perf_counter()
        stdin = self._pipe(self._process.stdin)
        try:
            stdin.write(msgspec.json.encode(message) + b"\n")
            stdin.flush()
        except OSError as error:
            raise ConnectionClosed(f"the workbench took no more requests: {error}") from error
        return number

    def answer(self, number: int, result: type[T]) -> Answer[T]:
        """Return the result of a request that was sent, decoded as the given type. Raises WireError."""
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while number not in self._arrived:
            self._take_one(deadline)
        response, seconds = self._arrived.pop(number)
        if response.error is not None:
            raise RemoteError(response.error.code, response.error.message, None)
        try:
            return Answer(msgspec.json.decode(response.result, type=result), seconds)
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"the workbench's answer is not what the demo expects: {error}") from error

    def close(self) -> Answer[int]:
        """Close the stdin of the workbench, and return its exit code. Raises WireError if it does not end."""
        started = time.perf_counter()
        self._close_stdin()
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise WireError(
                f"the workbench still runs {PATIENCE_SECONDS:g} s after its stdin was closed"
            ) from None
        return Answer(code, time.perf_counter() - started)

    def _take_one(self, deadline: float) -> None:
        try:
            arrived_at, line = self._lines.get(timeout=max(deadline - time.perf_counter(), 0))
        except queue.Empty:
            raise RequestTimeout(PATIENCE_SECONDS, capped=False) from None
        if not line:
            raise ConnectionClosed("the workbench closed its stdout before it had answered")
        try:
            response = msgspec.json.decode(line, type=_Response)
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"the workbench wrote a line that is not an answer: {error}") from error
        if response.id in self._sent_at:
            self._arrived[response.id] = Answer(response, arrived_at - self._sent_at.pop(response.id))

    def _read(self) -> None:
        with self._pipe(self._process.stdout) as stdout:
            for line in stdout:
                self._lines.put((time.perf_counter(), line))
        self._lines.put((time.perf_counter(), b""))

    def _close_stdin(self) -> None:
        with contextlib.suppress(OSError):
            self._pipe(self._process.stdin).close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # noqa: S101 - both ends are pipes since Popen returned
        return pipe


def is_running(process: int) -> bool:
    """Whether a process with this id exists."""
    if sys.platform == "win32":
        # On Windows, os.kill would end the process, whatever the signal.
        listed = subprocess.run(
            ["tasklist", "/FI", f"PID eq {process}", "/NH"], capture_output=True, check=True
        )
        return str(process).encode() in listed.stdout.split()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
