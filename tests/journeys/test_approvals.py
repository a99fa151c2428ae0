"""Where the policy says `ask`, a person decides about each call, whatever client and server there are."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from mcp_workbench import CallRefused, Workbench
from tests.cli.commands import MODULE
from tests.grid.benches import ERAS, Cell, open_bench
from tests.grid.questions import form, shown
from tests.support.client import clean_environment
from tests.support.configs import server, toolboxes
from tests.support.sessions import RpcError, failure_of
from tests.support.talking import oblige
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

ASK = {"policy": {"*": "ask"}}
ONCE: Json = {"action": "accept", "content": {"allow": "once"}}
SESSION: Json = {"action": "accept", "content": {"allow": "session"}}
APPROVALS = "The user can allow it with `mcp-workbench approvals` in a terminal"


class User:
    """Decides about calls, and says yes to what servers ask."""

    def __init__(self, cell: Cell) -> None:
        self.asked: list[str] = []
        self.decision = ONCE
        self.cell = cell
        cell.talker.respond = self.respond

    def respond(self, question: Json) -> Json:
        message = question["params"]["message"]
        if not message.startswith("[workbench]"):
            return oblige(question)
        self.asked.append(message)
        return {"result": self.decision}

    def about(self) -> list[list[str]]:
        """The first lines of what the user was asked since this was last looked at."""
        lines = [message.splitlines()[1:3] for message in self.asked]
        self.asked.clear()
        return lines


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_the_user_is_asked_before_anything_is_sent(
    tmp_path: Path, client_era: Era, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, entry=ASK, over=over) as bench:
        for server_era in ERAS:
            cell = Cell(bench, server_era)
            user = User(cell)
            where = f"Server: {server_era} (toolbox dev)"
            # Once for the call, and then what its server asks.
            assert await cell.answers({"ask": [form("Name?")]}) == [[oblige(form("Name?"))]]
            assert user.about() == [["Tool: converse", where]]
            assert cell.talker.asked[1:] == [shown(form("Name?"), server_era)]
            await others_are_asked_about(cell, user)
            await a_session_is_asked_about_once(cell, user)
            await what_is_declined_is_not_sent(cell, user)


async def others_are_asked_about(cell: Cell, user: User) -> None:
    where = f"Server: {cell.server} (toolbox dev)"
    uri = f"workbench:dev/{cell.server}/test://a/b?c=%20d#e"
    await cell.talker.request("resources/read", {"uri": uri})
    assert user.about() == [["Resource: test://a/b?c=%20d#e", where]]
    await cell.talker.request("prompts/get", {"name": f"dev/{cell.server}/review"})
    assert user.about() == [["Prompt: review", where]]
    reference = {"type": "ref/prompt", "name": f"dev/{cell.server}/review"}
    completing = {"ref": reference, "argument": {"name": "steps", "value": "x"}}
    if cell.session.era == "legacy":
        await cell.talker.request("completion/complete", completing)
        assert user.about() == [["Completion for: review", where]]
    else:
        # The protocol has no room for a question there.
        with pytest.raises(
            RpcError, match=r"a completion leaves no room for a question.*mcp-workbench approvals"
        ):
            await cell.talker.request("completion/complete", completing)


async def a_session_is_asked_about_once(cell: Cell, user: User) -> None:
    user.decision = SESSION
    await cell.result(tool="other")
    await cell.result({"ask": [form()]}, tool="other")
    assert len(user.about()) == 1
    user.decision = ONCE
    await cell.call()
    assert len(user.about()) == 1


async def what_is_declined_is_not_sent(cell: Cell, user: User) -> None:
    sent = len(cell.sent("tools/call"))
    user.decision = {"action": "decline"}
    assert failure_of(await cell.result()) == (
        f"Call of 'converse' in server '{cell.server}' (toolbox 'dev') refused: "
        "the user was asked whether to allow it, and said no"
    )
    assert len(cell.sent("tools/call")) == sent


async def test_a_client_that_cannot_ask_waits_for_a_terminal(tmp_path: Path) -> None:
    entry = {"policy": {"*": "ask", "ask": "console"}}
    async with open_bench(tmp_path, "legacy", entry=entry) as bench:
        cell = Cell(bench, "modern")
        user = User(cell)
        assert APPROVALS in failure_of(await cell.result())
        (waiting,) = approvals(tmp_path, "--json")["approvals"]
        assert (waiting["server"], waiting["name"], waiting["client"]) == ("modern", "converse", "raw-client")
        approvals(tmp_path, "--allow", waiting["id"], "--json")
        # For the same arguments, and once.
        assert APPROVALS in failure_of(await cell.result({"ask": [form()]}))
        assert (await cell.call())["answers"] == []
        assert APPROVALS in failure_of(await cell.result())
        assert user.asked == []


def approvals(home: Path, *options: str) -> Json:
    done = subprocess.run(
        [*MODULE, "approvals", *options],
        env=clean_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    printed: Json = json.loads(done.stdout)
    return printed


async def test_a_program_is_refused_until_a_person_has_approved_its_call(tmp_path: Path) -> None:
    environ = {**os.environ, **clean_environment(tmp_path)}
    async with Workbench(toolboxes(dev={"files": server(entry=ASK)}), environ=environ) as workbench:
        with pytest.raises(CallRefused, match="this client cannot ask its user"):
            await workbench.call("dev", "files", "echo", {"text": "hello"})
        (waiting,) = approvals(tmp_path, "--json")["approvals"]
        approvals(tmp_path, "--allow", waiting["id"], "--json")
        assert not (await workbench.call("dev", "files", "echo", {"text": "hello"})).is_error
        with pytest.raises(CallRefused):
            await workbench.call("dev", "files", "echo", {"text": "hello"})
