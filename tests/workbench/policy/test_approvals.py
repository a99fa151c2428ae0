"""Who is asked about a call, what an answer allows, and what a person in a terminal can do."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pytest

from mcp_workbench.config.model.shares import SharesConfig
from mcp_workbench.errors import CallRefused, ConnectionClosed, RemoteError, RequestTimeout
from mcp_workbench.fairness import Shares
from mcp_workbench.storage.trust.approval_files import ApprovalFiles
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.policy import console, session_grants
from mcp_workbench.workbench.policy.approvals import Approvals
from mcp_workbench.workbench.policy.approver import UserAnswer
from mcp_workbench.workbench.policy.console import Console
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.errors import WireError

RULE = '"delete_*": "ask" of toolbox dev'
ASK = CallDecision("ask", RULE)
ACCEPT = msgspec.Raw(b'{"action":"accept"}')
SESSION = msgspec.Raw(b'{"action":"accept","content":{"allow":"session"}}')


class View:
    """The view of one client. It can be referred to weakly, as the real one."""

    def __init__(self, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared


class Case:
    """Approvals of a workbench with its files, and calls to ask about."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.files = ApprovalFiles(environ)
        self.shares = Shares()
        self.approvals = Approvals(Console("/project/workbench-config.json", environ), self.shares)
        self.view = View()
        self.definition = msgspec.Raw(b'{"name":"delete_file"}')

    def call(self, *, can_ask: bool = False, **fields: Any) -> Any:
        server = mock.Mock(mask=str)
        server.definition = lambda _: self.definition
        made = {
            "method": "tools/call",
            "origin": ("dev", "fs"),
            "arguments": b'{"path":"/srv/x"}',
            "toolbox_server": server,
            "tool": "delete_file",
            "principal": "",
            "client_name": "agent",
            "view": self.view,
            "approval": None,
            "bound": lambda: b"tools/call dev fs delete_file",
            "can_ask_user": lambda _: can_ask,
            "ask_user": mock.AsyncMock(return_value=ACCEPT),
            **fields,
        }
        name = made.pop("name", "delete_file")
        call = mock.Mock(**made)
        call.name = name
        return call

    async def ask(self, call: Any, decision: CallDecision = ASK) -> str:
        """Ask about a call, and return who approved it. Raises CallRefused."""
        record = mock.Mock(decision=decision)
        async with asyncio.timeout(PATIENCE):
            if (hold := self.approvals.ask(record, call, decision)) is not None:
                await hold
        assert record.decision == msgspec.structs.replace(decision, by=record.decision.by)
        by: str = record.decision.by
        return by

    async def refusal(self, call: Any, decision: CallDecision = ASK) -> str:
        with pytest.raises(CallRefused) as raised:
            await self.ask(call, decision)
        return raised.value.reason


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case({"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CACHE_HOME": str(tmp_path / "cache")})


# --- the client's user -----------------------------------------------------------------------------------


async def test_a_user_who_can_be_asked_is_asked_through_the_client(case: Case) -> None:
    call = case.call(can_ask=True)
    assert await case.ask(call) == "user"
    question = msgspec.json.decode(call.ask_user.call_args.args[0])
    assert question["message"].startswith("[workbench] Allow this call?\nTool: delete_file\n")
    # Good once: the same call is asked about again.
    await case.ask(call)
    assert call.ask_user.call_count == 2
    assert case.files.pending() == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RequestTimeout(300, capped=False), "did not answer within 300 s"),
        (
            RemoteError(-32603, "no \x1b[2Jwindow", None),
            "could not ask the user whether to allow it: no window",
        ),
        (ConnectionClosed("the client has disconnected"), "the client has disconnected"),
    ],
)
async def test_a_client_that_gives_no_answer_has_not_approved(
    case: Case, error: WireError, reason: str
) -> None:
    assert reason in await case.refusal(case.call(can_ask=True, ask_user=mock.AsyncMock(side_effect=error)))


async def test_too_many_open_questions_of_one_principal_are_refused_and_no_others(case: Case) -> None:
    case.shares.adopt(SharesConfig(questions=1))
    never: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(
        case.ask(case.call(can_ask=True, principal="ada", ask_user=lambda *_: never))
    )
    await asyncio.sleep(0)
    assert "too many calls already wait" in await case.refusal(case.call(can_ask=True, principal="ada"))
    assert await case.ask(case.call(can_ask=True, principal="bob")) == "user"
    never.set_result(ACCEPT)
    assert await waiting == "user"
    assert await case.ask(case.call(can_ask=True, principal="ada")) == "user"


# --- for the session -------------------------------------------------------------------------------------


async def allow_for_session(case: Case) -> None:
    await case.ask(case.call(can_ask=True, ask_user=mock.AsyncMock(return_value=SESSION)))


async def test_a_tool_is_allowed_for_the_session_with_any_arguments(case: Case) -> None:
    await allow_for_session(case)
    assert await case.ask(case.call(arguments=b'{"path":"/other"}')) == "session"


@pytest.mark.parametrize(
    "other",
    [{"view": View()}, {"client_name": "other"}, {"origin": ("dev", "git")}, {"method": "prompts/get"}],
)
async def test_a_session_allows_nothing_else(case: Case, other: dict[str, Any]) -> None:
    await allow_for_session(case)
    assert "this client cannot ask its user" in await case.refusal(case.call(**other))
    # Nor what another rule asks about, such as the results of another server that the tool is handed.
    await case.refusal(case.call(), CallDecision("ask", 'flows: "dev/mail": "ask" of server dev/fs'))


async def test_a_changed_definition_ends_what_was_allowed(case: Case) -> None:
    await allow_for_session(case)
    case.definition = msgspec.Raw(b'{"name":"delete_file","description":"and more"}')
    await case.refusal(case.call())
    case.definition = msgspec.Raw(b'{"name":"delete_file"}')
    await case.refusal(case.call())


async def test_clients_without_a_session_are_allowed_for_a_time(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.view = View(is_shared=True)
    await allow_for_session(case)
    assert await case.ask(case.call()) == "session"
    later = time.monotonic() + session_grants.SHARED_GRANT_SECONDS
    monkeypatch.setattr(session_grants, "time", mock.Mock(monotonic=lambda: later))
    await case.refusal(case.call())


async def test_what_was_allowed_is_forgotten_with_the_client(case: Case) -> None:
    await allow_for_session(case)
    gone, case.view = weakref.ref(case.view), View()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("method", "is_shared", "offer"),
    [
        ("tools/call", False, "Allow for this session, with any arguments"),
        ("tools/call", True, "Allow for 30 minutes, with any arguments"),
        ("resources/read", False, "Allow this resource for this session"),
        ("resources/read", True, "Allow this resource for 30 minutes"),
        ("prompts/get", False, "Allow this prompt for this session, with any arguments"),
        ("completion/complete", False, "Allow its completions for this session"),
        ("resources/subscribe", False, "Allow it for this session"),
    ],
)
async def test_the_offer_for_the_session_says_what_it_allows(
    case: Case, method: str, is_shared: bool, offer: str
) -> None:
    call = case.call(can_ask=True, method=method, view=View(is_shared=is_shared))
    await case.ask(call)
    question = msgspec.json.decode(call.ask_user.call_args.args[0])
    assert question["requestedSchema"]["properties"]["allow"]["enumNames"] == ["Allow once", offer]


async def test_only_so_much_is_remembered_of_a_session(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_grants, "MAX_GRANTS", 1)
    await allow_for_session(case)
    answered = mock.AsyncMock(return_value=SESSION)
    await case.ask(case.call(can_ask=True, origin=("dev", "git"), ask_user=answered))
    await case.refusal(case.call())
    assert await case.ask(case.call(origin=("dev", "git"))) == "session"


# --- a person in a terminal ------------------------------------------------------------------------------


async def test_a_completion_of_a_modern_client_is_refused_for_the_right_reason(case: Case) -> None:
    modern, legacy = mock.Mock(is_modern=True), mock.Mock(is_modern=False)
    why = (
        "and a completion leaves no room for a question to the user of the client. The user can allow it with"
    )
    assert why in await case.refusal(case.call(method="completion/complete", caller=modern))
    assert "cannot ask its user" in await case.refusal(case.call(method="completion/complete", caller=legacy))


async def test_the_address_of_a_resource_is_masked_in_the_pending_file_and_in_the_log(
    case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    uri = "mem://u:s3cr3tpw@host/x?token=abcd"
    await case.refusal(case.call(method="resources/read", name=uri, tool=None, arguments=b"{}"))
    (pending,) = case.files.pending()
    masked = "mem://u:***@host/x?token=***"
    assert (pending.name, pending.lines[1]) == (masked, f"Resource: {masked}")
    assert f"a call waits for `mcp-workbench approvals`: {masked}" in caplog.text
    assert "s3cr3tpw" not in caplog.text


async def test_a_client_that_cannot_ask_is_told_how_the_user_can_allow_the_call(case: Case) -> None:
    assert await case.refusal(case.call()) == (
        f"it needs an approval ({RULE}), and this client cannot ask its user. "
        "The user can allow it with `mcp-workbench approvals` in a terminal, within 10 minutes. "
        "Then repeat the same call"
    )
    (pending,) = case.files.pending()
    assert (pending.toolbox, pending.server, pending.name) == ("dev", "fs", "delete_file")
    assert pending.lines[-1] == '  path: "/srv/x"'
    assert case.files.answer(pending, allow=True)
    assert await case.ask(case.call()) == "console"
    await case.refusal(case.call())


async def test_a_policy_may_have_a_terminal_asked_in_place_of_the_client(case: Case) -> None:
    call = case.call(can_ask=True)
    decision = CallDecision("ask", RULE, place="console")
    assert "which has to be given in a terminal" in await case.refusal(call, decision)
    assert call.ask_user.call_count == 0


async def test_what_the_client_answered_before_does_not_count_where_a_terminal_is_asked(case: Case) -> None:
    decision = CallDecision("ask", RULE, place="console")
    allowed = case.call(can_ask=True, ask_user=mock.AsyncMock(return_value=SESSION))
    assert [await case.ask(allowed), await case.ask(allowed)] == ["user", "session"]
    assert "in a terminal" in await case.refusal(allowed, decision)
    for choice in ("once", "session"):
        retried = case.call(approval=UserAnswer(choice))
        assert "in a terminal" in await case.refusal(retried, decision)
    assert await case.ask(case.call(approval=UserAnswer("once", "console")), decision) == "console"


async def test_a_denied_call_is_told_so(case: Case) -> None:
    await case.refusal(case.call())
    case.files.answer(case.files.pending()[0], allow=False)
    reason = "a person was asked by `mcp-workbench approvals` whether to allow it, and said no"
    assert [await case.refusal(case.call()) for _ in range(2)] == [reason, reason]
    assert case.files.pending() == []


@pytest.mark.parametrize(
    "other", [{"principal": "bob"}, {"bound": lambda: b"tools/call dev fs delete_file with other arguments"}]
)
async def test_an_approval_in_a_terminal_is_for_that_call_alone(case: Case, other: dict[str, Any]) -> None:
    await case.refusal(case.call())
    case.files.answer(case.files.pending()[0], allow=True)
    await case.refusal(case.call(**other))
    project = Approvals(Console("/other/workbench-config.json", case.environ), case.shares)
    ours, case.approvals = case.approvals, project
    await case.refusal(case.call())
    case.approvals = ours
    assert await case.ask(case.call()) == "console"


async def test_a_call_is_held_while_a_person_is_at_a_terminal(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "POLL_SECONDS", 0.01)
    with case.files.terminal() as be_there:
        assert be_there()
        first, second = (asyncio.create_task(case.ask(case.call())) for _ in range(2))
        await poll(lambda: len(case.files.pending()) == 1)
        case.files.answer(case.files.pending()[0], allow=True)
        # One answer lets one call pass. The other asks anew.
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
        await poll(lambda: len(case.files.pending()) == 1)
        assert [first.done(), second.done()].count(True) == 1
        last = second if first.done() else first
        case.files.answer(case.files.pending()[0], allow=False)
        with pytest.raises(CallRefused, match="said no"):
            await last


async def test_a_cancelled_call_waits_no_more_and_one_without_an_answer_stays_pending(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "POLL_SECONDS", 0.01)
    with case.files.terminal() as be_there:
        be_there()
        with mock.patch.object(ApprovalFiles, "state", autospec=True, return_value="open") as looked:
            held = asyncio.create_task(case.ask(case.call()))
            await poll(lambda: looked.call_count > 2)
            held.cancel()
            await asyncio.wait([held])
        assert case.files.pending() == []
        monkeypatch.setattr(console, "HOLD_SECONDS", 0.02)
        assert "Then repeat the same call" in await case.refusal(case.call())
        assert len(case.files.pending()) == 1


async def test_without_a_data_directory_the_call_is_refused_with_what_remains(
    case: Case, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("not a directory")
    reason = await case.refusal(case.call())
    assert "the data directory of the workbench cannot be used" in reason
    assert str(tmp_path) not in reason


async def test_too_many_pending_approvals_are_refused(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_workbench.storage.trust.approval_files.MAX_PENDING", 0)
    assert "Too many calls wait for an approval already" in await case.refusal(case.call())
