"""A server that each client has for itself: one process for a session, or for a token, and no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.processes.reloading import released, versatile
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.support.configs import toolboxes
from tests.support.processes import is_running, wait_until_gone
from tests.support.sessions import result_of, text_of
from tests.support.talking import using
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import SharedWorkbench
    from tests.serve.http.raw_clients import Legacy, Modern
    from tests.support.journal import Journal

OWN = {"isolation": "client"}


@pytest.fixture
async def shared_workbench(build: Callable[[], SharedWorkbench], journal: Journal) -> SharedWorkbench:
    """With one server for all of them, and one for each."""
    shared_workbench = build()
    tokens = write_tokens(shared_workbench.home, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    servers = {"own": versatile(journal, OWN), "shared": versatile()}
    await shared_workbench.open(toolboxes(dev=servers), "--token-file", str(tokens))
    return shared_workbench


async def pid_for(client: Legacy | Modern, server: str = "own") -> int:
    response = await client.send("tools/call", using(server, {}, tool="tell"))
    told = json.loads(text_of(result_of((await response.messages())[-1])))
    pid: int = told["pid"]
    return pid


async def test_each_session_has_its_own_and_all_share_the_other(shared_workbench: SharedWorkbench) -> None:
    clients = [
        await shared_workbench.legacy(ALICE),
        await shared_workbench.legacy(ALICE),
        await shared_workbench.legacy(BOB),
    ]
    assert len({await pid_for(client) for client in clients}) == 3
    assert len({await pid_for(client, "shared") for client in clients}) == 1


async def test_a_session_keeps_its_own_from_call_to_call(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy(ALICE)
    assert len({await pid_for(client) for _ in range(5)}) == 1


async def test_modern_clients_have_one_for_each_token(shared_workbench: SharedWorkbench) -> None:
    alices = [await shared_workbench.modern(ALICE) for _ in range(3)]
    bob = await shared_workbench.modern(BOB)
    of_alice = {await pid_for(client) for client in alices}
    assert len(of_alice) == 1
    assert await pid_for(bob) not in of_alice


async def test_it_ends_with_the_session_and_that_of_others_does_not(
    shared_workbench: SharedWorkbench,
) -> None:
    leaving, staying = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(ALICE)
    gone, kept = await pid_for(leaving), await pid_for(staying)
    assert (await leaving.ask("DELETE")).status == 204
    await wait_until_gone([gone])
    assert is_running(kept)
    assert await pid_for(staying) == kept


async def test_nothing_is_started_for_a_client_that_does_not_use_it(
    shared_workbench: SharedWorkbench, journal: Journal
) -> None:
    for _ in range(3):
        await (await shared_workbench.legacy(ALICE)).send("tools/list")
    assert journal.starts == 0


async def test_calls_of_several_to_their_own_do_not_wait_for_each_other(
    shared_workbench: SharedWorkbench, journal: Journal
) -> None:
    waiting, other = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(ALICE)
    wire = await waiting.wire()
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": using("own", {}, tool="wait")}
    )
    headers = {"Content-Type": "application/json", "Accept": "*/*", **waiting.headers}
    await wire.send("POST", headers, body.encode())
    await journal.wait_for_call()
    assert await pid_for(other)
    released(journal).touch()
    assert (await wire.response()).status == 200


async def test_a_token_that_is_taken_away_ends_what_was_its_own(shared_workbench: SharedWorkbench) -> None:
    alice, bob = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(BOB)
    modern = await shared_workbench.modern(ALICE)
    gone = [await pid_for(alice), await pid_for(modern)]
    kept = await pid_for(bob)
    stream, listening = await alice.listen(), await modern.listen(toolsListChanged=True)
    other = await bob.listen()
    write_tokens(shared_workbench.home, bob=(BOB, ["*"]))
    assert await stream.messages() == []
    assert [message.get("id") is not None for message in await listening.messages()] == [True]
    await wait_until_gone(gone)
    assert (await alice.send("ping")).status == 401
    assert (await modern.send("tools/list")).status == 401
    assert await pid_for(bob) == kept
    assert not other.wire.reader.at_eof()


async def test_a_session_is_not_found_by_another_token(shared_workbench: SharedWorkbench) -> None:
    alice, bob = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(BOB)
    stolen = alice.headers["Mcp-Session-Id"]
    bob.headers["Mcp-Session-Id"], own = stolen, bob.headers["Mcp-Session-Id"]
    assert (await bob.send("ping")).status == 404
    assert (await bob.listen()).status == 404
    assert (await bob.ask("DELETE")).status == 404
    assert (await alice.send("ping")).status == 200
    bob.headers["Mcp-Session-Id"] = own


async def test_without_a_token_nobody_hears_whether_a_session_is_there(
    shared_workbench: SharedWorkbench,
) -> None:
    alice = await shared_workbench.legacy(ALICE)
    new_client = await shared_workbench.new_client()
    new_client.headers["Mcp-Session-Id"] = alice.headers["Mcp-Session-Id"]
    assert (await new_client.ask("DELETE")).status == 401
    assert (await alice.send("ping")).status == 200


async def test_all_of_them_end_with_the_workbench(shared_workbench: SharedWorkbench) -> None:
    clients: list[Legacy | Modern] = [
        await shared_workbench.legacy(ALICE),
        await shared_workbench.modern(BOB),
    ]
    pids = [await pid_for(client) for client in clients]
    shared_workbench.process.terminate()
    await poll(lambda: shared_workbench.process.returncode is not None)
    await wait_until_gone(pids)
