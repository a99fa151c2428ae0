"""The benchmark's client over HTTP believes no answer either that it has not verified."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import pytest

from bench.bodies import TEXT
from bench.over_http.client import HttpClient
from bench.process import TargetFailed
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmark is for Linux")

SIZE = 100
ECHO = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from bench import bodies

print("some last words", file=sys.stderr, flush=True)

class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    calls = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, length = 200, True
        answer = {"jsonrpc": "2.0", "id": request.get("id"), "result": {}}
        if request["method"] == "tools/call":
            answer["result"] = bodies.result("text", 100)
            if Echo.calls:
                MISTAKE
            Echo.calls += 1
        elif "id" not in request:
            status = 202
        body = json.dumps(answer, separators=(",", ":")).encode() if status != 202 else b""
        self.send_response(status)
        self.send_header("Mcp-Session-Id", "the-session")
        if length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Echo)
server.serve_forever()
"""
CALL = {"name": "any", "arguments": {}}


def target(mistake: str) -> HttpClient:
    """A target whose first answer to a call is right, and whose others have a mistake."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", ECHO.replace("MISTAKE", mistake), str(port)]
    return HttpClient("the target", command, {"PYTHONPATH": str(ROOT)}, port)


MISTAKES = {
    'answer["id"] += 1': "no answer to",
    'answer["error"] = answer.pop("result")': "bytes in place of",
    'answer["result"]["content"] = []': "bytes in place of",
    "status = 500": "bytes in place of|no answer to",
    "length = False": "without a length",
    "self.close_connection = True; return": "ended the connection",
}


@pytest.mark.parametrize(("mistake", "report"), MISTAKES.items(), ids=MISTAKES)
@pytest.mark.parametrize("connections", [None, 2], ids=["sequential", "parallel"])
def test_a_mistake_is_reported_with_the_name_of_the_target(
    mistake: str, report: str, connections: int | None
) -> None:
    with target(mistake) as client:
        client.handshake()
        call = client.prepare(CALL, TEXT, SIZE)
        with pytest.raises(TargetFailed, match=rf"(?s)^the target .*({report}).*\nsome last words"):
            client.time_parallel(call, 4, connections, 5.0) if connections else client.time_call(call)


def test_a_first_answer_that_was_changed_is_reported() -> None:
    with target("pass") as client:
        client.handshake()
        with pytest.raises(TargetFailed, match="changed a result"):
            client.prepare(CALL, TEXT, SIZE + 50)


def test_a_target_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with target("import threading; threading.Event().wait(5)") as client:
        client.handshake()
        monkeypatch.setattr("bench.process.PATIENCE", 0.5)
        call = client.prepare(CALL, TEXT, SIZE)
        with pytest.raises(TargetFailed, match=r"did not answer within 0\.5 s"):
            client.time_call(call)


def test_a_target_that_never_listens_is_given_up() -> None:
    client = HttpClient("the target", [sys.executable, "-c", "exit(3)"], {}, 1)
    with client, pytest.raises(TargetFailed, match=r"did not begin to listen \(it ended with code 3\)"):
        client.handshake()


@pytest.fixture
def honest() -> Iterator[HttpClient]:
    with target("pass") as client:
        client.handshake()
        yield client


def test_right_answers_are_timed_and_counted(honest: HttpClient) -> None:
    call = honest.prepare(CALL, TEXT, SIZE)
    assert honest.time_call(call) > 0
    count, seconds = honest.time_parallel(call, 10, 3, 5.0)
    assert count == 10
    assert seconds > 0
