"""No secret value stands in an error or in the log, whatever a server does with it."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.errors import StartError, WireError
from mcp_workbench.wire.processes.stderr import MAX_LINE_CHARACTERS
from tests.downstream.servers import call_tool, server, shell
from tests.support.waiting import poll
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_workbench.downstream.server import Server
    from tests.support.client import Json

pytestmark = ON_BOTH_LOOPS

SECRET = "hunter2-and-some-more"  # noqa: S105 - made up for these tests
SECRETS = {SECRET: "<env TOKEN>"}
ENV = {"TOKEN": SECRET}

TELLING = """
import json, os, sys

def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def refuse(request_id):
    error = {"code": -1, "message": f"bad {os.environ['TOKEN']}", "data": {"token": os.environ["TOKEN"]}}
    say({"id": request_id, "error": error})

lists = 0
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == os.environ.get("REFUSED", "tools/call"):
        refuse(message["id"])
    elif method == "initialize":
        say({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    elif method == "tools/list" and not lists:
        lists += 1
        say({"id": message["id"], "result": {"tools": [{"name": "tell"}]}})
        if "CHANGES" in os.environ:
            say({"method": "notifications/tools/list_changed"})
    elif "id" in message:
        refuse(message["id"])
"""


def telling(**env: str) -> Json:
    """A server that puts its secret into every error that it answers with."""
    return {"command": sys.executable, "args": ["-S", "-c", TELLING], "env": {**ENV, **env}}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """All that was logged so far, down to the last detail."""
    monkeypatch.setattr(logging.getLogger("mcp_workbench"), "propagate", True)
    caplog.set_level(logging.DEBUG, "mcp_workbench")
    return lambda: caplog.text


async def failure_of(it: Server) -> str:
    """All that can be read off a server that does not start."""
    with pytest.raises(StartError) as raised:
        await it.connect(modern=True)
    error = raised.value
    return f"{error!r} {error.explained()} {error.reason} {error.stderr} {error.hint}"


async def test_one_that_is_echoed_on_stderr_by_a_failing_server_is_masked(
    tmp_path: Path, logged: Callable[[], str]
) -> None:
    entry = shell('echo "my token is $TOKEN" >&2; exit 1', env=ENV)
    async with server(entry, tmp_path, SECRETS) as it:
        text = await failure_of(it)
    assert "my token is <env TOKEN>" in text
    assert "my token is <env TOKEN>" in logged()
    assert SECRET not in text + logged()


async def test_one_that_stands_where_a_long_line_is_cut_is_masked(
    tmp_path: Path, logged: Callable[[], str]
) -> None:
    shown = len(SECRET) - 3
    script = f'printf "%0{MAX_LINE_CHARACTERS - shown}d$TOKEN\\n" 0 >&2; exit 1'
    async with server(shell(script, env=ENV), tmp_path, SECRETS) as it:
        text = await failure_of(it)
    assert SECRET[:shown] not in text + logged()


async def test_one_in_the_refusal_of_a_server_is_masked(tmp_path: Path, logged: Callable[[], str]) -> None:
    async with server(telling(REFUSED="initialize"), tmp_path, SECRETS) as it:
        text = await failure_of(it)
    assert 'JSON-RPC error -1: bad <env TOKEN>; data: {"token": "<env TOKEN>"}' in text
    assert SECRET not in text + logged()


@pytest.mark.parametrize(
    "entry",
    [{"command": f"/{SECRET}/server"}, {"command": "true", "cwd": f"/{SECRET}"}],
    ids=["command", "cwd"],
)
async def test_one_in_what_cannot_be_started_is_masked(
    tmp_path: Path, logged: Callable[[], str], entry: dict[str, Any]
) -> None:
    async with server(entry, tmp_path, SECRETS) as it:
        text = await failure_of(it)
    assert "/<env TOKEN>" in text
    assert SECRET not in text + logged()


async def test_one_in_the_error_of_a_call_is_masked(tmp_path: Path, logged: Callable[[], str]) -> None:
    async with server(telling(), tmp_path, SECRETS) as it:
        await it.connect(modern=True)
        assert it.up
        call = call_tool(it.up[0].session, "tell", 30)
        with pytest.raises(WireError) as raised:
            await call.result
        text = it.explain(raised.value, it.up[0].session)
    assert text == 'JSON-RPC error -1: bad <env TOKEN>; data: {"token": "<env TOKEN>"}'
    assert SECRET not in logged()


async def test_one_in_the_refusal_to_list_changed_tools_is_masked(
    tmp_path: Path, logged: Callable[[], str]
) -> None:
    async with server(telling(CHANGES="yes"), tmp_path, SECRETS) as it:
        await it.connect(modern=True)
        await poll(lambda: "its changed tools could not be listed" in logged())
    assert SECRET not in logged()
