"""How serving ends: calls in flight are finished, streams are ended, new requests are refused, nothing is
left.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.servers.scripted import RESERVED
from tests.storage.audit.lines import read
from tests.support.configs import server, tool, toolboxes
from tests.support.processes import wait_until_gone
from tests.support.sessions import failure_of, result_of, text_of
from tests.support.talking import using
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import Flag, SharedWorkbench
    from tests.support.client import Json
    from tests.support.http import Response
    from tests.support.journal import Journal
    from tests.support.sessions import Era


@pytest.fixture
async def shared_workbench(build: Callable[[], SharedWorkbench]) -> SharedWorkbench:
    shared_workbench = build()
    await shared_workbench.open(shared_workbench.config())
    return shared_workbench


async def health(shared_workbench: SharedWorkbench, path: str = "/readyz") -> int:
    wire = await (await shared_workbench.new_client()).wire()
    return (await wire.ask("GET", path=path)).status


async def exit_of(shared_workbench: SharedWorkbench) -> int:
    async with asyncio.timeout(PATIENCE):
        return await shared_workbench.process.wait()


async def begun(shared_workbench: SharedWorkbench, era: Era, *steps: dict[str, object]) -> Response:
    """A call that is known to be in flight."""
    client = await shared_workbench.legacy() if era == "legacy" else await shared_workbench.modern()
    response = await client.call({"progress": {"steps": 1}}, *steps, meta={"progressToken": 1})
    await response.next_message()
    return response


async def test_while_it_serves_it_is_alive_and_ready(shared_workbench: SharedWorkbench) -> None:
    assert [await health(shared_workbench, path) for path in ("/healthz", "/readyz")] == [200, 200]
    wire = await (await shared_workbench.new_client()).wire()
    assert (await wire.ask("HEAD", path="/healthz")).status == 200


async def test_a_call_in_flight_is_finished_and_nobody_new_is_taken(
    shared_workbench: SharedWorkbench, client_era: Era, flag: Flag
) -> None:
    response = await begun(shared_workbench, client_era, {"wait": str(flag)})
    other = await shared_workbench.modern()
    shared_workbench.process.terminate()
    await poll(lambda: "ending" in shared_workbench.shared.log)
    refused = await other.send("tools/list")
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert [await health(shared_workbench, path) for path in ("/healthz", "/readyz")] == [200, 503]
    flag.up()
    (answer,) = await response.messages()
    assert text_of(result_of(answer))
    assert await exit_of(shared_workbench) == 0
    await wait_until_gone(shared_workbench.journals["legacy"].pids)


async def test_a_call_that_waits_for_its_client_can_still_be_answered(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.legacy()
    response = await client.call({"ask": [form("still there?")]})
    asked = await response.next_message()
    shared_workbench.process.terminate()
    await poll(lambda: "ending" in shared_workbench.shared.log)
    await client.answer(asked, {"action": "decline"})
    (answer,) = await response.messages()
    assert '"decline"' in text_of(result_of(answer))
    assert await exit_of(shared_workbench) == 0


async def test_a_call_can_still_be_cancelled(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    response = await client.call(
        {"progress": {"steps": 1}}, {"hang": True}, request_id="it", meta={"progressToken": 1}
    )
    await response.next_message()
    shared_workbench.process.terminate()
    await poll(lambda: "ending" in shared_workbench.shared.log)
    await client.notify("notifications/cancelled", {"requestId": "it"})
    assert await response.messages() == []
    assert await exit_of(shared_workbench) == 0


async def test_nobody_waits_for_the_calls_of_a_client_that_leaves_meanwhile(
    shared_workbench: SharedWorkbench, client_era: Era
) -> None:
    client = await shared_workbench.legacy() if client_era == "legacy" else await shared_workbench.modern()
    response = await client.call({"progress": {"steps": 1}}, {"hang": True}, meta={"progressToken": 1})
    await response.next_message()
    shared_workbench.process.terminate()
    await poll(lambda: "ending" in shared_workbench.shared.log)
    if client_era == "legacy":
        assert (await client.ask("DELETE")).status == 204
    else:
        response.wire.cut()
    assert await exit_of(shared_workbench) == 0


async def test_streams_are_ended_in_good_order(shared_workbench: SharedWorkbench) -> None:
    legacy, modern = await shared_workbench.legacy(), await shared_workbench.modern()
    at_large = await legacy.listen()
    stream = await modern.listen(toolsListChanged=True)
    shared_workbench.process.terminate()
    assert await at_large.messages() == []
    (answer,) = await stream.messages()
    assert RESERVED + "subscriptionId" in answer["result"]["_meta"]
    assert await exit_of(shared_workbench) == 0


async def test_a_second_signal_ends_it_at_once(shared_workbench: SharedWorkbench, client_era: Era) -> None:
    await begun(shared_workbench, client_era, {"hang": True})
    shared_workbench.process.terminate()
    await poll(lambda: "ending" in shared_workbench.shared.log)
    shared_workbench.process.terminate()
    assert await exit_of(shared_workbench) == 0
    await wait_until_gone(shared_workbench.journals["legacy"].pids)


async def test_a_server_that_is_killed_in_mid_call_fails_that_call_and_the_next_is_served(
    shared_workbench: SharedWorkbench, client_era: Era
) -> None:
    response = await begun(shared_workbench, client_era, {"hang": True})
    (pid,) = shared_workbench.journals["legacy"].pids
    os.kill(pid, signal.SIGKILL)
    (answer,) = await response.messages()
    assert "Error executing tool 'converse' in server 'legacy'" in failure_of(result_of(answer))
    again = await (await shared_workbench.modern()).call()
    assert text_of(result_of((await again.messages())[-1]))


async def test_what_was_never_used_ends_at_once(shared_workbench: SharedWorkbench) -> None:
    shared_workbench.process.terminate()
    assert await exit_of(shared_workbench) == 0
    assert shared_workbench.journals["legacy"].starts == 0


async def test_a_client_that_does_not_read_holds_up_the_end_for_a_moment_only(
    shared_workbench: SharedWorkbench, client_era: Era
) -> None:
    """Each workbench checks in the end that its log says nothing else about it."""
    client = await shared_workbench.legacy() if client_era == "legacy" else await shared_workbench.modern()
    await (await client.call()).messages()
    large: dict[str, object] = {"content": [{"type": "text", "text": "x" * 10_000_000}]}
    response = await client.call({"progress": {"steps": 1}}, {"result": large}, meta={"progressToken": 1})
    await response.next_message()
    shared_workbench.process.terminate()
    assert await exit_of(shared_workbench) == 0
    assert "Traceback" not in shared_workbench.shared.log


async def test_each_call_that_was_in_flight_has_one_record_however_it_ended(
    build: Callable[[], SharedWorkbench], journal: Journal, client_era: Era, flag: Flag
) -> None:
    finishing, hanging = ([f"{kind}_{number}" for number in range(40)] for kind in ("finish", "hang"))
    script: Json = {name: {"do": "wait", "for": str(flag)} for name in finishing}
    script |= {name: {"do": "hang"} for name in hanging}
    slow = server(journal, tools=[tool(name) for name in script], behaviours=script)
    shared_workbench = build()
    home = shared_workbench.home
    await shared_workbench.open(toolboxes(dev={"slow": slow}), env={"XDG_DATA_HOME": str(home)})
    client = await (shared_workbench.modern() if client_era == "modern" else shared_workbench.legacy())

    async def call(name: str) -> bool:
        """Whether it succeeds."""
        response = await client.send("tools/call", using("slow", {}, tool=name))
        return "isError" not in result_of((await response.messages())[-1])

    calls = [
        asyncio.create_task(call(name)) for pair in zip(finishing, hanging, strict=True) for name in pair
    ]
    await journal.wait_for_call(60)  # of 80: the others may be in time, or not
    shared_workbench.process.terminate()
    await poll(lambda: "calls in flight have 20 s to finish" in shared_workbench.shared.log)
    flag.up()
    await poll(lambda: sum(call.done() for call in calls) >= 25)
    shared_workbench.process.terminate()  # those that hang are not waited for any longer
    assert await exit_of(shared_workbench) == 0
    await asyncio.wait(calls, timeout=PATIENCE)
    succeeded = sum(call.exception() is None and call.result() for call in calls)
    begun = Counter(message["params"]["name"] for message in journal.messages("tools/call"))
    assert set(begun.values()) == {1}
    assert Counter(record["name"] for record in read(home)) == begun
    outcomes = Counter(record["outcome"] for record in read(home))
    assert outcomes == {"answered": succeeded, "failed": len(begun) - succeeded}


async def test_a_call_that_waits_for_its_client_has_a_record_too(
    build: Callable[[], SharedWorkbench], server_era: Era
) -> None:
    shared_workbench = build()
    home = shared_workbench.home
    await shared_workbench.open(shared_workbench.config(), env={"XDG_DATA_HOME": str(home)})
    client = await shared_workbench.modern()
    response = await client.call({"ask": [form("still there?")]}, server=server_era)
    assert result_of((await response.messages())[-1])["resultType"] == "input_required"
    shared_workbench.process.terminate()
    assert await exit_of(shared_workbench) == 0
    assert [(it["server"], it["name"], it["outcome"]) for it in read(home)] == [
        (server_era, "converse", "asked" if server_era == "modern" else "failed")
    ]
