"""What the policy does with calls of every kind: it lets them pass, has a person asked, or refuses them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pytest

from mcp_workbench.errors import StartError, ToolHeld, ToolNotFound
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.kept.client_results import Content
from mcp_workbench.workbench.principal import Principal
from tests.support.kept import Maker
from tests.workbench.policy.deciding import Decided, Person, config_with

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.errors import CallError

REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "resources": ("resources/read", {"uri": "workbench:dev/files/file:///a"}),
    "prompts": ("prompts/get", {"name": "dev/files/greet"}),
    "completions": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "dev/files/greet"}, "argument": {"name": "a", "value": ""}},
    ),
}


@pytest.fixture(params=[False, True], ids=["legacy", "modern"])
def modern(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_a_call_that_is_allowed_passes_and_its_record_says_why(tmp_path: Path, modern: bool) -> None:
    decided = Decided(tmp_path, {"read": "allow"}, modern=modern)
    decided.call()
    assert decided.sent == ["tools/call"]
    assert decided.notes.begun[0].decision == CallDecision("allow", '"read": "allow" of the file')
    decided.relayed.answer(5)()
    assert decided.notes.outcomes == [("answered", "")]


async def test_a_call_that_is_denied_is_not_sent_and_the_model_is_told_which_rule_it_was(
    tmp_path: Path, modern: bool
) -> None:
    decided = Decided(tmp_path, {"r*": "deny"}, modern=modern)
    decided.call()
    assert (decided.sent, decided.notes.outcomes) == ([], [("refused", "CallDenied")])
    assert decided.answer["result"]["isError"] is True
    assert 'denies it, by the rule "r*": "deny" of the file' in decided.text
    assert decided.notes.begun[0].decision == CallDecision("deny", '"r*": "deny" of the file')


@pytest.mark.parametrize("kind", REQUESTS)
async def test_other_requests_are_decided_by_their_kind(tmp_path: Path, modern: bool, kind: str) -> None:
    method, params = REQUESTS[kind]
    decided = Decided(tmp_path, {kind: "deny"}, modern=modern)
    decided.request(1, method, **params)
    await decided.settle()
    assert decided.answer["error"]["message"].count(f'"{kind}": "deny" of the file') == 1
    decided.reload({"*": "deny", kind: "allow"})
    decided.request(2, method, **params)
    await decided.settle()
    decided.reload({"*": "ask"})
    decided.request(3, method, **params)
    await decided.settle()
    decisions = [(record.method, record.decision) for record in decided.notes.begun]
    assert decisions == [
        (method, CallDecision("deny", f'"{kind}": "deny" of the file')),
        (method, CallDecision("allow", f'"{kind}": "allow" of the file')),
        (method, CallDecision("ask", '"*": "ask" of the file')),
    ]
    assert len(decided.person.asked) == 1


async def test_a_person_is_asked_and_the_call_waits_for_the_answer(tmp_path: Path, modern: bool) -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    decided = Decided(tmp_path, {"*": "ask", "ask": "console"}, modern=modern, person=Person(answer))
    decided.call()
    await decided.settle()
    assert decided.person.asked == [("read", CallDecision("ask", '"*": "ask" of the file', place="console"))]
    assert decided.sent == []
    answer.set_result(None)
    await decided.settle()
    assert decided.sent == ["tools/call"]


async def test_a_call_that_was_approved_before_passes_at_once(tmp_path: Path, modern: bool) -> None:
    decided = Decided(tmp_path, "careful", modern=modern)
    decided.call()
    assert (decided.sent, len(decided.person.asked)) == (["tools/call"], 1)


async def test_a_rule_that_denies_meanwhile_counts_more_than_the_persons_answer(
    tmp_path: Path, modern: bool
) -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    decided = Decided(tmp_path, {"*": "ask"}, modern=modern, person=Person(answer))
    decided.call()
    await decided.settle()
    decided.reload({"read": "deny"})
    answer.set_result(None)
    await decided.settle()
    assert (decided.sent, decided.notes.outcomes) == ([], [("refused", "CallDenied")])
    assert decided.notes.begun[0].decision == CallDecision("deny", '"read": "deny" of the file')


async def test_the_answer_of_a_client_does_not_count_if_a_terminal_has_to_be_asked_meanwhile(
    tmp_path: Path, modern: bool
) -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    decided = Decided(tmp_path, {"*": "ask"}, modern=modern, person=Person(answer))
    decided.call()
    await decided.settle()
    decided.reload({"*": "ask", "ask": "console"})
    record = decided.notes.begun[0]
    assert record.decision is not None
    record.decision = msgspec.structs.replace(record.decision, by="user")
    answer.set_result(None)
    await decided.settle()
    assert (decided.sent, decided.notes.outcomes) == ([], [("refused", "CallRefused")])
    assert "in a terminal now" in decided.text


async def test_a_person_may_say_no(tmp_path: Path, modern: bool) -> None:
    decided = Decided(tmp_path, "careful", modern=modern, person=Person(refuses=True))
    decided.call()
    assert (decided.sent, decided.notes.outcomes) == ([], [("refused", "CallRefused")])
    assert decided.text.endswith("refused: the person said no")


class Unlisted:
    """Makes a server one whose tools were never listed, until it has started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hint: ToolHint | None) -> None:
        self._hint = hint
        self.may_start = asyncio.Event()
        self._has_listed = False
        monkeypatch.setattr(ConfiguredServer, "tool_hint", lambda *_: hint if self._has_listed else None)
        monkeypatch.setattr(ConfiguredServer, "tools", lambda *_, **__: self._start())

    async def _start(self) -> dict[str, object]:
        await self.may_start.wait()
        if self._hint is None:
            raise StartError("files", "it is not there")
        self._has_listed = True
        return {}


@pytest.mark.parametrize(
    ("hint", "decision"),
    [
        ("read-only", CallDecision("allow", '"read-only": "allow" of the file')),
        ("destructive", CallDecision("ask", '"*": "ask" of the file')),
        (None, CallDecision("deny", '"unknown": "deny" of the file')),
    ],
    ids=["a hint that is allowed", "a hint that is asked about", "it does not start"],
)
async def test_a_tool_that_was_never_listed_is_decided_about_when_its_server_has_started(
    tmp_path: Path,
    modern: bool,
    monkeypatch: pytest.MonkeyPatch,
    hint: ToolHint | None,
    decision: CallDecision,
) -> None:
    unlisted = Unlisted(monkeypatch, hint)
    policy = {"*": "ask", "unknown": "deny", "read-only": "allow"}
    decided = Decided(tmp_path, policy, modern=modern)
    decided.call()
    await decided.settle()
    assert (decided.sent, decided.notes.outcomes, decided.notes.begun[0].decision) == ([], [], None)
    unlisted.may_start.set()
    await decided.settle()
    assert decided.notes.begun[0].decision == decision
    assert decided.sent == ([] if decision.action == "deny" else ["tools/call"])
    assert len(decided.person.asked) == (decision.action == "ask")


async def test_rules_that_change_while_a_server_starts_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modern: bool
) -> None:
    unlisted = Unlisted(monkeypatch, "read-only")
    decided = Decided(tmp_path, {"read-only": "allow", "*": "deny"}, modern=modern)
    decided.call()
    await decided.settle()
    decided.reload({"*": "ask"})
    unlisted.may_start.set()
    await decided.settle()
    assert decided.notes.begun[0].decision == CallDecision("ask", '"*": "ask" of the file')
    assert len(decided.person.asked) == 1


@pytest.mark.parametrize(
    "policy", [{"read": "allow", "destructive": "deny"}, {"unknown": "ask", "*": "allow", "read": "ask"}]
)
async def test_hints_that_cannot_matter_are_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: dict[str, str]
) -> None:
    monkeypatch.setattr(ConfiguredServer, "tool_hint", lambda *_: pytest.fail("nobody needs it"))
    decided = Decided(tmp_path, policy)
    decided.call()
    assert decided.sent == ["tools/call"]


@pytest.mark.parametrize("steps", [0, 1, 5])
async def test_a_held_call_that_is_cancelled_is_neither_asked_about_nor_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    unlisted = Unlisted(monkeypatch, "read-only")
    decided = Decided(tmp_path, {"read-only": "ask", "limits": {"callsInFlight": 1}})
    decided.call()
    for _ in range(steps):
        await asyncio.sleep(0)
    unlisted.may_start.set()
    decided.cancel()
    await decided.settle()
    assert (decided.notes.outcomes, decided.person.asked, decided.sent) == ([("cancelled", "")], [], [])
    decided.call(2)
    await decided.settle()
    assert decided.sent == ["tools/call"]


async def test_a_reload_switches_the_policy_on_and_off(tmp_path: Path) -> None:
    decided = Decided(tmp_path, None)
    assert (decided.door.policy, decided.door.has_deciders) == (None, False)
    decided.call(1)
    assert decided.notes.begun[0].decision is None
    decided.reload({"read": "deny"})
    decided.relayed.answer(5)()  # the call in flight is not concerned
    assert decided.notes.outcomes == [("answered", "")]
    decided.call(2)
    assert decided.notes.outcomes[1:] == [("refused", "CallDenied")]
    decided.reload(None)
    assert (decided.door.policy, decided.door.has_deciders) == (None, False)
    decided.call(3)
    assert decided.sent == ["tools/call"] * 2


async def test_the_policy_of_a_token_counts_for_its_holder_alone(tmp_path: Path) -> None:
    decided = Decided(tmp_path, None)
    policy = config_with({"*": "deny"}).policy
    decided.policy.adopt_tokens([policy, config_with(None).policy])
    view = decided.relayed.view
    for name, of_token, outcome in (
        ("bob", None, ("answered", "")),
        ("ci", policy, ("refused", "CallDenied")),
        ("ci", config_with({"read": "allow"}).policy, ("answered", "")),
    ):
        view.refresh(Principal(name, None, of_token))
        decided.call(9)
        if not decided.answer.get("result", {}).get("isError") or outcome[0] == "answered":
            decided.relayed.answer(5)()
        assert decided.notes.outcomes[-1] == outcome
    decided.policy.adopt_tokens([])
    assert decided.door.policy is None


@pytest.mark.parametrize(
    ("policy", "flow", "decision"),
    [
        (None, "allow", CallDecision("allow", "")),
        (None, "deny", CallDecision("deny", "the flow")),
        ({"read": "ask"}, "allow", CallDecision("ask", '"read": "ask" of the file')),
        ({"read": "ask"}, "deny", CallDecision("deny", "the flow")),
        ({"read": "deny"}, "ask", CallDecision("deny", '"read": "deny" of the file')),
        ({"*": "allow", "ask": "console"}, "ask", CallDecision("ask", "the flow", place="console")),
        ({"x": "deny", "hide": True}, "deny", CallDecision("deny", "the flow")),
    ],
)
async def test_the_stricter_of_the_rule_and_the_flow_decides(
    tmp_path: Path, modern: bool, policy: object, flow: str, decision: CallDecision
) -> None:
    decided = Decided(tmp_path, policy, modern=modern, flows={"crm/*": flow})
    kept = decided.relayed.view.client_results
    assert kept is not None
    kept.keep_now([Content("res_db", b"x", "text")], Maker(("crm", "db")), 100)
    decided.call(a={"$result": "res_db"})
    decided.cancel()
    words = f'"crm/*": "{flow}" in "flows" of server dev/files, for a result of crm/db'
    expected = msgspec.structs.replace(decision, rule=decision.rule.replace("the flow", words))
    assert decided.notes.begun[0].decision == expected
    if decision.action == "deny":
        assert (decided.sent, decided.notes.outcomes) == ([], [("refused", "CallDenied")])


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ToolNotFound("new", "files", "dev", ()), "Tool 'new' not found in server 'files' (toolbox 'dev')."),
        (
            ToolHeld("new", "files", "dev", "nobody has approved it yet"),
            "Tool 'new' of server 'files' (toolbox 'dev') is held",
        ),
    ],
)
async def test_nobody_is_asked_about_a_call_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: CallError, told: str
) -> None:
    async def connect(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ConfiguredServer, "connect", connect)
    decided = Decided(tmp_path, {"*": "ask"})
    decided.call(tool="new")
    await decided.settle()
    assert decided.text.startswith(told)
    assert (decided.person.asked, decided.sent) == ([], [])


async def test_a_server_that_is_down_is_started_before_its_user_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tool may be held, or not be the one any more that was allowed for the session."""
    held = ToolHeld("read", "files", "dev", "its definition changed")
    monkeypatch.setattr(ConfiguredServer, "ready", lambda *_: None)
    monkeypatch.setattr(ConfiguredServer, "connect", mock.AsyncMock(side_effect=held))
    decided = Decided(tmp_path, {"*": "ask"})
    decided.call()
    await decided.settle()
    assert "is held" in decided.text
    assert (decided.person.asked, decided.sent) == ([], [])
