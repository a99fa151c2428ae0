"""A call that is plain takes a short way to its server. What comes of it is the same as on the long one."""

from __future__ import annotations

import asyncio
import gc
import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.downstream.conversation.session import Session
from mcp_workbench.surface import use_request
from mcp_workbench.surface.relay.stamping import PIECE_BYTES
from tests.serve.relayed import MODERN_META, Relayed, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Outcome = Callable[..., tuple[list[bytes], list[bytes]]]
    """What goes to the server on account of some lines of the client's, and what comes back to the client."""

TOOL = {"toolbox": "dev", "server": "files", "tool": "read"}


def call(identifier: object = 7, **changed: Any) -> bytes:
    params = {"name": "use_tool", "arguments": {"tool": TOOL, "arguments": {"path": "a"}}} | changed
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": params}).encode()


def using(tool: object = TOOL, **more: object) -> bytes:
    return call(arguments={"tool": tool, **more})


PLAIN = {
    "as usual": call(),
    "an id of text": call("seven"),
    "not English": using(arguments={"path": "日本.txt"}),
    "not even escaped": using(arguments={"path": "?"}).replace(b"?", "日本.txt".encode()),
    "no arguments": using(),
    "a task": call(task={"ttl": 1}),
    "the modern era": call(_meta=MODERN_META),
    "metadata of the caller's": call(_meta={"progressToken": "p", "vendor/key": {"a": 1}}),
    "a member twice": call().replace(b'"id": 7', b'"id": 6, "id": 7'),
    "arguments twice": using(arguments={"path": "a"}).replace(
        b'"arguments": {"p', b'"arguments": {}, "arguments": {"p'
    ),
}
NOT_PLAIN = {
    "parameters that nobody knows": call(extra=[1]),
    "parameters that are arguments": call(input={"path": "b"}),
    "arguments under another name": using(args={"path": "a"}),
    "arguments under two names": using(args={"path": "a"}, arguments={}),
    "arguments inside of the tool": using(TOOL | {"arguments": {"path": "a"}}),
    "arguments beside the tool": using(path="a"),
    "a tool by the keys of a listing": using(
        {"toolbox_name": "dev", "source_server": "files", "name": "read"}
    ),
    "an unknown key inside of the tool": using(TOOL | {"path": "a"}),
    "arguments that are null": using(arguments=None),
    "arguments in a string": using(arguments='{"path": "a"}'),
    "arguments in a list": using(arguments=[1]),
    "a tool by the name of its name": using({"toolbox": "dev", "server": "files", "name": "read"}),
    "a tool that is text": using("dev/files/read"),
    "a tool without its server": using({"toolbox": "dev", "tool": "read"}),
    "a server without a name": using(TOOL | {"server": ""}),
    "a server that nobody knows": using(TOOL | {"server": "mail"}),
    "a toolbox that nobody knows": using(TOOL | {"toolbox": "mail"}),
    "none of our tools": call(name="read"),
    "metadata that is null": call(_meta=None),
    "an unknown version": call(_meta=MODERN_META | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}),
    "no capabilities": call(_meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
    "an id that is null": call(None),
    "an id that is a fraction": call(7.5),
    "an id that is true": call(True),
    "no id": call().replace(b'"id": 7, ', b""),
    "no version of JSON-RPC": call().replace(b'"jsonrpc": "2.0", ', b""),
    "another version of JSON-RPC": call().replace(b'"2.0"', b'"1.0"'),
    "bytes that are no text": call().replace(b'"a"', b'"\xff"'),
    "half of it": call()[:-5],
    "another method": call().replace(b"tools/call", b"tools/list"),
}


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    def outcome(*lines: bytes) -> tuple[list[bytes], list[bytes]]:
        it = Relayed(tmp_path, modern=False)
        for line in lines:
            it.client_says(line)
        it.server_says(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % it.latest_id)
        return [written(sent) for sent in it.to_server], [written(sent) for sent in it.to_client[1:]]

    return outcome


def refuse_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(use_request, "read_plain_use", lambda _: None)


def refuse_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        pytest.fail("this is not the short way")

    monkeypatch.setattr(use_request, "read_use", fail)


@pytest.mark.parametrize("line", (PLAIN | NOT_PLAIN).values(), ids=(PLAIN | NOT_PLAIN).keys())
async def test_both_ways_lead_to_the_same(
    line: bytes, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_first = outcome(line)
    assert bool(at_first[1]) == (b'"id"' in line)
    refuse_the_short_way(monkeypatch)
    assert outcome(line) == at_first


@pytest.mark.parametrize("line", PLAIN.values(), ids=PLAIN.keys())
async def test_a_plain_call_takes_the_short_way(
    line: bytes, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_the_long_way(monkeypatch)
    to_server, to_client = outcome(line)
    assert (len(to_server), len(to_client)) == (1, 1)


async def test_an_id_in_use_is_refused_either_way(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    to_server, to_client = at_first = outcome(call(), call())
    assert len(to_server) == 1
    assert b"is in use by a request in flight" in to_client[0]
    refuse_the_short_way(monkeypatch)
    assert outcome(call(), call()) == at_first


async def test_a_call_before_the_handshake_is_refused(tmp_path: Path) -> None:
    it = Relayed(tmp_path, modern=False, handshake=False)
    it.client_says(call())
    assert not it.to_server
    assert b"send `initialize` first" in written(it.to_client[0])


async def test_a_fault_of_ours_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = Relayed(tmp_path, modern=False)
    monkeypatch.setattr(Session, "call", lambda *_, **__: 1 / 0)
    it.client_says(call())
    assert json.loads(written(it.to_client[-1]))["error"]["code"] == -32603
    monkeypatch.undo()
    it.client_says(call())
    assert len(it.to_server) == 1


@pytest.mark.parametrize("name", ["open_toolbox", "use_tool"])
async def test_a_call_cancelled_in_the_same_breath_leaves_nothing(tmp_path: Path, name: str) -> None:
    it = Relayed(tmp_path, modern=False)
    it.disconnect()
    arguments = {"toolbox_name": "dev"} if name == "open_toolbox" else {"tool": TOOL}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        it.client_says(call(name=name, arguments=arguments))
        it.client_says(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}')
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
        gc.collect()
    assert not warned
    assert (it.to_server, len(it.to_client)) == ([], 1)


@pytest.mark.parametrize("space", [0, 1, PIECE_BYTES - 2, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES])
@pytest.mark.parametrize("member", [b"", b'"content":[]'])
async def test_a_result_is_stamped_however_much_space_is_in_it(
    tmp_path: Path, space: int, member: bytes
) -> None:
    it = Relayed(tmp_path, modern=True, modern_server=False)
    it.request()()
    body = b" " * space + member
    it.server_says(b'{"jsonrpc":"2.0","id":%d,"result":{%b}}' % (it.latest_id, body))
    line = written(it.to_client[-1])
    assert line.endswith((b"," if member else b"") + body + b"}}\n")
    assert json.loads(line)["result"].keys() == {"resultType", "_meta"} | ({"content"} if member else set())
