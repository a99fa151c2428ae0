"""One principal at a shared workbench: HTTP by hand, with every request accounted for."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from soak import ledger as books
from soak import records
from soak.client import HELLO, MODERN_META, PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    Json = dict[str, Any]

MODERN_VERSION = str(MODERN_META[PREFIX + "protocolVersion"])
LONGEST_HEAD = 64 * 1024
OK_STATUS = 200
ANSWER_BOUND = 30.0
"""Seconds for any answer: the time-outs of the servers, and slack for a busy machine."""


class Answer(NamedTuple):
    """What came back for a request."""

    status: int
    message: Json

    @property
    def text(self) -> str:
        """The first text of a successful result; otherwise nothing."""
        result = self.message.get("result", {})
        content = result.get("content") or [{}]
        return "" if result.get("isError") else str(content[0].get("text", ""))

    @property
    def is_good(self) -> bool:
        """Whether the call succeeded."""
        return self.status == OK_STATUS and "error" not in self.message and not self.is_failure

    @property
    def is_question(self) -> bool:
        """Whether the call goes on once its client has answered."""
        return bool(self.message.get("result", {}).get("resultType") == "input_required")

    @property
    def is_failure(self) -> bool:
        """Whether the result says that the call failed."""
        return bool(self.message.get("result", {}).get("isError"))


class Principal:
    """Whoever has one token. Each request has a connection of its own while it is in flight."""

    def __init__(self, url: str, name: str, token: str, numbers: Iterator[int]) -> None:
        """`numbers` are those of the requests, which nobody else may have."""
        self._place = urlsplit(url)
        self.name = name
        self._token = token
        self._ids = count(1)
        self._numbers = numbers
        self.entries: list[books.Entry] = []
        """The books of all requests."""
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.sent = self.answered = self.left = 0
        """Requests; those that were answered; those whose answers were not waited for."""

    async def call(self, params: Json, session: str = "") -> Answer:
        """Make a `tools/call`, in a session if one is given."""
        return await self.request("tools/call", params, session)

    async def request(self, method: str, params: Json, session: str = "") -> Answer:
        """Make a request and wait for its answer. Raises TimeoutError, OSError or EOFError without one."""
        self.sent += 1
        entry = books.Entry(next(self._numbers), method, frozenset(), time.monotonic(), ANSWER_BOUND)
        self.entries.append(entry)
        meta = {} if session else MODERN_META
        params = {**params, "_meta": {**meta, PREFIX + "clientInfo": records.about(entry)}}
        try:
            async with asyncio.timeout(ANSWER_BOUND):
                answer, _ = await self._exchange(method, params, session)
        except asyncio.CancelledError:
            self.left += 1  # nobody can say whether it has become a call
            raise
        self.answered += 1
        entry.is_call = records.is_call(method, params) and answer.status == OK_STATUS
        entry.answers.append((time.monotonic(), books.OK if answer.is_good else books.REMOTE))
        entry.what += " (talk)" if answer.is_question else ""
        return answer

    async def begin_session(self) -> str:
        """Make the handshake of the older protocol versions, and return the id of the session."""
        self.sent += 1
        async with asyncio.timeout(ANSWER_BOUND):
            _, headers = await self._exchange("initialize", HELLO, "new")
        self.answered += 1
        return headers.get("mcp-session-id", "")

    def close(self) -> None:
        """Close the connections that no request uses."""
        for _, writer in self._idle:
            writer.close()
        self._idle = []

    async def _exchange(self, method: str, params: Json, session: str) -> tuple[Answer, dict[str, str]]:
        reader, writer = self._idle.pop() if self._idle else await self._connect()
        try:
            writer.write(self._written(method, params, session))
            status, headers, body = await _read_response(reader)
        except BaseException:
            writer.transport.abort()
            raise
        self._idle.append((reader, writer))
        return Answer(status, _last_message(headers, body)), headers

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._place.hostname, self._place.port, limit=LONGEST_HEAD)

    def _written(self, method: str, params: Json, session: str) -> bytes:
        headers = {
            "Host": self._place.netloc,
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if not session:
            headers |= {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": method}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        elif session != "new":
            headers["Mcp-Session-Id"] = session
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        body = json.dumps(message).encode()
        lines = [
            f"POST {self._place.path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


async def _read_response(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    status_line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return int(status_line.split()[1]), headers, body


def _last_message(headers: dict[str, str], body: bytes) -> Json:
    """The answer, alone or as the last of several events."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        data = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
        body = data[-1] if data else b""
    with suppress(ValueError):
        message: Json = json.loads(body)
        return message
    return {"error": {"message": f"no JSON: {body[:100]!r}"}}
