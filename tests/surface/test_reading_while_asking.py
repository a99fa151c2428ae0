"""What a client sends is read in one way, whether it is being asked something or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import conversing_server
from tests.grid.questions import form
from tests.serve.relayed import Relayed, written
from tests.support.configs import toolboxes
from tests.support.sessions import LegacySession
from tests.support.talking import able, using

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Start
    from tests.support.client import Json
    from tests.support.journal import Journal

CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "call",
        "method": "tools/call",
        "params": {
            "name": "use_tool",
            "arguments": {
                "tool": {"toolbox": "dev", "server": "files", "tool": "read"},
                "arguments": {"text": "HERE"},
            },
        },
    }
).encode()
PING = b'{"jsonrpc":"2.0","id":"ping","method":"ping"}'
QUESTION = b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"said":"HERE"}}}'


def hello(version: str) -> bytes:
    params = {"protocolVersion": version, "capabilities": able("legacy")}
    return json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}).encode()


class Desk(Relayed):
    """A client that has a call in flight, and is asked something in it."""

    def __init__(self, directory: Path, *, asked: bool, version: str = "2025-11-25") -> None:
        super().__init__(directory, modern=False, handshake=False)
        self.client_says(hello(version))
        self.client_says(CALL.replace(b'"call"', b'"first"'))
        if asked:
            self.server_says(QUESTION)
        self._told = len(self.to_client)
        self._relayed = len(self.to_server)

    def answers(self, line: bytes) -> list[Json]:
        """What the client is told on account of a line."""
        self.client_says(line)
        return [json.loads(written(told)) for told in self.to_client[self._told :]]

    @property
    def reached(self) -> list[Json]:
        """What has reached the server since."""
        return [json.loads(written(line)) for line in self.to_server[self._relayed :]]


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (CALL.replace(b"HERE", b"\xff"), -32700),
        (CALL.replace(b'"call"', b'"\xff"'), -32700),
        (CALL.replace(b'"call"', b"1").replace(b"HERE", b"\xff"), -32700),
        (b'{"jsonrpc":"2.0","id":1,"params":{"x":"\xff"},"method":"ping"}', -32700),
        (b'{"id":1,"params":{},"method":"ping"', -32700),
        (b"[" + PING + b"]", -32600),
        (b"[" + CALL + b"]", -32600),
        (CALL.replace(b'"call"', rb'"\ud800"'), -32600),
        (PING.replace(b'"ping"', rb'"a\udc00b"', 1), -32600),
        (b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * 5000 + b"]" * 5000 + b',"method":5}', -32600),
    ],
)
async def test_a_wrong_message_is_refused_and_does_nothing(
    tmp_path: Path, line: bytes, code: int, asked: bool
) -> None:
    view = Desk(tmp_path, asked=asked)
    (answer,) = view.answers(line)
    assert answer["error"]["code"] == code
    assert answer.get("id") in (None, 1)
    assert view.reached == []


@pytest.mark.parametrize("asked", [False, True])
async def test_a_batch_is_taken_apart_in_the_version_that_has_them(tmp_path: Path, asked: bool) -> None:
    view = Desk(tmp_path, asked=asked, version="2025-03-26")
    assert view.answers(b"[" + PING + b"]") == [{"jsonrpc": "2.0", "id": "ping", "result": {}}]


async def test_an_answer_that_is_no_text_is_no_answer_and_the_server_does_not_wait_for_another(
    tmp_path: Path,
) -> None:
    view = Desk(tmp_path, asked=True)
    assert view.answers(ANSWER.replace(b"HERE", b"\xff")) == []
    (told,) = view.reached
    assert (told["id"], "could not be read" in told["error"]["message"]) == ("q", True)


async def test_a_batch_of_answers_is_refused_like_any_other(tmp_path: Path) -> None:
    view = Desk(tmp_path, asked=True)
    (answer,) = view.answers(b"[" + ANSWER + b"]")
    assert (answer["error"]["code"], view.reached) == (-32600, [])


async def test_half_a_character_in_an_id_is_told_from_a_character_that_looks_like_it(tmp_path: Path) -> None:
    view = Desk(tmp_path, asked=False)
    line = rb'{"jsonrpc":"2.0","id":"\ufffd","method":"ping","params":{"x":"\ud800"}}'
    assert view.answers(line) == [{"jsonrpc": "2.0", "id": "\ufffd", "result": {}}]


async def test_a_call_that_is_no_text_is_refused_over_stdio_while_a_question_is_open(
    start: Start, journal: Journal
) -> None:
    client = await start(toolboxes(dev={"s": conversing_server("legacy", journal)}))
    session = LegacySession(client)
    session.capabilities = able("legacy")
    await session.greet()
    client.respond = lambda _: None
    calling = json.dumps(using("s", {"steps": [{"ask": [form("?")]}]}))
    await session.begin("tools/call", calling, None, "asking")
    await client.wait_for(lambda it: it.get("method") == "elicitation/create")
    line = CALL.replace(b'"files"', b'"s"').replace(b"HERE", b"\xff")
    await client.send_raw(line + b"\n")
    refused = await client.wait_for(lambda it: "error" in it)
    assert (refused.get("id"), refused["error"]["code"]) == (None, -32700)
    assert sum('"tools/call"' in line for line in journal.lines) == 1
