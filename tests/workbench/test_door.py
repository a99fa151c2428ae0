"""The door of a workbench: who may refuse or hold a call there, and what is told of how it ended."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from mcp_workbench.downstream.conversation.session import Session
from mcp_workbench.errors import (
    BadAnswer,
    CallRefused,
    ConnectionClosed,
    ExecutionFailed,
    InputMissing,
    InvalidCall,
    LoginRequired,
    NotKept,
    NotTaken,
    Overloaded,
    RemoteError,
    RequestTimeout,
    StartError,
    ToolboxNotFound,
    ToolNotFound,
    Unreachable,
)
from mcp_workbench.workbench.door import Door
from tests.serve.relayed import Relayed, written
from tests.wire.loops import JumpingLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp_workbench.errors import CallError, WireError
    from mcp_workbench.workbench.door import CallEnd, CallRecord
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import ToolboxServer


@dataclass
class Asked:
    """A call that begins, as the door sees it."""

    method: str = "tools/call"
    origin: tuple[str, str] = ("dev", "git")
    name: str = "git_status"
    principal: str = "ann"
    client_name: str = "claude-code"
    parent: int | None = None
    request_bytes: int = 12
    arguments: bytes = b'{"path":"a"}'
    sources: tuple[tuple[str, str], ...] = ()


@dataclass
class Notes:
    """An observer that keeps what it is told."""

    begun: list[CallRecord] = field(default_factory=list)
    ended: list[tuple[CallRecord, CallEnd]] = field(default_factory=list)

    def on_begin(self, record: CallRecord) -> None:
        self.begun.append(record)

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        self.ended.append((record, end))

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(end.outcome, end.error) for _, end in self.ended]


class Faulty:
    """An observer that fails whatever it is told."""

    def on_begin(self, record: CallRecord) -> None:
        raise ValueError(record.name)

    def on_end(self, record: CallRecord, end: CallEnd) -> None:  # noqa: ARG002 - it fails before
        raise ValueError(record.name)


class Deciding:
    """A decider that does what the test says, and counts how often it was asked."""

    def __init__(self, decide: Callable[[CallRecord], Awaitable[None] | None]) -> None:
        self._decide = decide
        self.asked = 0

    def decide(self, record: CallRecord) -> Awaitable[None] | None:
        self.asked += 1
        return self._decide(record)


class Rules:
    """A policy that does what the test says, and keeps what it was asked about."""

    def __init__(self, decide: Callable[[CallRecord], Awaitable[None] | None]) -> None:
        self._decide = decide
        self.asked: list[tuple[CallRecord, object]] = []
        self.on_end: Callable[[CallRecord, CallEnd], None] | None = None

    def decide(self, record: CallRecord, call: object) -> Awaitable[None] | None:
        self.asked.append((record, call))
        return self._decide(record)

    def confirm(self, record: CallRecord, call: object) -> None: ...

    def shown(self, toolbox_server: ToolboxServer, principal: Principal) -> ToolboxServer:  # noqa: ARG002 - hides none
        return toolbox_server


def decide(door: Door) -> asyncio.Task[None] | None:
    """Begin a call, and decide about it."""
    call = Asked()
    return door.decide(door.begin(call), cast("ServerCall", call))


def refusal(reason: str = "not today") -> CallRefused:
    return CallRefused("git_status", "git", "dev", reason)


def passing(_: CallRecord) -> None:
    return None


def refusing(_: CallRecord) -> None:
    raise refusal()


def failing(_: CallRecord) -> None:
    raise KeyError("a fault of the decider")


async def fail_later() -> None:
    await asyncio.sleep(0)
    raise KeyError("a fault of the decider")


async def refuse_later() -> None:
    await asyncio.sleep(0)
    raise refusal()


def caused(by: Exception) -> ExecutionFailed:
    error = ExecutionFailed("git_status", "git", "dev", "it failed")
    error.__cause__ = by
    return error


ENDS: list[tuple[WireError | CallError, str, str]] = [
    (RequestTimeout(1, capped=False), "timed_out", "RequestTimeout"),
    (caused(TimeoutError()), "timed_out", "TimeoutError"),
    (ConnectionClosed("gone"), "failed", "ConnectionClosed"),
    (BadAnswer("no"), "failed", "BadAnswer"),
    (RemoteError(-1, "no", None), "failed", "RemoteError"),
    (InputMissing("no"), "failed", "InputMissing"),
    (NotTaken("no"), "failed", "NotTaken"),
    (Unreachable("no"), "failed", "Unreachable"),
    (LoginRequired("dev", "git", "no"), "failed", "LoginRequired"),
    (caused(StartError("git", "no")), "failed", "StartError"),
    (ExecutionFailed("git_status", "git", "dev", "again and again"), "failed", "ExecutionFailed"),
    (caused(Overloaded("many")), "refused", "Overloaded"),
    (Overloaded("many"), "refused", "Overloaded"),
    (ToolNotFound("x", "git", "dev", []), "refused", "ToolNotFound"),
    (ToolboxNotFound("dev", []), "refused", "ToolboxNotFound"),
    (InvalidCall("no"), "refused", "InvalidCall"),
    (NotKept("h"), "refused", "NotKept"),
    (refusal(), "refused", "CallRefused"),
]


@pytest.mark.parametrize(("error", "outcome", "name"), ENDS, ids=[f"{name}-{end}" for _, end, name in ENDS])
async def test_an_error_decides_the_outcome(error: WireError | CallError, outcome: str, name: str) -> None:
    notes = Notes()
    Door(observers=[notes]).begin(Asked()).failed(error)
    assert notes.outcomes == [(outcome, name)]


async def test_a_call_that_was_sent_is_not_refused_any_more() -> None:
    """Its toolbox was removed while the client was asked something."""
    notes = Notes()
    record = Door(observers=[notes]).begin(Asked())
    record.is_sent = True
    record.failed(ToolboxNotFound("dev", []))
    assert notes.outcomes == [("failed", "ToolboxNotFound")]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (b'{"content":[]}', "answered"),
        (b'{"content":[],"isError":false}', "answered"),
        (b'{"content":[],"isError":true}', "tool_error"),
        (b'{"isError" : true,"content":["%b"]}' % (b"x" * 5000), "tool_error"),
        (b'{"content":["%b"],"isError":true}' % (b"x" * 5000), "tool_error"),
        (b'{"content":[{"isError":true}]}', "answered"),
        (b'{"content":["\\"isError\\":true"]}', "answered"),
        (b'{"content":["x"],"isError":"true"}', "answered"),
    ],
)
async def test_a_result_says_whether_the_tool_failed(result: bytes, outcome: str) -> None:
    notes = Notes()
    Door(observers=[notes]).begin(Asked()).answered(msgspec.Raw(result))
    ((_, end),) = notes.ended
    assert (end.outcome, end.error, end.response_bytes) == (outcome, "", len(result))


def test_a_record_tells_who_called_what_and_how_long_it_took() -> None:
    async def calls() -> tuple[Notes, CallRecord, CallRecord]:
        notes = Notes()
        door = Door(observers=[notes])
        first = door.begin(Asked())
        await asyncio.sleep(90)
        first.close("asked")
        return notes, first, door.begin(Asked("resources/read", name="file:///a", parent=first.number))

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        notes, first, second = runner.run(calls())
    assert notes.begun == [first, second]
    assert (first.number, first.label, first.method) == (1, "dev/git/git_status", "tools/call")
    assert (first.principal, first.client, first.request_bytes) == ("ann", "claude-code", 12)
    assert (second.number, second.parent, second.label) == (2, 1, "dev/git/file:///a")
    assert first.end is not None
    assert (first.end.seconds, second.end) == (90, None)
    assert first.begun_at <= second.begun_at


async def test_only_the_first_end_counts() -> None:
    notes = Notes()
    record = Door(observers=[notes]).begin(Asked())
    record.close("cancelled")
    record.answered(msgspec.Raw(b"{}"))
    record.failed(ConnectionClosed("gone"))
    record.close("client_gone")
    assert notes.outcomes == [("cancelled", "")]
    assert record.end is notes.ended[0][1]


async def test_an_observer_that_fails_hurts_neither_the_call_nor_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before, after = Notes(), Notes()
    record = Door(observers=[before, Faulty(), after]).begin(Asked())
    record.answered(msgspec.Raw(b"{}"))
    assert before.outcomes == after.outcomes == [("answered", "")]
    assert before.begun == after.begun == [record]
    assert [(it.levelname, it.getMessage()) for it in caplog.records] == [
        ("ERROR", "an observer of calls failed at the beginning of dev/git/git_status"),
        ("ERROR", "an observer of calls failed at the end of dev/git/git_status"),
    ]


@pytest.mark.parametrize(
    ("door", "is_watched"),
    [
        (Door(), False),
        (Door([], []), False),
        (Door(observers=[Notes()]), True),
        (Door([Deciding(passing)]), True),
    ],
)
def test_a_door_without_deciders_and_observers_is_not_watched(door: Door, is_watched: bool) -> None:
    assert door.is_watched is is_watched


async def test_a_call_that_all_deciders_let_pass_is_not_held() -> None:
    deciders = [Deciding(passing), Deciding(passing)]
    door = Door(deciders)
    assert decide(door) is None
    assert [decider.asked for decider in deciders] == [1, 1]


async def test_the_policy_decides_before_the_deciders() -> None:
    rules, decider = Rules(refusing), Deciding(passing)
    door = Door([decider])
    door.adopt(rules)
    with pytest.raises(CallRefused, match="refused: not today"):
        decide(door)
    ((record, call),) = rules.asked
    assert (record.label, call, decider.asked) == ("dev/git/git_status", Asked(), 0)
    door.adopt(None)
    assert (decide(door), decider.asked, len(rules.asked)) == (None, 1, 1)


async def test_the_deciders_decide_about_what_the_policy_has_held() -> None:
    decider = Deciding(refusing)
    door = Door([decider])
    door.adopt(Rules(lambda _: asyncio.sleep(0)))
    decision = decide(door)
    assert decision is not None
    assert decider.asked == 0
    with pytest.raises(CallRefused, match="refused: not today"):
        await decision


def test_a_policy_makes_a_door_watched_for_as_long_as_there_is_one() -> None:
    door = Door()
    door.adopt(Rules(passing))
    assert (door.is_watched, door.has_deciders) == (True, True)
    door.adopt(None)
    assert (door.is_watched, door.has_deciders) == (False, False)


@pytest.mark.parametrize("policy_first", [True, False])
async def test_a_policy_and_an_observer_come_and_go_without_the_other(policy_first: bool) -> None:
    door, notes, rules = Door(), Notes(), Rules(passing)
    counted: list[CallRecord] = []
    rules.on_end = lambda record, _: counted.append(record)
    if policy_first:
        door.adopt(rules)
    door.add_observer(notes)
    if not policy_first:
        door.adopt(rules)
    door.begin(Asked()).close("cancelled")
    assert (len(counted), len(notes.ended)) == (1, 1)
    door.adopt(None)
    door.begin(Asked()).close("cancelled")
    assert (len(counted), len(notes.ended)) == (1, 2)
    door.adopt(rules)
    door.remove_observer(notes)
    door.begin(Asked()).close("cancelled")
    assert (len(counted), len(notes.ended), door.is_watched) == (2, 2, True)


async def test_a_record_has_arguments_and_result_only_if_they_are_kept() -> None:
    door = Door(observers=[Notes()])
    record = door.begin(Asked())
    record.answered(msgspec.Raw(b"{}"))
    assert (record.arguments, record.result) == (None, None)
    door.keeps_arguments = door.keeps_results = True
    record = door.begin(Asked())
    record.answered(msgspec.Raw(b"{}"))
    assert (record.arguments, bytes(record.result or b"")) == (b'{"path":"a"}', b"{}")


async def test_the_first_refusal_decides() -> None:
    deciders = [Deciding(passing), Deciding(refusing), Deciding(passing)]
    door = Door(deciders)
    with pytest.raises(CallRefused, match="refused: not today"):
        decide(door)
    assert [decider.asked for decider in deciders] == [1, 1, 0]


async def test_deciders_hold_a_call_one_after_the_other() -> None:
    order: list[str] = []

    def holding(name: str) -> Deciding:
        async def hold() -> None:
            order.append(f"{name} asks")
            await asyncio.sleep(0)
            order.append(f"{name} agrees")

        return Deciding(lambda _: hold())

    last = Deciding(passing)
    door = Door([Deciding(passing), holding("a"), holding("b"), last])
    decision = decide(door)
    assert decision is not None
    await decision
    assert order == ["a asks", "a agrees", "b asks", "b agrees"]
    assert last.asked == 1


@pytest.mark.parametrize("later", [refusing, lambda _: refuse_later()], ids=["at once", "awaited"])
async def test_a_held_call_can_be_refused_by_the_next_decider(
    later: Callable[[CallRecord], Awaitable[None] | None],
) -> None:
    last = Deciding(passing)
    door = Door([Deciding(lambda _: asyncio.sleep(0)), Deciding(later), last])
    decision = decide(door)
    assert decision is not None
    with pytest.raises(CallRefused, match="refused: not today"):
        await decision
    assert last.asked == 0


UNDECIDED = "it could not be decided whether it is allowed"


@pytest.mark.parametrize("fault", [failing, lambda _: True], ids=["raises", "returns nonsense"])
async def test_a_decider_that_fails_refuses_the_call(
    fault: Callable[[CallRecord], Awaitable[None] | None], caplog: pytest.LogCaptureFixture
) -> None:
    door = Door([Deciding(fault)])
    with pytest.raises(CallRefused, match=UNDECIDED):
        decide(door)
    assert [it.getMessage() for it in caplog.records] == ["a decider failed on dev/git/git_status"]
    assert caplog.records[0].exc_info


async def cancel_itself() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("hold", [fail_later, cancel_itself])
async def test_a_decider_that_fails_while_it_holds_a_call_refuses_it(
    hold: Callable[[], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    door = Door([Deciding(lambda _: hold())])
    decision = decide(door)
    assert decision is not None
    with pytest.raises(CallRefused, match=UNDECIDED):
        await decision
    assert [it.getMessage() for it in caplog.records] == ["a decider failed on dev/git/git_status"]


@pytest.mark.parametrize("steps", [0, 1, 3], ids=["before its first step", "in its first step", "later"])
async def test_a_decider_is_cancelled_with_the_call(steps: int, caplog: pytest.LogCaptureFixture) -> None:
    hold: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    door = Door([Deciding(lambda _: hold)])
    decision = decide(door)
    assert decision is not None
    for _ in range(steps):
        await asyncio.sleep(0)
    decision.cancel()
    await asyncio.wait([decision])
    await asyncio.sleep(0)
    assert (decision.cancelled(), hold.cancelled()) == (True, True)
    assert caplog.records == []


async def test_a_hold_that_was_never_begun_leaves_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a coroutine that nobody awaited nor an exception that nobody retrieved: both are reported."""

    async def cancel_at_once(hold: Awaitable[None]) -> None:
        door = Door([Deciding(lambda _: hold)])
        decision = decide(door)
        assert decision is not None
        decision.cancel()
        await asyncio.wait([decision])
        await asyncio.sleep(0)

    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failed.set_exception(refusal())
    await cancel_at_once(failed)
    await cancel_at_once(asyncio.sleep(1))
    del failed
    gc.collect()
    assert [it.getMessage() for it in caplog.records if it.levelno >= logging.WARNING] == []


class Held:
    """A call of a client in memory, with the door in the test's hands."""

    def __init__(self, directory: Path, *deciders: Deciding, modern: bool = False) -> None:
        self.notes = Notes()
        self.relayed = Relayed(directory, modern=modern, door=Door(deciders, [self.notes]))
        self.relayed.request(10)()

    @property
    def sent(self) -> list[bytes]:
        return [line for line in map(written, self.relayed.to_server) if b"tools/call" in line]

    @property
    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(written(self.relayed.to_client[-1]))
        return answer

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture(params=[False, True], ids=["legacy", "modern"])
def modern(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_nothing_is_sent_while_a_call_is_held(tmp_path: Path, modern: bool) -> None:
    hold: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    held = Held(tmp_path, Deciding(lambda _: hold), modern=modern)
    await held.settle()
    assert (held.sent, held.notes.outcomes, len(held.notes.begun)) == ([], [], 1)
    hold.set_result(None)
    await held.settle()
    assert [line.count(b"~") for line in held.sent] == [10]
    held.relayed.answer(5)()
    assert held.notes.outcomes == [("answered", "")]
    assert "isError" not in held.answer["result"]


@pytest.mark.parametrize("decide", [refusing, lambda _: refuse_later()], ids=["at once", "later"])
async def test_a_refused_call_is_never_sent_and_its_client_is_told_why(
    tmp_path: Path, modern: bool, decide: Callable[[CallRecord], Awaitable[None] | None]
) -> None:
    held = Held(tmp_path, Deciding(decide), modern=modern)
    await held.settle()
    assert (held.sent, held.notes.outcomes) == ([], [("refused", "CallRefused")])
    assert held.answer["result"]["isError"] is True
    assert "refused: not today" in held.answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("steps", [0, 5], ids=["at once", "later"])
@pytest.mark.parametrize("turns", [None, 0, 1, 2, 3])
async def test_a_held_call_that_is_cancelled_is_not_sent_afterwards(
    tmp_path: Path, steps: int, turns: int | None
) -> None:
    """Undecided (None), or so many turns of the loop after the decision to let it pass."""
    hold: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    held = Held(tmp_path, Deciding(lambda _: hold))
    for _ in range(steps):
        await asyncio.sleep(0)
    if turns is not None:
        hold.set_result(None)
        for _ in range(turns):
            await asyncio.sleep(0)
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    sent = list(held.sent)
    held.relayed.client_says(json.dumps({"jsonrpc": "2.0", **cancelled}).encode())
    await held.settle()
    assert held.sent == sent
    assert held.notes.outcomes == [("cancelled", "")]
    assert (hold.cancelled(), hold.done()) == (turns is None, True)


async def test_a_held_call_goes_to_the_server_that_is_configured_by_then(tmp_path: Path) -> None:
    """The server that it was made for may have ended, and would be started again by nobody's wish."""
    hold: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    held = Held(tmp_path, Deciding(lambda _: hold))
    held.relayed.view.toolboxes = {}
    held.relayed.view.toolbox_servers = {}
    hold.set_result(None)
    await held.settle()
    assert (held.sent, held.notes.outcomes) == ([], [("refused", "ToolboxNotFound")])
    assert "Toolbox 'dev' not found" in held.answer["result"]["content"][0]["text"]


async def test_a_call_has_no_record_where_nothing_observes(tmp_path: Path, modern: bool) -> None:
    relayed = Relayed(tmp_path, modern=modern, door=Door())
    relayed.request()()
    (call,) = relayed.calls
    assert (call.record, call.number) == (None, None)
    relayed.answer(5)()
    assert b'"~~~~~"' in written(relayed.to_client[-1])


async def test_a_call_that_the_workbench_itself_fails_to_send_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a bug in the workbench")

    monkeypatch.setattr(Session, "call", fail)
    held = Held(tmp_path)
    assert held.notes.outcomes == [("failed", "InternalError")]
    assert held.answer["error"]["code"] == -32603
    assert [it.getMessage() for it in caplog.records] == ["request 1 failed inside the workbench"]
