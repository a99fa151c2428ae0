"""The demo's client, against workbenches that misbehave."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.demo import client as client_module
from mcp_workbench.demo.answers import Discovery
from mcp_workbench.demo.client import DemoClient, is_running
from mcp_workbench.errors import BadAnswer, ConnectionClosed, RemoteError, RequestTimeout, WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

ECHO = "import sys\nfor line in sys.stdin: print({answer!r}, flush=True)"
DEAF = "import sys, threading; threading.Event().wait()"


@contextmanager
def talking_to(script: str) -> Iterator[DemoClient]:
    with tempfile.TemporaryFile() as stderr, DemoClient([sys.executable, "-c", script], {}, stderr) as client:
        yield client


def discover(script: str) -> Discovery:
    with talking_to(script) as client:
        return client.request("server/discover", {}, Discovery).result


def test_an_answer_arrives_as_the_type_asked_for() -> None:
    answer = '{"jsonrpc":"2.0","id":1,"result":{"instructions":"Hello","unknown":1}}'

    assert discover(ECHO.format(answer=answer)) == Discovery(instructions="Hello")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ("no json", BadAnswer, "wrote a line that is not an answer"),
        ('{"id":1,"result":{"instructions":7}}', BadAnswer, "not what the demo expects"),
        ('{"id":1}', BadAnswer, "not what the demo expects"),
        ('{"id":1,"error":{"code":-32601,"message":"No such method"}}', RemoteError, "No such method"),
    ],
)
def test_a_bad_answer_is_named(answer: str, error: type[WireError], message: str) -> None:
    with pytest.raises(error, match=message):
        discover(ECHO.format(answer=answer))


def test_a_workbench_that_ends_is_noticed_at_once() -> None:
    with pytest.raises(ConnectionClosed):
        discover("")


def test_silence_and_a_refusal_to_end_are_waited_for_no_longer_than_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "PATIENCE_SECONDS", 0.2)
    with talking_to(DEAF) as client:
        with pytest.raises(RequestTimeout):
            client.request("server/discover", {}, Discovery)
        with pytest.raises(WireError, match="still runs"):
            client.close()
        process = client._process.pid

    assert not is_running(process)
