"""A configuration that changes while the client is asked: the call goes on with what is there by then."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import conversing_server
from tests.grid.questions import form
from tests.processes.reloading import changing
from tests.support.configs import server, toolboxes
from tests.support.processes import wait_until_gone
from tests.support.sessions import failure_of, result_of, text_of
from tests.support.talking import able, oblige, using

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.processes.reloading import Changing
    from tests.support.client import Json
    from tests.support.journal import Journal


async def ask(it: Changing) -> tuple[asyncio.Future[Json], Json]:
    """A call of a tool of a modern server's that asks, and the question, which nobody has answered yet."""
    it.session.capabilities = able("legacy")
    await it.session.greet()
    params = using("s", {"steps": [{"ask": [form("who?")]}]})
    call = asyncio.ensure_future(it.session.request("tools/call", params))
    return call, await it.client.wait_for(lambda message: message.get("method") == "elicitation/create")


async def answer(it: Changing, question: Json) -> None:
    await it.client.send({"jsonrpc": "2.0", "id": question["id"], **oblige(question)})


async def test_the_answer_goes_to_the_program_that_is_configured_by_then(
    tmp_path: Path, make_journal: Callable[[str], Journal]
) -> None:
    old, new = make_journal("old"), make_journal("new")
    async with changing(tmp_path, "legacy", toolboxes(dev={"s": conversing_server("modern", old)})) as it:
        call, question = await ask(it)
        await it.change(toolboxes(dev={"s": conversing_server("modern", new)}))
        await wait_until_gone(old.pids)
        await answer(it, question)
        told = json.loads(text_of(result_of(await call)))
        assert told["answers"] == [[oblige(question)]]
    assert (old.starts, new.starts) == (1, 1)


@pytest.mark.parametrize("left", [{}, {"other": server()}])
async def test_a_server_that_is_removed_meanwhile_is_not_started_again(
    tmp_path: Path, journal: Journal, left: Json
) -> None:
    async with changing(tmp_path, "legacy", toolboxes(dev={"s": conversing_server("modern", journal)})) as it:
        call, question = await ask(it)
        await it.change(toolboxes(dev=left))
        await wait_until_gone(journal.pids)
        await answer(it, question)
        assert failure_of(result_of(await call)).startswith("Server 's' not found in toolbox 'dev'")
    assert journal.starts == 1
