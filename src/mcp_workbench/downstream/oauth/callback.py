"""The redirect target of a login: a page on this machine's loopback address, or a pasted address.

Owns the page and the check of `state`: requests that do not belong to this login are refused, and the wait
goes on. `login_flow` checks the rest of the response.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATH = "/callback"
MAX_REQUEST_BYTES = 32 * 1024
REQUEST_TIMEOUT_SECONDS = 10.0
"""Seconds for a browser to send its request."""

_PAGE = """\
<!doctype html><meta charset="utf-8"><title>MCP Workbench</title>
<body style="font: 1.2em system-ui, sans-serif; max-width: 34em; margin: 15vh auto; padding: 0 1em">
<h1 style="font-size: 1.4em">{title}</h1><p>{text}</p></body>
"""


class Callback:
    """Waits for the authorization response of one login."""

    def __init__(self, port: int) -> None:
        self.redirect_uri = f"http://localhost:{port}{PATH}"
        self.refused = 0
        """Number of responses that did not belong to this login."""
        self._state: str | None = None
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    def expect(self, state: str) -> None:
        """Accept only a response with this `state`."""
        self._state = state

    async def answer(self) -> dict[str, str]:
        """Wait for the response, and return its parameters."""
        return await self._answer

    def take(self, address: str) -> bool:
        """Take an address or its query as the response, and return whether it belongs to this login."""
        query = urlsplit(address.strip()).query or address.strip()
        found = parse_qs(query, keep_blank_values=True)
        # No honest response has a parameter twice.
        parameters = {name: values[0] for name, values in found.items() if len(values) == 1}
        state = parameters.get("state", "")
        is_ours = self._state is not None and secrets.compare_digest(state.encode(), self._state.encode())
        if not is_ours or not parameters.keys() & {"code", "error"}:
            self.refused += 1
            return False
        if not self._answer.done():
            self._answer.set_result(parameters)
        return True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to one request of a browser."""
        with suppress(
            OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._respond(head.split(b"\r\n", 1)[0].decode("ascii")))
                await writer.drain()
        writer.close()

    def _respond(self, request_line: str) -> bytes:
        method, target, _ = request_line.split(" ", 2)
        if method != "GET" or urlsplit(target).path != PATH:
            return _page(404, "Not found", "This page is only for the end of a login.")
        if not self.take(target):
            return _page(
                400, "This is not the login that the terminal waits for", "Start again in the terminal."
            )
        if "error" in parse_qs(urlsplit(target).query):
            return _page(200, "The login was refused", "The terminal says more. You can close this page.")
        done = "Almost done: return to the terminal"
        return _page(200, done, "It shows whether the login succeeded. You can close this page.")


@asynccontextmanager
async def open_callback(ports: list[int]) -> AsyncIterator[Callback]:
    """Listen on the first of these ports that is free; 0 is any port. Raises OSError if none is free."""
    listening = _first_free(ports)
    port: int = listening.getsockname()[1]
    callback = Callback(port)
    sockets = [listening]
    with suppress(OSError):
        # `localhost` may resolve to ::1 first, where no other program may listen meanwhile.
        sockets.append(socket.create_server(("::1", port), family=socket.AF_INET6))
    servers = [
        await asyncio.start_server(callback.serve, sock=listening, limit=MAX_REQUEST_BYTES)
        for listening in sockets
    ]
    try:
        yield callback
    finally:
        for server in servers:
            server.close()


def _first_free(ports: list[int]) -> socket.socket:
    *preferred, last = ports
    for port in preferred:
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    return socket.create_server(("127.0.0.1", last))


def _page(status: int, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        # The address of the page contains the code, which must not be sent anywhere else.
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
