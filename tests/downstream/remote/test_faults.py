"""Whatever goes wrong over HTTP, the caller is told soon and in words, and the next call is served."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.downstream.remote import client as http_module
from mcp_workbench.errors import BadAnswer, BrokenOff, StartError, TooLong, Unreachable, WireError
from tests.downstream.remote.serving import discovered, ready, serving, text
from tests.downstream.servers import call_tool, server
from tests.support.waiting import PATIENCE
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.downstream.remote.serving import Asked, Reply

    Fault = Callable[["Asked", "Reply"], Awaitable[None]]

pytestmark = ON_BOTH_LOOPS

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NOISE = b"data: hello\n\nevent: x\ndata: 1\n\n"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def said(*parts: bytes, hang_up: bool = False) -> Fault:
    async def fault(_: Asked, reply: Reply) -> None:
        await reply.raw(*parts)
        if hang_up:
            reply.hang_up()

    return fault


async def reset(_: Asked, reply: Reply) -> None:
    plug = reply.writer.get_extra_info("socket")
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reply.writer.transport.abort()
    reply.hang_up()


async def cut_json(asked: Asked, reply: Reply) -> None:
    await reply.raw(JSON, b"Connection: close\r\n\r\n", f'{{"jsonrpc":"2.0","id":{asked.id},"resu'.encode())
    reply.hang_up()


FAULTS: dict[str, tuple[Fault, type[WireError], str]] = {
    "it hangs up without a word": (said(hang_up=True), BrokenOff, "the connection to .* broke"),
    "it resets the connection": (reset, BrokenOff, "the connection to .* broke"),
    "it speaks no HTTP": (said(b"SSH-2.0-OpenSSH_9.6\r\n", hang_up=True), BrokenOff, "broke"),
    "its body is shorter than it says": (
        said(JSON, b'Content-Length: 500\r\n\r\n{"jsonrpc"', hang_up=True),
        BrokenOff,
        "the connection to .* broke",
    ),
    "its JSON is cut off": (cut_json, BadAnswer, "could not be read"),
    "its JSON is none": (said(JSON, b"Content-Length: 5\r\n\r\nhello"), BadAnswer, "could not be read"),
    "its body is empty": (said(JSON, b"Content-Length: 0\r\n\r\n"), BadAnswer, "sent no response .HTTP 200"),
    "it says 202 to a request": (
        said(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"),
        BadAnswer,
        "sent no response .HTTP 202",
    ),
    "it says 204": (said(b"HTTP/1.1 204 No Content\r\n\r\n"), BadAnswer, "sent no response .HTTP 204"),
    "it answers with a web page": (
        said(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=x\r\nContent-Length: 6\r\n\r\n<html>"),
        BadAnswer,
        "it answered with text/html, which is not MCP",
    ),
    "it does not say what it answers with": (
        said(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
        BadAnswer,
        "an unknown content type",
    ),
    "its stream ends at once": (
        said(EVENTS, b"Content-Length: 0\r\n\r\n"),
        BrokenOff,
        "ended before the answer came",
    ),
    "its stream ends in the middle of an event": (
        said(EVENTS, b'Connection: close\r\n\r\ndata: {"jsonrpc":"2.0",', hang_up=True),
        BrokenOff,
        "ended before the answer came",
    ),
    "its stream breaks": (
        said(EVENTS, b"Transfer-Encoding: chunked\r\n\r\n5\r\ndata:", hang_up=True),
        BrokenOff,
        "the connection to .* broke",
    ),
    "its stream has only noise": (
        said(EVENTS, b"Content-Length: %d\r\n\r\n" % len(NOISE), NOISE),
        BrokenOff,
        "ended before the answer came",
    ),
    "its compression is broken": (
        said(JSON, b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
        BadAnswer,
        "could not be decompressed",
    ),
}


@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS.values(), ids=FAULTS)
async def test_a_call_fails_soon_and_the_next_is_served(
    tmp_path: Path, fault: Fault, kind: type[WireError], words: str
) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if await discovered(asked, reply):
            return
        if asked.message["params"]["name"] == "echo":
            await reply.result(asked, text("yes"))
        else:
            await fault(asked, reply)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it, asyncio.timeout(PATIENCE):
        session = await ready(it)
        with pytest.raises(kind, match=words):
            await call_tool(session, "fail", 60).result
        assert json.loads(bytes(await call_tool(session, "echo", 60).result)) == text("yes")
        assert len(http.calls("tools/call")) == 2


@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS.values(), ids=FAULTS)
async def test_a_start_fails_soon_and_with_words(
    tmp_path: Path, fault: Fault, kind: type[WireError], words: str
) -> None:
    async with serving(fault) as http, server({"url": http.url}, tmp_path) as it, asyncio.timeout(PATIENCE):
        with pytest.raises(StartError, match=words):
            await it.connect(modern=True)
        assert issubclass(kind, WireError)


def closed_port() -> socket.socket:
    """Hold a port that no server listens on for the length of the block."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


async def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with closed_port() as taken:
        origin = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with server({"url": f"{origin}/secret-path?key=abc"}, tmp_path) as it:
            with pytest.raises(StartError) as raised:
                await it.connect(modern=True)
    assert raised.value.reason == f"no server answers at {origin}: connection refused"
    assert raised.value.hint == 'Is the server running? Check "url".'


async def test_a_name_that_does_not_exist_is_named(tmp_path: Path) -> None:
    async with server({"url": "https://user:password@no-such-host.invalid/x"}, tmp_path) as it:
        with pytest.raises(StartError, match=r"no-such-host\.invalid (could not be|broke)") as raised:
            await it.connect(modern=True)
    assert "password" not in raised.value.explained()


async def test_a_call_to_a_server_that_has_gone_is_not_made_and_the_next_finds_it_again(
    tmp_path: Path,
) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        await http.go_away()
        with pytest.raises(Unreachable) as raised:
            await call_tool(session, "echo", 5).result
        assert it.explain(raised.value, session) == (
            f"no server answers at {http.origin}: connection refused. Nothing was done. "
            'Is the server running? Check "url".'
        )
        await http.come_back()
        await call_tool(session, "echo", 5).result


async def test_a_server_that_takes_no_connection_fails_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_module, "CONNECT_TIMEOUT_SECONDS", 0.3)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        async with server({"url": f"http://127.0.0.1:{port}/"}, tmp_path) as it, asyncio.timeout(PATIENCE):
            with pytest.raises(StartError, match=r"could not be reached within 0\.3 s"):
                await it.connect(modern=True)
        for filler in fillers:
            filler.close()


async def test_a_server_that_says_nothing_fails_in_time(tmp_path: Path) -> None:
    async def handle(_: Asked, reply: Reply) -> None:
        await reply.gone()

    async with serving(handle) as http, server({"url": http.url, "startupTimeout": 0.3}, tmp_path) as it:
        with pytest.raises(StartError) as raised:
            await it.connect(modern=True)
    assert raised.value.reason == "it was not ready within 0.3 s"
    assert raised.value.hint == 'If it is only slow, raise "startupTimeout" (now 0.3 s).'


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> SSLContext:
    directory = tmp_path_factory.mktemp("tls")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *subject]
    subprocess.run(command, check=True, capture_output=True)
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_self_signed_certificate_is_not_trusted(tmp_path: Path, own_certificate: SSLContext) -> None:
    async with serving(said(), own_certificate) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(StartError) as raised:
            await it.connect(modern=True)
        assert http.asked == []
    assert raised.value.reason == f"the certificate of {http.origin} is not trusted: self-signed certificate"
    assert "SSL_CERT_FILE" in raised.value.hint


async def test_a_server_without_tls_is_told_apart(tmp_path: Path) -> None:
    def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        async with server({"url": f"https://127.0.0.1:{port}/"}, tmp_path) as it:
            with pytest.raises(StartError, match="no secure connection to") as raised:
                await it.connect(modern=True)
    assert raised.value.hint == 'If it does not speak TLS, write "http://" in "url".'


LIMIT = 65_536


@pytest.mark.parametrize("as_events", [False, True], ids=["json", "events"])
async def test_an_answer_that_is_too_long_is_not_kept(tmp_path: Path, as_events: bool) -> None:
    sent = 0

    async def handle(asked: Asked, reply: Reply) -> None:
        nonlocal sent
        if await discovered(asked, reply):
            return
        if asked.message["params"]["name"] == "echo":
            await reply.result(asked, text("yes"))
            return
        await reply.raw(EVENTS if as_events else JSON, b"Connection: close\r\n\r\n")
        await reply.raw(b'data: {"' if as_events else b'{"')
        for _ in range(10_000):
            await reply.raw(b"x" * 10_000)
            sent += 10_000

    entry = {"messageLimit": LIMIT}
    async with serving(handle) as http, server({"url": http.url, **entry}, tmp_path) as it:
        session = await ready(it)
        with pytest.raises(TooLong):
            await call_tool(session, "flood", 30).result
        await call_tool(session, "echo", 5).result
    assert sent < 50_000_000


async def test_a_long_answer_within_the_limit_comes_through(tmp_path: Path) -> None:
    long = "é" * 3_000_000

    async def handle(asked: Asked, reply: Reply) -> None:
        if await discovered(asked, reply):
            return
        line = json.dumps({"jsonrpc": "2.0", "id": asked.id, "result": text(long)}, ensure_ascii=False)
        as_json = asked.message["params"]["name"] == "echo"
        await (reply.json(line) if as_json else reply.events(f"data: {line}"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        for tool in ("echo", "stream"):
            assert json.loads(bytes(await call_tool(session, tool, 20).result)) == text(long)
