"""Resources, prompts and completions of the servers, under names that tell where they are from."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.grid.benches import Cell, conversing_server, open_bench
from tests.grid.features import proves
from tests.servers.wares import PROMPTS, RESOURCES, TEMPLATES
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import toolboxes
from tests.support.journal import Journal
from tests.support.sessions import RpcError, session_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era, Session

pytestmark = pytest.mark.asyncio(loop_scope="module")

LISTS = [
    ("resources/list", "resources", "uri", "workbench:", RESOURCES),
    ("resources/templates/list", "resourceTemplates", "uriTemplate", "workbench:", TEMPLATES),
    ("prompts/list", "prompts", "name", "", PROMPTS),
]
NOT_FOUND = {"legacy": -32002, "modern": -32602}
"""What a resource that there is not is answered with, by the specification of each era."""
AWKWARD = "box ü/100%"


async def listed(cell: Cell, method: str, kind: str) -> list[Json]:
    page = await cell.talker.request(method, {})
    found: list[Json] = page[kind]
    while "nextCursor" in page:
        page = await cell.talker.request(method, {"cursor": page["nextCursor"]})
        found += page[kind]
    return found


def wrapped(cell: Cell, uri: str) -> str:
    return f"workbench:dev/{cell.server}/{uri}"


def renamed(cell: Cell, key: str, scheme: str, items: list[Json]) -> list[Json]:
    """The server's items as the client is to see them."""
    return [{**item, key: f"{scheme}dev/{cell.server}/{item[key]}"} for item in items]


def of_server(cell: Cell, key: str, items: list[Json]) -> list[Json]:
    return [item for item in items if f"dev/{cell.server}/" in item[key]]


@proves("resources")
async def test_resources_and_templates_of_open_servers_are_listed_in_their_order(cell: Cell) -> None:
    for method, kind, key, scheme, items in LISTS[:2]:
        found = await listed(cell, method, kind)
        assert of_server(cell, key, found) == renamed(cell, key, scheme, items)
        assert [item[key].split("/")[1] for item in found] == ["legacy"] * len(items) + ["modern"] * len(
            items
        )


@proves("prompts")
async def test_prompts_of_open_servers_are_listed_in_their_order(cell: Cell) -> None:
    method, kind, key, scheme, items = LISTS[2]
    found = await listed(cell, method, kind)
    assert of_server(cell, key, found) == renamed(cell, key, scheme, items)


@proves("resources")
async def test_lists_that_come_in_pages_are_whole(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, page_size=1, over=over) as bench:
        cell = Cell(bench, server_era)
        for method, kind, key, scheme, items in LISTS:
            found = await listed(cell, method, kind)
            assert of_server(cell, key, found) == renamed(cell, key, scheme, items)


@proves("resources")
async def test_a_server_without_resources_or_prompts_is_not_asked_for_them(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, offers={"tools": {}}, over=over) as bench:
        cell = Cell(bench, server_era)
        for method, kind, *_ in LISTS:
            assert await listed(cell, method, kind) == []
            assert cell.sent(method) == []


@proves("read")
@pytest.mark.parametrize("uri", [RESOURCES[0]["uri"], RESOURCES[1]["uri"], "test://item/7?q=a%2Fb&lang=ü"])
async def test_a_resource_is_read_as_the_server_has_it(cell: Cell, uri: str) -> None:
    read = await cell.talker.request("resources/read", {"uri": wrapped(cell, uri)}, {"vendor/key": 1})
    (asked,) = cell.sent("resources/read")
    assert asked["params"]["uri"] == uri
    (contents,) = read["contents"]
    assert json.loads(contents["text"])["meta"]["vendor/key"] == 1
    assert contents == {
        "uri": uri,
        "text": contents["text"],
        "mimeType": "text/plain",
        "x-unknown": {"kept": 1.5},
        "_meta": {"vendor/contents": True},
    }
    assert read["x-unknown"] == 0


@asynccontextmanager
async def awkward(home: Path, client_era: Era, server_era: Era) -> AsyncIterator[Session]:
    """A toolbox with odd names that is not open: under the stateless protocol there is no "before"."""
    entry = conversing_server(server_era, Journal(home / "server.journal"))
    command = serve_command(write_config(home, toolboxes(**{AWKWARD: {"my server": entry}})))
    async with RawClient(command, clean_environment(home)) as client:
        session = session_of(client_era, client)
        await session.greet()
        yield session


@proves("read")
async def test_reading_connects_the_server_of_a_toolbox_that_is_not_open(
    client_era: Era, server_era: Era, tmp_path: Path
) -> None:
    uri = f"workbench:{quote(AWKWARD, safe='')}/{quote('my server', safe='')}/{RESOURCES[0]['uri']}"
    async with awkward(tmp_path, client_era, server_era) as session:
        read = await session.request("resources/read", {"uri": uri})
        assert read["result"]["contents"][0]["uri"] == RESOURCES[0]["uri"]
        listed = await session.request("resources/list")
        assert listed["result"]["resources"][0]["uri"] == uri


@proves("prompts")
async def test_fetching_connects_the_server_of_a_toolbox_that_is_not_open(
    client_era: Era, server_era: Era, tmp_path: Path
) -> None:
    name = f"{quote(AWKWARD, safe='')}/{quote('my server', safe='')}/review"
    async with awkward(tmp_path, client_era, server_era) as session:
        got = await session.request("prompts/get", {"name": name})
        assert got["result"]["description"] == "A talk"
        listed = await session.request("prompts/list")
        assert listed["result"]["prompts"][0]["name"] == name


@proves("read")
@pytest.mark.parametrize("code", [1234, -32002], ids=["its own", "not found"])
async def test_an_error_of_the_server_is_passed_on(
    client_era: Era, server_era: Era, tmp_path: Path, code: int, over: Transport
) -> None:
    """As it came, but for the one code that the eras have differently."""
    error = {"code": code, "message": "Resource not found", "data": {"uri": "test://none", "x": [1]}}
    steps = {"test://none": [{"refuse": error}]}
    async with open_bench(tmp_path, client_era, read_steps=steps, over=over) as bench:
        cell = Cell(bench, server_era)
        with pytest.raises(RpcError) as refused:
            await cell.talker.request("resources/read", {"uri": wrapped(cell, "test://none")})
        expected = NOT_FOUND[client_era] if code == -32002 else code
        assert refused.value.error == {**error, "code": expected}


@proves("read")
@pytest.mark.parametrize(
    "uri",
    ["workbench:dev", "workbench:dev/", "workbench:nowhere/legacy/test://a", "workbench:dev/none/x"],
)
async def test_a_name_that_leads_nowhere_is_not_found(cell: Cell, uri: str) -> None:
    with pytest.raises(RpcError) as refused:
        await cell.talker.request("resources/read", {"uri": uri})
    assert refused.value.error["code"] == NOT_FOUND[cell.session.era]


@proves("links")
async def test_a_link_in_a_result_can_be_read(cell: Cell) -> None:
    uri = f"test://linked/by/{cell.server}"
    link = {"type": "resource_link", "uri": uri, "name": "linked", "x-unknown": 1}
    result = await cell.result({"result": {"content": [link]}})
    assert result["content"] == [link]
    read = await cell.talker.request("resources/read", {"uri": uri})
    assert read["contents"][0]["uri"] == uri
    assert [it["params"]["uri"] for it in cell.sent("resources/read")] == [uri]


@proves("prompts")
@pytest.mark.parametrize("name", [prompt["name"] for prompt in PROMPTS])
async def test_a_prompt_is_fetched_as_the_server_has_it(cell: Cell, name: str) -> None:
    getting = {"name": f"dev/{cell.server}/{name}", "arguments": {"other": "x"}}
    got = await cell.talker.request("prompts/get", getting, {"vendor/key": [1]})
    (asked,) = cell.sent("prompts/get")
    assert (asked["params"]["name"], asked["params"]["arguments"]) == (name, {"other": "x"})
    (message,) = got["messages"]
    text = message["content"]["text"]
    assert json.loads(text)["meta"]["vendor/key"] == [1]
    assert message == {"role": "user", "content": {"type": "text", "text": text, "x-unknown": [name]}}
    assert (got["description"], got["x-unknown"]) == ("A talk", {})


@proves("prompts")
@pytest.mark.parametrize("name", ["dev", "dev/none/review", "nowhere/legacy/review", ""])
async def test_a_prompt_that_there_is_not_is_refused(cell: Cell, name: str) -> None:
    with pytest.raises(RpcError) as refused:
        await cell.talker.request("prompts/get", {"name": name})
    assert refused.value.error["code"] == -32602


@proves("completion")
async def test_arguments_of_prompts_are_completed(cell: Cell) -> None:
    argument = {"name": "steps", "value": "a", "x-unknown": 1}
    reference = {"type": "ref/prompt", "name": f"dev/{cell.server}/review", "x-unknown": 2}
    context = {"arguments": {"other": "b"}}
    asked = {"ref": reference, "argument": argument, "context": context}
    completed = (await cell.talker.request("completion/complete", asked))["completion"]
    values = completed["values"]
    assert [json.loads(value) for value in values] == [{**asked, "ref": {**reference, "name": "review"}}]
    assert completed == {"values": values, "total": 1, "hasMore": False, "x-unknown": 1}


@proves("completion")
async def test_variables_of_templates_are_completed(cell: Cell) -> None:
    template = TEMPLATES[0]["uriTemplate"]
    reference = {"type": "ref/resource", "uri": wrapped(cell, template)}
    asked = {"ref": reference, "argument": {"name": "id", "value": ""}}
    completed = (await cell.talker.request("completion/complete", asked))["completion"]
    (told,) = map(json.loads, completed["values"])
    assert told == {**asked, "ref": {**reference, "uri": template}}
