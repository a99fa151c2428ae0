"""Each cause of a failed start has a server that fails that way: `check --connect` tells cause and remedy."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, get_args

import pytest

from mcp_workbench.errors import Cause
from mcp_workbench.wire.processes.confinement import FAILED
from tests.cli.commands import Bench
from tests.downstream.diagnosis import recorded
from tests.support.configs import server, tool, toolboxes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.client import Json

DECLARES_AND_REFUSES = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}}
    else:
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


class Place(NamedTuple):
    """Where the servers of the test are: a directory for files, and addresses that answer in their ways."""

    directory: Path
    http: str
    https: str
    nobody: str

    def writes(self, text: str, **settings: object) -> Json:
        """A server that writes a text to stderr and ends."""
        path = self.directory / f"stderr-{abs(hash(text))}"
        path.write_text(text, encoding="utf-8")
        return sh(f"cat '{path}' >&2; exit 1", **settings)

    def program(self, content: bytes, mode: int = 0o755) -> Json:
        path = self.directory / f"program-{len(content)}-{mode}"
        path.write_bytes(content)
        path.chmod(mode)
        return {"command": str(path)}

    def only_python3(self) -> Json:
        path = self.directory / "bin"
        path.mkdir(exist_ok=True)
        (path / "python3").symlink_to(sys.executable)
        return {"command": "python", "env": {"PATH": str(path)}}


def sh(script: str, **settings: object) -> Json:
    return {"command": "/bin/sh", "args": ["-c", script], **settings}


class Failing(NamedTuple):
    """A server that fails, and what is to be told of it."""

    name: str
    entry: Callable[[Place], Json]
    cause: Cause
    error: str
    """How the error begins."""
    hint: str
    """A part of the remedy."""


FAILING = (
    Failing(
        "absent",
        lambda _: {"command": "no-such-program"},
        "program-missing",
        "command 'no-such-program' was not found",
        "(a desktop program has a shorter PATH than a terminal). It is not on the PATH: /",
    ),
    Failing(
        "python",
        Place.only_python3,
        "program-missing",
        "command 'python' was not found",
        'Write "command": "python3": it is at ',
    ),
    Failing(
        "arguments",
        lambda _: {"command": "npx -y foo"},
        "arguments-in-command",
        "command 'npx -y foo' was not found",
        'Write "command": "npx", "args": ["-y", "foo"]',
    ),
    Failing(
        "npm",
        lambda place: place.writes(recorded.NPM_404),
        "package-not-found",
        "npm error 404 Not Found",
        "Check the name and the version of the package",
    ),
    Failing(
        "uv",
        lambda place: place.writes(recorded.UV_NO_PACKAGE),
        "package-not-found",
        "Because mcp-server-no-such-xyz was not found in the package registry",
        "Check the name and the version of the package",
    ),
    Failing(
        "pip",
        lambda place: place.writes(recorded.PIP_NO_PACKAGE),
        "package-not-found",
        "ERROR: No matching distribution found for no-such-package-xyz-777",
        "Check the name and the version of the package",
    ),
    Failing(
        "offline",
        lambda place: place.writes(recorded.NPM_OFFLINE),
        "no-network",
        "npm error network request to",
        "Check the network",
    ),
    Failing(
        "module",
        lambda _: {"command": sys.executable, "args": ["-m", "no_such_module"]},
        "module-missing",
        f"{sys.executable}: No module named no_such_module (the server exited with code 1)",
        "Install the package that has the module no_such_module",
    ),
    Failing(
        "import",
        lambda _: {"command": sys.executable, "args": ["-c", "from json import no_such_name"]},
        "module-missing",
        "ImportError: cannot import name 'no_such_name' from 'json'",
        "Its Python packages do not fit together",
    ),
    Failing(
        "file",
        lambda _: {"command": sys.executable, "args": ["/no/such/server.py"]},
        "file-missing",
        f"{sys.executable}: can't open file '/no/such/server.py'",
        "correct the path",
    ),
    Failing(
        "directory",
        lambda _: {**sh("true"), "cwd": "/no/such/directory"},
        "file-missing",
        "its working directory '/no/such/directory' is not a directory",
        'Correct "cwd"',
    ),
    Failing(
        "variable",
        lambda _: {"command": sys.executable, "args": ["-c", "import os; os.environ['API_KEY']"]},
        "variable-missing",
        "KeyError: 'API_KEY' (the server exited with code 1)",
        "mcp-workbench secret set API_KEY",
    ),
    Failing(
        "inherited",
        lambda place: place.writes("Error: WORKBENCH_ONLY_KEY environment variable is required"),
        "variable-missing",
        "Error: WORKBENCH_ONLY_KEY environment variable is required",
        'add "inheritEnv": ["WORKBENCH_ONLY_KEY"]',
    ),
    Failing(
        "port",
        lambda place: place.writes(recorded.NODE_PORT),
        "port-in-use",
        "Error: listen EADDRINUSE: address already in use :::42283",
        "Another program uses port 42283",
    ),
    Failing(
        "no-execution",
        lambda place: place.program(b"#!/bin/sh\n", 0o644),
        "permission-denied",
        "command '",
        "Make it executable: chmod +x ",
    ),
    Failing(
        "no-access",
        lambda place: place.writes(recorded.NODE_PERMISSION),
        "permission-denied",
        "Error: EACCES: permission denied",
        "Give your user access to it",
    ),
    Failing(
        "foreign",
        lambda place: place.program(b"\x7fELF\x02\x01\x01" + b"\0" * 57),
        "wrong-architecture",
        "command '",
        "Install the one for this system and processor",
    ),
    Failing(
        "unconfined",
        lambda _: {
            **sh(f"echo '{FAILED}: [Errno 1] Operation not permitted' >&2; exit 125"),
            "sandbox": True,
        },
        "sandbox-unavailable",
        'its "sandbox" cannot be set up: ',
        'Delete "sandbox" to run it with your rights',
    ),
    Failing(
        "crash",
        lambda _: sh("kill -SEGV $$"),
        "crashed",
        "the server was ended by SIGSEGV before it could be used",
        "reinstall it, or try another version",
    ),
    Failing(
        "wordless",
        lambda _: {"command": "/bin/true"},
        "exited-silently",
        "the server exited with code 0 before it could be used, and wrote nothing to stderr",
        "Run its command in a terminal",
    ),
    Failing(
        "usage",
        lambda _: {"command": "/bin/echo", "args": ["Usage: serve [--stdio]"]},
        "not-mcp",
        '"Usage: serve [--stdio]" on its stdout is not MCP',
        "may need another argument to be an MCP server on stdio",
    ),
    Failing(
        "listening",
        lambda _: sh("echo Server listening on port 3000; exec sleep 60", startupTimeout=2),
        "http-on-stdio",
        '"Server listening on port 3000": it is an HTTP server',
        'write "url": "http://127.0.0.1:3000/mcp"',
    ),
    Failing(
        "silent",
        lambda _: sh("exec sleep 60", startupTimeout=1),
        "silent",
        "it was not ready within 1 s",
        'raise "startupTimeout" (now 1 s)',
    ),
    Failing(
        "hidden",
        lambda _: {**server(era="modern", tools=[tool("a"), tool("b")]), "toolFilters": ["c*"]},
        "all-tools-hidden",
        '"toolFilters" hides all of its tools (2: a, b)',
        'write ["*"] to show all tools',
    ),
    Failing(
        "unlisted",
        lambda _: {"command": sys.executable, "args": ["-c", DECLARES_AND_REFUSES]},
        "list-failed",
        "the request for its tools failed: JSON-RPC error -32601: Method not found",
        "The server says what is wrong",
    ),
    Failing(
        "tls",
        lambda place: {"url": f"{place.https}/mcp"},
        "tls-failed",
        "the certificate of https://127.0.0.1:",
        "name its authority in SSL_CERT_FILE",
    ),
    Failing(
        "dns",
        lambda _: {"url": "http://no-such-host.invalid/mcp"},
        "dns-failed",
        "the name no-such-host.invalid could not be resolved",
        'Check "url" and the network',
    ),
    Failing(
        "nobody",
        lambda place: {"url": f"{place.nobody}/mcp"},
        "unreachable",
        "no server answers at http://127.0.0.1:",
        "Is the server running?",
    ),
    Failing(
        "unauthorized",
        lambda place: {"url": f"{place.http}/401", "headers": {"Authorization": "Bearer stale-token-1234"}},
        "unauthorized",
        "the server did not accept ",
        "replace it in the configuration",
    ),
    Failing(
        "login",
        lambda place: {"url": f"{place.http}/401"},
        "login-required",
        "",
        "",
    ),
    Failing(
        "forbidden",
        lambda place: {"url": f"{place.http}/403"},
        "forbidden",
        "the server does not allow this (HTTP 403 Forbidden",
        "ask its operator",
    ),
    Failing(
        "not-found",
        lambda place: {"url": f"{place.http}/404"},
        "not-found",
        "there is no MCP server at this address (HTTP 404 Not Found",
        'Check "url"',
    ),
    Failing(
        "not-allowed",
        lambda place: {"url": f"{place.http}/405"},
        "method-not-allowed",
        "this address does not accept MCP requests (HTTP 405 Method Not Allowed",
        'Check "url"',
    ),
    Failing(
        "unknown",
        lambda _: sh("echo out of paper >&2; exit 3"),
        "failed",
        "the server exited with code 3 before it could be used",
        "Run its command in a terminal",
    ),
)


class _Refusing(BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = int(self.path[1:]) if self.path[1:].isdigit() else 404
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_DELETE = _refuse  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def refusing(context: ssl.SSLContext | None = None) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as http:
        if context is not None:
            http.socket = context.wrap_socket(http.socket, server_side=True)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        try:
            yield f"http{'s' if context else ''}://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()


def self_signed(directory: Path) -> ssl.SSLContext:
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-days",
        "2",
    ]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """What one run tells of all of them, by name."""
    bench = Bench(tmp_path_factory.mktemp("causes"))
    with ExitStack() as stack:
        nobody = stack.enter_context(
            socket.socket()
        )  # bound, so that no other program gets it; not listening
        nobody.bind(("127.0.0.1", 0))
        place = Place(
            bench.directory,
            stack.enter_context(refusing()),
            stack.enter_context(refusing(self_signed(bench.directory))),
            f"http://127.0.0.1:{nobody.getsockname()[1]}",
        )
        bench.write(toolboxes(dev={failing.name: failing.entry(place) for failing in FAILING}))
        environment = bench.environment({"WORKBENCH_ONLY_KEY": "a-value-that-is-secret"})
        command = [sys.executable, "-m", "mcp_workbench", "check", "--connect", "--json"]
        done = subprocess.run(
            command, cwd=bench.directory, env=environment, capture_output=True, check=False, encoding="utf-8"
        )
    assert (done.returncode, done.stderr) == (1, "")
    assert "a-value-that-is-secret" not in done.stdout
    assert "stale-token" not in done.stdout
    return {row["server"]: row for row in json.loads(done.stdout)["servers"]}


@pytest.mark.parametrize("failing", FAILING, ids=lambda failing: failing.name)
def test_the_cause_and_the_remedy_are_told(told: dict[str, Json], failing: Failing) -> None:
    row = told[failing.name]
    assert (row["state"], row["cause"]) == ("failed", failing.cause)
    assert row["error"].startswith(failing.error)
    assert failing.hint in row.get("hint", "")


def test_every_cause_but_one_of_the_file_itself_is_among_them() -> None:
    assert {failing.cause for failing in FAILING} == {*get_args(Cause)} - {"websocket-url"}


def test_a_websocket_is_told_when_the_file_is_read(bench: Bench) -> None:
    bench.write(toolboxes(dev={"socket": {"url": "wss://example.com/mcp"}}))
    code, outcome = bench.run_json("check", "--connect", "--json")
    (problem,) = outcome["problems"]
    assert (code, problem["cause"]) == (2, "websocket-url")
    assert problem["what"] == "is a WebSocket address, and MCP has no WebSocket transport"
    assert problem["remedy"].startswith("Write the https:// address of the server")
