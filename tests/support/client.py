"""A raw JSON-RPC client over a child's pipes, without any SDK.

It owns one process of the workbench from start to end: what goes in, every line that comes out, stderr and
the exit. It knows JSON-RPC and nothing of MCP; the two eras are in `sessions`. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from signal import SIGKILL
from typing import TYPE_CHECKING, Any, Literal

from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from signal import Signals
    from types import TracebackType
    from typing import Self

Json = dict[str, Any]
Stream = Literal["stdout", "stderr"]

Respond = Callable[[Json], Json | None]
"""What to answer a request of the server's with, `{"result": …}` or `{"error": …}`; None is silence."""

LONGEST_LINE = 128 * 1024 * 1024


@dataclass(frozen=True)
class Reply:
    """One answer: as an object, and as the very line that carried it."""

    message: Json
    line: bytes


@dataclass(frozen=True)
class Exit:
    """How the workbench ended, and how long it took from being asked to."""

    code: int
    seconds: float


def serve_command(config: Path, *args: str) -> list[str]:
    return [sys.executable, "-m", "mcp_workbench", "--config", str(config), *args]


def clean_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Just enough environment to run, with caches inside the test's own directory, and without a keyring."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "XDG_CACHE_HOME": str(home / "cache"),
        **(extra or {}),
    }


def write_config(directory: Path, config: Json) -> Path:
    path = directory / "workbench-config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


class RawClient:
    """The workbench as a child, and this end of its pipes."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._waiting: dict[tuple[str, object], asyncio.Future[Reply]] = {}
        self._changed = asyncio.Condition()
        self._next_id = 0
        self._stderr = bytearray()
        self.received: list[Json] = []
        self.methods: dict[tuple[str, object], str] = {}
        """Of each request that was sent, by the key of its id."""
        self.respond: Respond | None = None
        self.violations: list[str] = []

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        self._readers = [asyncio.create_task(self._read_stdout()), asyncio.create_task(self._read_stderr())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left_running = self.process.returncode is None
        try:
            code = (await self.close()).code if left_running else 0
        finally:
            if self.process.returncode is None:
                self.kill_group()
                await self.wait_exit()
            self._transport.close()
            for reader in self._readers:
                reader.cancel()
            await asyncio.gather(*self._readers, return_exceptions=True)
        if error is None:
            assert self.violations == [], self.violations
            assert code == 0, f"exit code {code}; stderr: {self.stderr}"
            assert "Traceback (most recent call last)" not in self.stderr, self.stderr

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "the client is used before it was entered"
        return self._process

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    @property
    def notifications(self) -> list[Json]:
        return [message for message in self.received if "method" in message and "id" not in message]

    async def request(self, method: str, params: Json | None = None, request_id: object = None) -> Json:
        """The whole response object."""
        text = None if params is None else json.dumps(params)
        return (await self.exchange(method, text, request_id)).message

    async def exchange(self, method: str, params: str | None = None, request_id: object = None) -> Reply:
        """Like `request`, with the parameters as raw text and the answer's own line."""
        answer = await self.begin(method, params, request_id)
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def begin(
        self, method: str, params: str | None = None, request_id: object = None
    ) -> asyncio.Future[Reply]:
        """Sends a request and leaves the waiting to the caller."""
        if request_id is None:
            self._next_id += 1
            request_id = self._next_id
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[key_of(request_id)] = answer
        self.methods[key_of(request_id)] = method
        body = "" if params is None else f',"params":{params}'
        line = f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"method":{json.dumps(method)}{body}}}\n'
        await self.send_raw(line.encode())
        return answer

    async def notify(self, method: str, params: Json | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        await self.send(message)

    async def send(self, message: Json) -> None:
        await self.send_raw(json.dumps(message).encode() + b"\n")

    async def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        async with asyncio.timeout(PATIENCE):
            await self.process.stdin.drain()

    async def wait_for(self, predicate: Callable[[Json], bool], within: float = PATIENCE) -> Json:
        """The first message received, ever, that the predicate holds for."""
        async with asyncio.timeout(within), self._changed:
            while True:
                for message in self.received:
                    if predicate(message):
                        return message
                await self._changed.wait()

    async def wait_for_stderr(self, text: str, within: float = PATIENCE) -> None:
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(lambda: text in self.stderr)

    async def close(self) -> Exit:
        """Ends its stdin, as a client does that goes away."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.wait_exit()

    async def signal(self, number: Signals) -> Exit:
        self.process.send_signal(number)
        return await self.wait_exit()

    def kill_group(self) -> None:
        """The child and all that it started in its own group."""
        os.killpg(self.process.pid, SIGKILL)

    async def wait_exit(self) -> Exit:
        started = time.monotonic()
        # `process.wait()` would also wait for the end of pipes that this client may have stopped reading.
        await poll(lambda: self.process.returncode is not None)
        seconds = time.monotonic() - started
        await asyncio.wait(self._readers, timeout=1)
        assert self.process.returncode is not None
        return Exit(self.process.returncode, seconds)

    def stop_reading(self, stream: Stream) -> None:
        """Lets a pipe run full."""
        self._pipe(stream).pause_reading()

    def resume_reading(self, stream: Stream) -> None:
        self._pipe(stream).resume_reading()

    def close_reading(self, stream: Stream) -> None:
        """Leaves a pipe without a reader, as a client does that dies."""
        self._pipe(stream).close()

    def _pipe(self, stream: Stream) -> asyncio.ReadTransport:
        pipe = self._transport.get_pipe_transport(1 if stream == "stdout" else 2)
        assert isinstance(pipe, asyncio.ReadTransport)
        return pipe

    @property
    def _transport(self) -> asyncio.SubprocessTransport:
        transport = self.process._transport  # type: ignore[attr-defined] # asyncio has no public way to it
        assert isinstance(transport, asyncio.SubprocessTransport)
        return transport

    async def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self._take(line)
            async with self._changed:
                self._changed.notify_all()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the workbench ended its stdout"))
                answer.exception()  # seen: the test may have no use for it any more

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self._stderr += data
            async with self._changed:
                self._changed.notify_all()

    def _take(self, line: bytes) -> None:
        message: object = None
        with contextlib.suppress(ValueError):
            message = json.loads(line)
        if not isinstance(message, dict) or _fault(message):
            self.violations.append(f"not JSON-RPC on stdout: {line[:500]!r}")
            return
        self.received.append(message)
        if self.respond and "method" in message and "id" in message:
            self._answer(message["id"], self.respond(message))
        answer = None if "method" in message else self._waiting.pop(key_of(message.get("id")), None)
        if answer is not None and not answer.done():
            answer.set_result(Reply(message, line.rstrip(b"\n")))

    def _answer(self, request_id: object, answer: Json | None) -> None:
        if answer is not None:
            assert self.process.stdin is not None
            line = json.dumps({"jsonrpc": "2.0", "id": request_id, **answer})
            self.process.stdin.write(line.encode() + b"\n")


def key_of(request_id: object) -> tuple[str, object]:
    """Tells 1 from 1.0 and from True, as JSON does and a Python dictionary does not."""
    return type(request_id).__name__, request_id


def _fault(message: Json) -> bool:
    kinds = ("method" in message) + ("result" in message) + ("error" in message)
    return message.get("jsonrpc") != "2.0" or kinds != 1 or ("result" in message and "id" not in message)
