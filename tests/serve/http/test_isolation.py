"""A server that is each client's own: one process for a session, or for whoever has a token, and no more."""

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

    from tests.serve.http.conftest import House
    from tests.serve.http.visitors import Legacy, Modern
    from tests.support.journal import Journal

OWN = {"isolation": "client"}


@pytest.fixture
async def house(build: Callable[[], House], journal: Journal) -> House:
    """With one server for all of them, and one for each."""
    house = build()
    tokens = write_tokens(house.home, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    servers = {"own": versatile(journal, OWN), "shared": versatile()}
    await house.open(toolboxes(dev=servers), "--token-file", str(tokens))
    return house


async def pid_for(visitor: Legacy | Modern, server: str = "own") -> int:
    response = await visitor.send("tools/call", using(server, {}, tool="tell"))
    told = json.loads(text_of(result_of((await response.messages())[-1])))
    pid: int = told["pid"]
    return pid


async def test_each_session_has_its_own_and_all_share_the_other(house: House) -> None:
    visitors = [await house.legacy(ALICE), await house.legacy(ALICE), await house.legacy(BOB)]
    assert len({await pid_for(visitor) for visitor in visitors}) == 3
    assert len({await pid_for(visitor, "shared") for visitor in visitors}) == 1


async def test_a_session_keeps_its_own_from_call_to_call(house: House) -> None:
    visitor = await house.legacy(ALICE)
    assert len({await pid_for(visitor) for _ in range(5)}) == 1


async def test_modern_clients_have_one_for_each_token(house: House) -> None:
    alices = [await house.modern(ALICE) for _ in range(3)]
    bob = await house.modern(BOB)
    of_alice = {await pid_for(visitor) for visitor in alices}
    assert len(of_alice) == 1
    assert await pid_for(bob) not in of_alice


async def test_it_ends_with_the_session_and_that_of_others_does_not(house: House) -> None:
    leaving, staying = await house.legacy(ALICE), await house.legacy(ALICE)
    gone, kept = await pid_for(leaving), await pid_for(staying)
    assert (await leaving.ask("DELETE")).status == 204
    await wait_until_gone([gone])
    assert is_running(kept)
    assert await pid_for(staying) == kept


async def test_nothing_is_started_for_a_client_that_does_not_use_it(house: House, journal: Journal) -> None:
    for _ in range(3):
        await (await house.legacy(ALICE)).send("tools/list")
    assert journal.starts == 0


async def test_calls_of_several_to_their_own_do_not_wait_for_each_other(
    house: House, journal: Journal
) -> None:
    waiting, other = await house.legacy(ALICE), await house.legacy(ALICE)
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


async def test_a_token_that_is_taken_away_ends_what_was_its_own(house: House) -> None:
    alice, bob = await house.legacy(ALICE), await house.legacy(BOB)
    modern = await house.modern(ALICE)
    gone = [await pid_for(alice), await pid_for(modern)]
    kept = await pid_for(bob)
    stream, listening = await alice.listen(), await modern.listen(toolsListChanged=True)
    other = await bob.listen()
    write_tokens(house.home, bob=(BOB, ["*"]))
    assert await stream.messages() == []
    assert [message.get("id") is not None for message in await listening.messages()] == [True]
    await wait_until_gone(gone)
    assert (await alice.send("ping")).status == 401
    assert (await modern.send("tools/list")).status == 401
    assert await pid_for(bob) == kept
    assert not other.wire.reader.at_eof()


async def test_a_session_is_not_found_by_another_token(house: House) -> None:
    alice, bob = await house.legacy(ALICE), await house.legacy(BOB)
    stolen = alice.headers["Mcp-Session-Id"]
    bob.headers["Mcp-Session-Id"], own = stolen, bob.headers["Mcp-Session-Id"]
    assert (await bob.send("ping")).status == 404
    assert (await bob.listen()).status == 404
    assert (await bob.ask("DELETE")).status == 404
    assert (await alice.send("ping")).status == 200
    bob.headers["Mcp-Session-Id"] = own


async def test_without_a_token_nobody_hears_whether_a_session_is_there(house: House) -> None:
    alice = await house.legacy(ALICE)
    stranger = await house.stranger()
    stranger.headers["Mcp-Session-Id"] = alice.headers["Mcp-Session-Id"]
    assert (await stranger.ask("DELETE")).status == 401
    assert (await alice.send("ping")).status == 200


async def test_all_of_them_end_with_the_workbench(house: House) -> None:
    visitors: list[Legacy | Modern] = [await house.legacy(ALICE), await house.modern(BOB)]
    pids = [await pid_for(visitor) for visitor in visitors]
    house.process.terminate()
    await poll(lambda: house.process.returncode is not None)
    await wait_until_gone(pids)
