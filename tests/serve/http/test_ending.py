"""How it ends: calls in flight are finished, streams are answered, nobody new is taken, nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.servers.scripted import RESERVED
from tests.support.processes import wait_until_gone
from tests.support.sessions import failure_of, result_of, text_of
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import Flag, House
    from tests.support.http import Response
    from tests.support.sessions import Era


@pytest.fixture
async def house(build: Callable[[], House]) -> House:
    house = build()
    await house.open(house.config())
    return house


async def health(house: House, path: str = "/readyz") -> int:
    wire = await (await house.stranger()).wire()
    return (await wire.ask("GET", path=path)).status


async def exit_of(house: House) -> int:
    async with asyncio.timeout(PATIENCE):
        return await house.process.wait()


async def begun(house: House, era: Era, *steps: dict[str, object]) -> Response:
    """A call that is known to be in flight."""
    visitor = await house.legacy() if era == "legacy" else await house.modern()
    response = await visitor.call({"progress": {"steps": 1}}, *steps, meta={"progressToken": 1})
    await response.next_message()
    return response


async def test_while_it_serves_it_is_alive_and_ready(house: House) -> None:
    assert [await health(house, path) for path in ("/healthz", "/readyz")] == [200, 200]
    wire = await (await house.stranger()).wire()
    assert (await wire.ask("HEAD", path="/healthz")).status == 200


async def test_a_call_in_flight_is_finished_and_nobody_new_is_taken(
    house: House, client_era: Era, flag: Flag
) -> None:
    response = await begun(house, client_era, {"wait": str(flag)})
    other = await house.modern()
    house.process.terminate()
    await poll(lambda: "ending" in house.shared.log)
    refused = await other.send("tools/list")
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert [await health(house, path) for path in ("/healthz", "/readyz")] == [200, 503]
    flag.up()
    (answer,) = await response.messages()
    assert text_of(result_of(answer))
    assert await exit_of(house) == 0
    await wait_until_gone(house.journals["legacy"].pids)


async def test_a_call_that_waits_for_its_client_can_still_be_answered(house: House) -> None:
    visitor = await house.legacy()
    response = await visitor.call({"ask": [form("still there?")]})
    asked = await response.next_message()
    house.process.terminate()
    await poll(lambda: "ending" in house.shared.log)
    await visitor.answer(asked, {"action": "decline"})
    (answer,) = await response.messages()
    assert '"decline"' in text_of(result_of(answer))
    assert await exit_of(house) == 0


async def test_a_call_can_still_be_cancelled(house: House) -> None:
    visitor = await house.legacy()
    response = await visitor.call(
        {"progress": {"steps": 1}}, {"hang": True}, request_id="it", meta={"progressToken": 1}
    )
    await response.next_message()
    house.process.terminate()
    await poll(lambda: "ending" in house.shared.log)
    await visitor.notify("notifications/cancelled", {"requestId": "it"})
    assert await response.messages() == []
    assert await exit_of(house) == 0


async def test_nobody_waits_for_the_calls_of_a_client_that_leaves_meanwhile(
    house: House, client_era: Era
) -> None:
    visitor = await house.legacy() if client_era == "legacy" else await house.modern()
    response = await visitor.call({"progress": {"steps": 1}}, {"hang": True}, meta={"progressToken": 1})
    await response.next_message()
    house.process.terminate()
    await poll(lambda: "ending" in house.shared.log)
    if client_era == "legacy":
        assert (await visitor.ask("DELETE")).status == 204
    else:
        response.wire.cut()
    assert await exit_of(house) == 0


async def test_streams_are_ended_in_good_order(house: House) -> None:
    legacy, modern = await house.legacy(), await house.modern()
    at_large = await legacy.listen()
    stream = await modern.listen(toolsListChanged=True)
    house.process.terminate()
    assert await at_large.messages() == []
    (answer,) = await stream.messages()
    assert RESERVED + "subscriptionId" in answer["result"]["_meta"]
    assert await exit_of(house) == 0


async def test_a_second_signal_ends_it_at_once(house: House, client_era: Era) -> None:
    await begun(house, client_era, {"hang": True})
    house.process.terminate()
    await poll(lambda: "ending" in house.shared.log)
    house.process.terminate()
    assert await exit_of(house) == 0
    await wait_until_gone(house.journals["legacy"].pids)


async def test_a_server_that_is_killed_in_mid_call_fails_that_call_and_the_next_is_served(
    house: House, client_era: Era
) -> None:
    response = await begun(house, client_era, {"hang": True})
    (pid,) = house.journals["legacy"].pids
    os.kill(pid, signal.SIGKILL)
    (answer,) = await response.messages()
    assert "Error executing tool 'converse' in server 'legacy'" in failure_of(result_of(answer))
    again = await (await house.modern()).call()
    assert text_of(result_of((await again.messages())[-1]))


async def test_what_was_never_used_ends_at_once(house: House) -> None:
    house.process.terminate()
    assert await exit_of(house) == 0
    assert house.journals["legacy"].starts == 0


async def test_a_client_that_does_not_read_holds_up_the_end_for_a_moment_only(
    house: House, client_era: Era
) -> None:
    """That nothing about it is in the log but that it ends is checked for every house."""
    visitor = await house.legacy() if client_era == "legacy" else await house.modern()
    await (await visitor.call()).messages()
    large: dict[str, object] = {"content": [{"type": "text", "text": "x" * 10_000_000}]}
    response = await visitor.call({"progress": {"steps": 1}}, {"result": large}, meta={"progressToken": 1})
    await response.next_message()
    house.process.terminate()
    assert await exit_of(house) == 0
    assert "Traceback" not in house.shared.log
