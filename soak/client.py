"""The soak's MCP client: many requests in flight over the real command's pipes, each answer written down.

Both eras on one connection. It believes nothing: what is no answer to a request of its own is a problem too.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soak import ledger as books
from soak import records
from soak.ears import Ears
from soak.plan import MARKER
from soak.questions import CAPABILITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from soak.ledger import Entry, Ledger
    from soak.plan import Place

    Json = dict[str, Any]
    Check = Callable[[Json], str]

LEGACY = "2025-11-25"
PREFIX = "io.modelcontextprotocol/"
ABOUT = {"name": "mcp-workbench-soak", "version": "1.0"}
HELLO = {"protocolVersion": LEGACY, "capabilities": CAPABILITIES, "clientInfo": ABOUT}
MODERN_META = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientInfo": ABOUT,
    PREFIX + "clientCapabilities": CAPABILITIES,
}
PINGS_BOUND = 15.0


class Client(asyncio.Protocol):
    """The workbench as a child process, and the conversation with it."""

    def __init__(
        self, place: Place, ledger: Ledger, clock: Callable[[], float], command: Sequence[str] = ()
    ) -> None:
        self._place = place
        self.ledger = ledger
        self._clock = clock
        self._command = command or [str(Path(sys.executable).parent / "mcp-workbench")]
        self._next = 1
        self._in_flight: dict[int | str, tuple[Entry, Check, asyncio.Future[str]]] = {}
        self._known: dict[int | str, Entry] = {}
        """All requests ever sent, for answers that come twice or too late."""
        self._parts: list[bytes] = []
        self.ended = asyncio.Event()
        """Set when the workbench has ended its output."""
        self.ears = Ears(place, ledger)
        """Takes what is no answer."""
        self.capabilities: Json = {}

    async def start(self, environ: Mapping[str, str]) -> None:
        """Starts the command, and shakes hands."""
        with self._place.stderr.open("ab") as stderr:
            self.process = subprocess.Popen(  # noqa: ASYNC220 - a millisecond, once
                [*self._command, "--config", str(self._place.config)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                env={**environ, MARKER: self._place.marker, **self._place.directories},
                start_new_session=True,
            )
        self.pid = self.process.pid
        loop = asyncio.get_running_loop()
        self._out, _ = await loop.connect_read_pipe(lambda: self, self.process.stdout)
        self._in, _ = await loop.connect_write_pipe(asyncio.Protocol, self.process.stdin)
        await self.request(self.entry("initialize", PINGS_BOUND), "initialize", HELLO, self._greet)
        self._write({"method": "notifications/initialized"})

    def entry(self, what: str, bound: float, **details: Any) -> Entry:
        """A page in the books for a request that is about to be sent."""
        servers = details.pop("servers", frozenset())
        number, self._next = self._next, self._next + 1
        return books.Entry(number, what, servers, self._clock(), bound, **details)

    def request(
        self, entry: Entry, method: str, params: Json, check: Check, *, modern: bool = False
    ) -> asyncio.Future[str]:
        """Sends a request; how it ended, in the words of the ledger."""
        identifier = identifier_of(entry)
        self.ledger.request(entry)
        outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if self.ended.is_set():
            outcome.set_result(books.LOST)
            return outcome
        self._in_flight[identifier] = (entry, check, outcome)
        self._known[identifier] = entry
        entry.is_call = records.is_call(method, params)
        meta = {**params.get("_meta", {}), **(MODERN_META if modern else {})}
        params = {**params, "_meta": {**meta, PREFIX + "clientInfo": records.about(entry)}}
        self._write({"id": identifier, "method": method, "params": params})
        return outcome

    async def cancel(self, entry: Entry) -> None:
        """Takes a request back, and learns when nothing more may come for it."""
        identifier = next((key for key, (one, _, _) in self._in_flight.items() if one is entry), None)
        if identifier is None:
            return
        _, _, outcome = self._in_flight.pop(identifier)
        entry.cancelled = self._clock()
        self._write({"method": "notifications/cancelled", "params": {"requestId": identifier}})
        pong = await self.ping()
        # When it came, not when we got to know: answers of the same read have come after it.
        entry.fence = pong.answers[0][0] if pong.answers else None
        outcome.cancel()

    async def take_back(self, entry: Entry) -> None:
        """Ends a stream, or a call that was answered with a question. Returns when the workbench knows."""
        self._write({"method": "notifications/cancelled", "params": {"requestId": identifier_of(entry)}})
        await self.ping()

    def listen(self, entry: Entry, uris: Sequence[str]) -> asyncio.Future[str]:
        """Opens a stream; its acknowledgement counts as the answer."""
        identifier = identifier_of(entry)
        acknowledged = self.request(
            entry,
            "subscriptions/listen",
            {"notifications": {"resourceSubscriptions": uris}},
            _is_late,
            modern=True,
        )

        def acknowledge(agreed: list[str]) -> None:
            self._in_flight.pop(identifier, None)
            entry.answers.append((self._clock(), books.OK if agreed == list(uris) else books.UNHEARD))
            if not acknowledged.done():
                acknowledged.set_result(entry.answers[-1][1])

        self.ears.streams[identifier] = acknowledge
        return acknowledged

    def reply(self, identifier: int | str, **answer: Json) -> None:
        """Answers a request of the workbench's."""
        self._write({"id": identifier, **answer})

    async def ping(self) -> Entry:
        """Asks what only the workbench itself has to answer."""
        entry = self.entry("ping", PINGS_BOUND)
        await self.request(entry, "ping", {}, _is_empty)
        return entry

    @property
    def in_flight(self) -> int:
        """How many answers are awaited."""
        return len(self._in_flight)

    async def drain(self, seconds: float) -> None:
        """Waits until everything is answered, or for so long."""
        outcomes = [outcome for _, _, outcome in self._in_flight.values()]
        if outcomes:
            await asyncio.wait(outcomes, timeout=seconds)

    def stop_reading(self) -> None:
        """Leaves what comes in the pipe."""
        self._out.pause_reading()

    def go_on_reading(self) -> None:
        """Takes it again."""
        self._out.resume_reading()

    def close_input(self) -> None:
        """Ends the conversation."""
        self._in.close()

    async def exit_code(self, seconds: float) -> int | None:
        """How the workbench ended; None if it has not in this time."""
        try:
            return await asyncio.to_thread(self.process.wait, seconds)
        except subprocess.TimeoutExpired:
            return None

    def forget(self) -> None:
        """Lets go of the pipes."""
        if not self._in.is_closing():
            self._in.abort()
        self._out.close()

    def data_received(self, data: bytes) -> None:
        """Takes whole lines out of what came."""
        while (end := data.find(b"\n")) != -1:
            self._parts.append(data[:end])
            line, self._parts, data = b"".join(self._parts), [], data[end + 1 :]
            self._receive(line)
        if data:
            self._parts.append(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The workbench has ended its output."""
        self.ended.set()
        for _, _, outcome in self._in_flight.values():
            if not outcome.done():
                outcome.set_result(books.LOST)

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.ledger.problems.append(f"what is no JSON came on stdout: {line[:200]!r}")
            return
        if "method" in message:
            self.ears.hear(message)
            return
        identifier = message.get("id")
        entry = self._known.get(identifier)
        if entry is None:
            self.ledger.problems.append(f"an answer to nothing: {line[:300]!r}")
            return
        _, check, outcome = self._in_flight.pop(identifier, (entry, _is_late, None))
        entry.answers.append((self._clock(), _judge(message, check, by_error=entry.by_error)))
        if outcome is not None and not outcome.done():
            outcome.set_result(entry.answers[-1][1])

    def _greet(self, message: Json) -> str:
        self.capabilities = message["result"]["capabilities"]
        return books.OK

    def _write(self, message: Json) -> None:
        line = json.dumps(
            {"jsonrpc": "2.0", **message}, ensure_ascii=not self._next % 2, separators=(",", ":")
        )
        self._in.write(line.encode() + b"\n")


def identifier_of(entry: Entry) -> int | str:
    """What a request is sent under."""
    return entry.number if entry.number % 3 else f"n° {entry.number}"


def _judge(message: Json, check: Check, *, by_error: bool) -> str:
    if "error" in message:
        text = message["error"].get("message", "")
        kind = books.kind_of_error(text) if by_error else books.kind_of_refusal(text)
        return kind or f"{books.WRONG}: a JSON-RPC error {json.dumps(message['error'])[:300]}"
    result = message.get("result")
    if not isinstance(result, dict):
        return f"{books.WRONG}: no result"
    try:
        return books.kind_of_error(result["content"][0]["text"]) if result.get("isError") else check(message)
    except (AttributeError, LookupError, TypeError) as problem:
        return f"{books.WRONG}: an answer of another form, {problem!r}"


def _is_empty(message: Json) -> str:
    return books.OK if not message["result"].keys() - {"resultType", "_meta"} else f"{books.WRONG}: not empty"


def _is_late(message: Json) -> str:  # noqa: ARG001 - Check
    """Of a second answer only its existence is noted."""
    return books.OK


def safe_environment() -> dict[str, str]:
    """What the workbench itself is started with."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
