"""A server that ended, was silent or wrote something else is told with its cause and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.diagnosis import CAUSES
from mcp_workbench.downstream.diagnosis.starts import LastWords, on_exit, on_silence, on_wire_error
from mcp_workbench.errors import BadAnswer, Cause, RemoteError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG = ServerConfig(command="x", startup_timeout=7.5)
REMOTE = ServerConfig(url="http://127.0.0.1/", startup_timeout=7.5)
MORE = (
    "Run its command in a terminal to see more. "
    "Servers get a small safe environment (PATH, HOME, proxies, …), not all of yours: if this one needs a "
    'variable, put it into its "env", name it in "inheritEnv", or set "inheritEnv": true.'
)
STDIO = (
    'Check "command" and "args": the program may need another argument to be an MCP server on stdio, such as '
    '"stdio", "mcp" or "serve".'
)
FAULT = "The program itself crashed: reinstall it, or try another version."


def words(stdout: Sequence[str] = (), stderr: Sequence[str] = ()) -> LastWords:
    return LastWords(stdout, stderr)


def test_every_cause_is_explained() -> None:
    assert set(CAUSES) == set(get_args(Cause))


@pytest.mark.parametrize(
    ("how", "code", "said", "told"),
    [
        (
            "the server exited with code 3",
            3,
            words(stderr=["no licence"]),
            ("failed", "the server exited with code 3 before it could be used", MORE),
        ),
        (
            "the server exited with code 0",
            0,
            words(stderr=[" "]),
            (
                "exited-silently",
                "the server exited with code 0 before it could be used, and wrote nothing to stderr",
                MORE,
            ),
        ),
        (
            "the server was ended by SIGSEGV",
            -11,
            words(),
            ("crashed", "the server was ended by SIGSEGV before it could be used", FAULT),
        ),
        (
            "the server exited with code 134",
            134,
            words(),
            ("crashed", "the server exited with code 134 before it could be used (SIGABRT)", FAULT),
        ),
        (
            "the server was ended by SIGKILL",
            -9,
            words(stderr=["loading"]),
            (
                "crashed",
                "the server was ended by SIGKILL before it could be used",
                "The system may have killed it for lack of memory: free some, or give it less to load.",
            ),
        ),
        (
            "the server exited with code 0",
            0,
            words(stdout=["", "Usage", "more"]),
            (
                "not-mcp",
                '"Usage" on its stdout is not MCP (the server exited with code 0 before it could be used)',
                STDIO,
            ),
        ),
    ],
)
def test_an_end_is_told_with_its_cause(
    how: str, code: int, said: LastWords, told: tuple[str, str, str]
) -> None:
    failure = on_exit(CONFIG, how, code, said, {})
    assert (failure.cause, failure.reason, failure.hint) == told


def test_the_end_of_a_connection_to_a_remote_server_has_no_hint() -> None:
    failure = on_exit(REMOTE, "the server ended the session", None, words(), {})
    assert (failure.cause, failure.hint) == ("failed", "")


def test_silence_is_told_with_the_setting() -> None:
    slow = (
        "If it is only slow (the first npx or uvx of a package downloads it), "
        'raise "startupTimeout" (now 7.5 s).'
    )
    assert on_silence(CONFIG, words(stderr=["loading"])).hint == slow
    failure = on_silence(REMOTE, words())
    assert (failure.cause, failure.reason) == ("silent", "it was not ready within 7.5 s")
    assert failure.hint == 'If it is only slow, raise "startupTimeout" (now 7.5 s).'


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("Server listening on port 3000", "http://127.0.0.1:3000/mcp"),
        ("[INFO] HTTP server listening on port: 3333", "http://127.0.0.1:3333/mcp"),
        (
            "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)",
            "http://127.0.0.1:8000",
        ),
        ("MCP endpoint available at http://localhost:8931/mcp", "http://localhost:8931/mcp"),
        ("Running on 0.0.0.0:5000", "http://127.0.0.1:5000/mcp"),
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_http_server_is_told_apart_with_its_url(stream: str, line: str, url: str) -> None:
    failure = on_silence(CONFIG, words(**{stream: [line]}))
    assert failure.cause == "http-on-stdio"
    assert failure.reason.startswith(f'"{" ".join(line.split())}": it is an HTTP server')
    assert failure.hint == f'Start it yourself, and write "url": "{url}" in place of "command".'


def test_an_ordinary_banner_is_no_http_server() -> None:
    assert on_silence(CONFIG, words(stderr=["MCP server running on stdio"])).cause == "silent"


def test_a_list_that_is_refused_or_wrong_is_told_apart() -> None:
    refused = on_wire_error(RemoteError(-32601, "Method not found", None), is_listing=True)
    assert (refused.cause, refused.reason) == (
        "list-failed",
        "the request for its tools failed: JSON-RPC error -32601: Method not found",
    )
    assert on_wire_error(BadAnswer("its list of tools never ends"), is_listing=True).cause == "list-failed"
    assert on_wire_error(BadAnswer("no"), is_listing=False).cause == "failed"
    assert on_wire_error(Unreachable("gone"), is_listing=True).cause == "unreachable"
