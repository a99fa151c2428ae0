"""`use_tool_read_only`: only tools that are pinned as read-only, at the moment of sending."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config.model.results import BUILTIN
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.kept.builtin_server import BuiltinServer
from tests.serve.relayed import MODERN_META, Relayed, written
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.workbench.door import CallEnd, CallRecord

pytestmark = pytest.mark.asyncio

TOOL = {"toolbox": "dev", "server": "files", "tool": "read"}
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
CAN: dict[str, Any] = {"elicitation": {}}
INSTEAD = "Call it with use_tool instead"


class Ends:
    """An observer that keeps how calls ended."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        self.told.append((record.name, end.outcome, end.error))


class Locked:
    """A workbench with the tool, and the hint under which the server's tool is locked."""

    def __init__(
        self,
        directory: Path,
        *,
        modern: bool,
        modern_server: bool = False,
        hold: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.hint: ToolHint | None = "read-only"
        self.ends = Ends()
        self.modern = modern
        self.bench = Relayed(
            directory,
            modern=modern,
            modern_server=modern_server,
            handshake=False,
            door=Door([self] if hold else [], [self.ends]),
        )
        self._hold = hold
        self.asked = 0
        self.bench.workbench.has_read_only_tool = True
        (self.server,) = self.bench.workbench.toolbox_servers.values()
        self.server.tool_hint = lambda tool: self.hint  # type: ignore[method-assign] # noqa: ARG005 - as pinned
        if not modern:
            self.says("initialize", {"protocolVersion": "2025-11-25", "capabilities": CAN}, 0)

    def decide(self, record: CallRecord) -> Awaitable[None] | None:  # noqa: ARG002 - a decider
        self.asked += 1
        return self._hold() if self._hold else None

    def says(self, method: str, params: dict[str, Any], request_id: int) -> None:
        if self.modern:
            meta = {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": CAN}
            params = {**params, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.bench.client_says(json.dumps(message).encode())

    def call(self, name: str = "use_tool_read_only", request_id: int = 1, **more: object) -> None:
        self.says("tools/call", {"name": name, "arguments": {"tool": TOOL}, **more}, request_id)

    @property
    def sent(self) -> list[Any]:
        """The calls that the server got."""
        lines = [json.loads(written(line)) for line in self.bench.to_server]
        return [line for line in lines if line.get("method") == "tools/call"]

    @property
    def last(self) -> dict[str, Any]:
        """What the client was told last."""
        message: dict[str, Any] = json.loads(written(self.bench.to_client[-1]))
        return message

    @property
    def text(self) -> str:
        text: str = self.last["result"]["content"][0]["text"]
        return text

    def ask(self) -> None:
        """Let the server ask the user something in the middle of the call."""
        question = {"method": "elicitation/create", "params": FORM}
        message: dict[str, Any] = {"id": "q", **question}
        if self.bench._is_modern:
            result = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s"}
            message = {"id": self.bench.latest_id, "result": result}
        self.bench.server_says(json.dumps({"jsonrpc": "2.0", **message}).encode())


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("hint", ["read-only", "additive", "destructive", "unknown"])
async def test_only_a_tool_that_is_locked_as_read_only_is_called(
    tmp_path: Path, modern: bool, hint: ToolHint
) -> None:
    it = Locked(tmp_path, modern=modern)
    it.hint = hint
    it.call()
    if hint == "read-only":
        it.bench.answer(3)()
        assert it.text == "~~~"
        assert it.ends.told == [("read", "answered", "")]
        return
    assert it.sent == []
    assert it.text.startswith(
        "Call of 'read' in server 'files' (toolbox 'dev') refused: use_tool_read_only calls"
    )
    is_pinned = hint != "unknown"
    told = f"This one is pinned as {hint}. " if is_pinned else "What this one does is not known: "
    assert f"use_tool_read_only calls only tools that are pinned as read-only. {told}" in it.text
    assert ('"pin" is "off"' in it.text) == (hint == "unknown")
    assert it.text.endswith(INSTEAD)
    assert it.last["result"]["isError"] is True
    assert it.ends.told == [("read", "refused", "CallRefused")]


async def test_no_person_is_asked_about_a_call_that_is_refused_anyway(tmp_path: Path) -> None:
    it = Locked(tmp_path, modern=False, hold=lambda: asyncio.sleep(0))
    it.hint = "destructive"
    it.call()
    assert (it.asked, it.ends.told) == (0, [("read", "refused", "CallRefused")])


@pytest.mark.parametrize("later", ["destructive", None])
async def test_what_is_locked_at_the_moment_of_sending_counts(tmp_path: Path, later: ToolHint | None) -> None:
    """While a decider holds the call, another definition is locked; or the server is still not listed."""
    decided = asyncio.Event()

    async def hold() -> None:
        await decided.wait()

    it = Locked(tmp_path, modern=False, hold=hold)
    it.call()
    it.hint = later
    decided.set()
    await poll(lambda: bool(it.ends.told))
    assert (it.sent, it.text.endswith(INSTEAD)) == ([], True)


async def test_a_server_that_was_never_listed_decides_once_it_is(tmp_path: Path) -> None:
    it = Locked(tmp_path, modern=False)
    hints: list[ToolHint | None] = [None, "read-only"]
    it.server.tool_hint = lambda tool: hints.pop(0)  # type: ignore[method-assign] # noqa: ARG005 - as listed
    it.call()
    assert (len(it.sent), hints) == (1, [])


async def test_a_call_that_is_made_again_with_answers_is_checked_again(tmp_path: Path) -> None:
    it = Locked(tmp_path, modern=False, modern_server=True)
    for hint, sent in (("read-only", 2), ("destructive", 1)):
        before = len(it.sent)
        it.hint = "read-only"
        it.call(request_id=sent)
        it.ask()
        it.hint = hint  # type: ignore[assignment] # one of them
        answer = {"jsonrpc": "2.0", "id": it.last["id"], "result": {"action": "accept", "content": {}}}
        it.bench.client_says(json.dumps(answer).encode())
        assert len(it.sent) - before == sent
    assert it.text.endswith(INSTEAD)


@pytest.mark.parametrize("modern_server", [False, True])
async def test_a_state_is_for_the_tool_that_it_was_made_for(tmp_path: Path, modern_server: bool) -> None:
    """Otherwise a client that always allows the one could be made to resume a call of the other."""
    names = ("use_tool", "use_tool_read_only")
    for at, name in enumerate(names):
        other = names[1 - at]
        it = Locked(tmp_path, modern=True, modern_server=modern_server)
        it.call(name)
        it.ask()
        state = {
            "requestState": it.last["result"]["requestState"],
            "inputResponses": {"q": {"action": "accept"}},
        }
        it.call(other, 2, **state)
        assert "it belongs to another request" in it.last["error"]["message"]
        it.call(name, 3, **state)
        it.bench.answer(3)()
        assert (it.last["id"], it.text) == (3, "~~~")


async def test_the_tool_does_not_exist_unless_it_is_configured(tmp_path: Path) -> None:
    it = Locked(tmp_path, modern=False)
    it.bench.workbench.has_read_only_tool = False
    it.call()
    assert it.last["error"]["message"] == (
        "Unknown tool: use_tool_read_only (this server has open_toolbox and use_tool)"
    )
    assert it.sent == []


async def test_a_wrong_form_names_the_tool_that_was_called(tmp_path: Path) -> None:
    it = Locked(tmp_path, modern=False)
    it.says("tools/call", {"name": "use_tool_read_only", "arguments": {"tool": TOOL, "path": "/"}}, 1)
    assert 'use_tool_read_only does not take "path" beside "tool"' in it.text
    it.says("tools/call", {"name": "use_tool_readonly", "arguments": {}}, 2)
    assert it.last["error"]["message"].endswith(
        "(this server has open_toolbox and use_tool, and use_tool_read_only)"
    )


async def test_kept_results_may_be_read_through_it() -> None:
    builtin = BuiltinServer()
    assert builtin.origin == BUILTIN
    assert [builtin.tool_hint(tool) for tool in ("read_result", "search_result", "else")] == [
        "read-only",
        "read-only",
        None,
    ]
