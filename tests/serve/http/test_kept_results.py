"""Kept results of many clients that share the workbench: each finds its own, and none finds another's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.support.configs import server, toolboxes
from tests.support.sessions import failure_of, result_of
from tests.support.talking import using

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import SharedWorkbench
    from tests.serve.http.raw_clients import Legacy, Modern
    from tests.support.client import Json

TEXT = "x" * 20_000


@pytest.fixture
async def shared_workbench(build: Callable[[], SharedWorkbench]) -> SharedWorkbench:
    shared_workbench = build()
    tokens = write_tokens(shared_workbench.home, alice=(ALICE, ["*"]), bob=(BOB, ["dev"]))
    await shared_workbench.open(
        {**toolboxes(dev={"echo": server()}), "results": {"inlineLimit": 5000}}, "--token-file", str(tokens)
    )
    return shared_workbench


async def use(client: Legacy | Modern, tool: str, toolbox: str = "workbench", **arguments: Any) -> Json:
    place = "results" if toolbox == "workbench" else "echo"
    params = using(place, arguments, tool=tool, toolbox=toolbox)
    response = await client.send("tools/call", params)
    return result_of((await response.messages())[-1])


async def kept_by(client: Legacy | Modern) -> str:
    """The handle of a result of its own."""
    text: str = (await use(client, "echo", "dev", text=TEXT))["content"][0]["text"]
    return text.partition("handle ")[2].partition("\n")[0]


async def refusals(client: Legacy | Modern, handle: str) -> list[str]:
    """What it is told in every way to come by a content."""
    tries = [
        await use(client, "read_result", handle=handle),
        await use(client, "search_result", handle=handle, text="x"),
        await use(client, "echo", "dev", stolen={"$result": handle}),
    ]
    return [failure_of(result).replace(handle, "<handle>") for result in tries]


async def test_modern_clients_of_one_principal_share_what_is_kept_and_others_find_nothing(
    shared_workbench: SharedWorkbench,
) -> None:
    alices = [await shared_workbench.modern(ALICE) for _ in range(2)]
    handle = await kept_by(alices[0])
    part, _ = (await use(alices[1], "read_result", handle=handle, pointer="/text"))["content"]
    assert TEXT.startswith(part["text"])
    unknown = await refusals(alices[0], "res_AAAAAAAAAAAAAAAAAAAAAA")
    assert await refusals(await shared_workbench.modern(BOB), handle) == unknown
    assert await refusals(await shared_workbench.legacy(BOB), handle) == unknown
    assert await refusals(await shared_workbench.legacy(ALICE), handle) == unknown


async def test_what_is_kept_for_a_session_is_found_in_no_other(shared_workbench: SharedWorkbench) -> None:
    session, other = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(ALICE)
    handle = await kept_by(session)
    assert "isError" not in await use(session, "read_result", handle=handle)
    unknown = await refusals(session, "res_AAAAAAAAAAAAAAAAAAAAAA")
    assert await refusals(other, handle) == unknown
    assert await refusals(await shared_workbench.modern(ALICE), handle) == unknown


async def test_a_handle_of_another_replica_is_told_from_one_that_has_expired(
    build: Callable[[], SharedWorkbench],
) -> None:
    one, two = build(), build()
    config = toolboxes(dev={"echo": server()})
    config["toolboxes"]["dev"]["results"] = {"inlineLimit": 5000}
    for shared_workbench in (one, two):
        await shared_workbench.open(config)
    here, there = await one.modern(), await two.modern()
    handle = await kept_by(here)
    for said in await refusals(there, handle):
        assert "it belongs to another workbench process" in said
        assert "Repeating the call may give the same error" in said
        assert "for a new one" not in said
    assert "isError" not in await use(here, "read_result", handle=handle)
    for said in await refusals(here, handle[:-1] + ("B" if handle[-1] == "A" else "A")):
        assert "it has expired, or was not given to you. Call the tool again" in said


async def test_whoever_may_use_no_server_with_kept_results_has_no_such_toolbox(
    build: Callable[[], SharedWorkbench],
) -> None:
    shared_workbench = build()
    tokens = write_tokens(shared_workbench.home, alice=(ALICE, ["*"]), bob=(BOB, ["plain"]))
    config = toolboxes(dev={"echo": server()}, plain={"echo": server()})
    config["toolboxes"]["dev"]["results"] = {"inlineLimit": 5000}
    config["toolboxes"]["plain"]["results"] = {"inlineLimit": "off"}
    await shared_workbench.open(config, "--token-file", str(tokens))
    bob = await shared_workbench.modern(BOB)
    assert failure_of(await use(bob, "read_result", handle="res_x")).startswith(
        "Toolbox 'workbench' not found."
    )
    told = {"text": TEXT, "a": {"$result": "res_x"}}
    assert json.loads((await use(bob, "echo", "plain", **told))["content"][0]["text"]) == told
    assert (await kept_by(await shared_workbench.modern(ALICE))).startswith("res_")
