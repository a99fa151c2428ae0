"""What the soak's server does wrong when it is asked to, in the middle of a call."""

from __future__ import annotations

import json
import os
import time

from soak import bodies
from soak.pipes import write_all
from soak.questions import SAMPLING, question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from soak.server import SoakServer

    Deed = Callable[[SoakServer, object, dict[str, Any]], None]

ECHOED = 100
"""Characters of the answer that follows a misdeed."""
GARBAGE = (
    b"a banner, not a message",
    b"\xff\xfe\x00 no text",
    b'{"jsonrpc":"2.0","id":',
    b"[]",
    b"null",
    b"{}",
)
LONG = 8_000_000
FLOOD = 5000
CHANGES = 300
STDERR_LINES = 20_000
PATIENT = 4.5
"""Seconds: longer than the time-out, but with progress."""


def _answer(server: SoakServer, request: object, params: dict[str, Any], size: int = ECHOED) -> None:
    server.respond_text(request, bodies.text(params["arguments"]["token"], size))


def garbage(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Writes what is no message, then the answer."""
    write_all(1, b"\n".join(GARBAGE * 50) + b"\n")
    _answer(server, request, params)


def flood(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Writes thousands of notifications, progress that belongs to nobody among them, then the answer."""
    for number in range(FLOOD):
        server.notify("notifications/message", {"level": "info", "data": f"line {number}"})
        if not number % 10:
            server.notify("notifications/progress", {"progressToken": -number - 1, "progress": number})
    _answer(server, request, params)


def changes(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Announces changes of its tools again and again, then the answer."""
    for _ in range(CHANGES):
        server.change_tools()
    _answer(server, request, params)


def long(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Answers with megabytes."""
    _answer(server, request, params, LONG)


def chatter(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Writes a megabyte to stderr, then the answer."""
    for _ in range(STDERR_LINES // 100):
        write_all(2, b"".join(b"something to say, and more of it: %d\n" % number for number in range(100)))
    _answer(server, request, params)


def twice(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Answers twice, and answers what was never asked."""
    for identifier in (987_654_321, "nobody", request, request):
        _answer(server, identifier, params)


def asks(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Asks the client for what it does not offer, and answers when that is refused."""
    tools = {**question("with tools", SAMPLING), "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    server.ask(SAMPLING, tools, lambda _: _answer(server, request, params), request)


def patient(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Takes longer than the time-out, and reports progress meanwhile."""
    for step in range(9):
        server.later(PATIENT * step / 9, request, server.progress_of(params, step))
    server.later(PATIENT, request, lambda: _answer(server, request, params))


def unreadable(server: SoakServer, request: object, params: dict[str, Any]) -> None:  # noqa: ARG001 - Deed
    """Answers with what is no JSON."""
    write_all(1, b'{"jsonrpc":"2.0","id":%b,"result":{"content":[}}\n' % json.dumps(request).encode())


def helper(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Starts helpers, one in its own process group and one in a session of its own, then answers."""
    for start_new_session in (False, True):
        if not os.fork():
            if start_new_session:
                os.setsid()
            # The pipes are closed, as a daemon does; or else its end would not be seen.
            os.closerange(0, 3)
            os.execvp("sleep", ["sleep", "10000"])  # noqa: S606 - no shell is wanted
    _answer(server, request, params)


def hang(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Never answers this call; all others it does."""


def endless(server: SoakServer, request: object, params: dict[str, Any]) -> None:
    """Reports progress for ever."""

    def go_on(step: int) -> None:
        server.progress_of(params, step)()
        server.later(0.5, request, lambda: go_on(step + 1))

    go_on(0)


def stall(server: SoakServer, request: object, params: dict[str, Any]) -> None:  # noqa: ARG001 - Deed
    """Does nothing any more, and reads nothing."""
    time.sleep(100_000)


def leave(server: SoakServer, request: object, params: dict[str, Any]) -> None:  # noqa: ARG001 - Deed
    """Exits in mid-call."""
    os._exit(3)


def half(server: SoakServer, request: object, params: dict[str, Any]) -> None:  # noqa: ARG001 - Deed
    """Exits in the middle of a line."""
    write_all(1, b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"te' % json.dumps(request).encode())
    os._exit(4)


def mute(server: SoakServer, request: object, params: dict[str, Any]) -> None:  # noqa: ARG001 - Deed
    """Closes its stdout, and lives on."""
    os.close(1)
    time.sleep(100_000)


def deaf(server: SoakServer, request: object, params: dict[str, Any]) -> None:  # noqa: ARG001 - Deed
    """Closes its stdin, and lives on."""
    os.close(0)
    time.sleep(100_000)


DEEDS: dict[str, Deed] = {
    deed.__name__: deed
    for deed in (
        *(garbage, flood, changes, long, chatter, twice, asks, patient, unreadable, helper),
        *(hang, endless, stall, leave, half, mute, deaf),
    )
}
