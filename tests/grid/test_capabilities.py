"""A server is told what its caller can do, and what goes beyond that is refused in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import Cell, open_bench
from tests.grid.features import proves
from tests.grid.questions import ROOTS, form, sample, sample_with_tools, url
from tests.servers.wares import RESERVED
from tests.support.sessions import failure_of
from tests.support.talking import able, oblige

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOME: Json = {"elicitation": {"form": {}}, "sampling": {}}
METHOD, MODE = -32601, -32602


@proves("declared")
@pytest.mark.parametrize(
    "capabilities",
    [{}, {"elicitation": {}}, {"sampling": {"tools": {}}, "roots": {}}, SOME],
    ids=["nothing", "old elicitation", "sampling and roots", "some"],
)
async def test_a_server_is_told_exactly_what_the_client_declared(
    client_era: Era, server_era: Era, tmp_path: Path, capabilities: Json, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, capabilities=capabilities, over=over) as bench:
        await Cell(bench, server_era).call()
        journal = bench.journals[server_era]
        if server_era == "legacy":
            (greeting,) = journal.messages("initialize")
            declared = greeting["params"]["capabilities"]
        else:
            (call,) = journal.messages("tools/call")
            declared = call["params"]["_meta"][RESERVED + "clientCapabilities"]
        assert declared == capabilities


@proves("declared", client="modern", server="modern")
async def test_each_request_of_a_modern_client_has_capabilities_of_its_own(
    tmp_path: Path, over: Transport
) -> None:
    extended = {"sampling": {}, "experimental": {"x/y": {}}, "extensions": {"org.example/z": {"a": 1}}}
    async with open_bench(tmp_path, "modern", over=over) as bench:
        cell = Cell(bench, "modern")
        for capabilities in ({}, able("modern"), extended):
            cell.session.capabilities = capabilities
            assert (await cell.call())["meta"][RESERVED + "clientCapabilities"] == capabilities


@proves("declared", client="modern", server="legacy")
async def test_a_server_is_told_what_any_request_has_declared_by_the_time_it_starts(
    tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "modern", capabilities={}, opened=False, over=over) as bench:
        cell = Cell(bench, "legacy")
        declared: list[Json] = [{"elicitation": {}}, {"elicitation": {"url": {}}, "roots": {}}, {}]
        for capabilities in declared:
            cell.session.capabilities = capabilities
            await cell.session.request("tools/list")
        await cell.call()
        (greeting,) = cell.journal.messages("initialize")
        assert greeting["params"]["capabilities"] == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


@proves("offered")
async def test_a_client_is_told_what_can_be_served_before_a_server_has_started(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, opened=False, over=over) as bench:
        assert bench.session.greeting["capabilities"] == {
            "tools": {"listChanged": True},
            "logging": {},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
            "completions": {},
        }
        assert bench.journals[server_era].starts == 0


BEYOND: list[tuple[Json, Json, int, str]] = [
    ({}, form(), METHOD, "elicitation"),
    ({}, url(), METHOD, "elicitation"),
    ({}, sample(), METHOD, "sampling"),
    ({}, sample_with_tools(), METHOD, "sampling"),
    ({}, ROOTS, METHOD, "roots"),
    (SOME, url(), MODE, "elicitation.url"),
    (SOME, sample_with_tools(), MODE, "sampling.tools"),
    ({"elicitation": {}}, url(), MODE, "elicitation.url"),
    ({"elicitation": {"url": {}}}, form(), MODE, "elicitation.form"),
]


@proves("missing")
async def test_what_the_client_cannot_do_is_refused_in_words(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    """A legacy server's call goes on; a modern server's is at its end, and says why."""
    for at, capabilities in enumerate(({}, SOME, {"elicitation": {}}, {"elicitation": {"url": {}}})):
        (home := tmp_path / str(at)).mkdir()
        async with open_bench(home, client_era, capabilities=capabilities, over=over) as bench:
            cell = Cell(bench, server_era)
            for declared, question, code, lacking in BEYOND:
                if declared != capabilities:
                    continue
                if server_era == "legacy":
                    ((answer,), last) = await cell.answers({"ask": [question]}, {"ask": []})
                    assert answer["error"]["code"] == code, answer
                    assert last == []
                else:
                    text = failure_of(await cell.result({"ask": [question]}))
                    assert all(word in text for word in lacking.split("."))
            assert cell.talker.asked == []


@proves("missing", client="modern", server="legacy")
async def test_it_is_the_callers_abilities_that_count_and_not_those_of_an_earlier_one(
    tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "modern", over=over) as bench:
        cell = Cell(bench, "legacy")
        assert await cell.answers({"ask": [form()]}) == [[oblige(form())]]
        cell.session.capabilities = {}
        ((answer,),) = await cell.answers({"ask": [form()]})
        assert answer["error"]["code"] == METHOD


@proves("missing", client="legacy")
async def test_a_client_that_answers_with_an_error_is_understood(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    """Only a legacy client can: a modern one that does not want to answer does not come again."""
    error: Json = {"code": -1, "message": "User rejected sampling request", "data": {"x": 1}}
    async with open_bench(tmp_path, "legacy", over=over) as bench:
        cell = Cell(bench, server_era)
        cell.talker.respond = lambda _: {"error": error}
        if server_era == "legacy":
            assert await cell.answers({"ask": [sample()]}) == [[{"error": error}]]
        else:
            assert error["message"] in failure_of(await cell.result({"ask": [sample()]}))
