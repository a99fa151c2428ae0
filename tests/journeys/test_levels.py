"""How much of its tools a toolbox shows: input schemas of a few, signatures of many, or just names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.workbench.text.estimate import estimate_tokens
from tests.support.configs import server, tool, toolboxes
from tests.support.sessions import failure_of, names, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

READ = tool(
    "read_file",
    description="Read a file as text. Works on the directories that are allowed.",
    inputSchema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file to read"},
            "head": {"type": "integer", "description": "Only the first lines"},
        },
        "required": ["path"],
    },
)
WRITE = tool("write_file", description="Create a file, or overwrite it.")


def large(count: int, width: int = 60) -> Json:
    """A server with more than fits."""
    purpose = "Does what the number says, and nothing beyond that at all"[:width]
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 40}}}
    return server(
        era="modern",
        tools=[tool(f"tool_{n}", description=f"{purpose} {n}.", inputSchema=schema) for n in range(count)],
    )


async def opened(session: Session, **how: object) -> Json:
    result = await session.open_toolbox("dev", **how)
    shown: Json = result["structuredContent"]
    assert json.loads(text_of(result)) == shown
    return shown


async def test_a_tool_with_an_endless_name_does_not_push_out_the_others(connect_modern: Connect) -> None:
    endless = tool(" ".join(map(str, range(10_000))), description="")
    servers = {"bad": server(era="modern", tools=[endless]), "good": large(100)}
    shown = await opened(await connect_modern(toolboxes(dev=servers)))
    assert list(shown["tools"]) == ["good"]
    assert len(shown["tools"]["good"]) == 100
    assert "no room for 1 more" in shown["hint"]


async def test_a_small_toolbox_is_listed_with_input_schemas(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server(tools=[READ, WRITE])}))
    plain = await opened(session)
    assert list(plain) == ["toolbox", "description", "servers_connected", "tools"]
    assert [tool["inputSchema"] for tool in plain["tools"]] == [
        json.loads(definition)["inputSchema"] for definition in (READ, WRITE)
    ]
    assert await opened(session, detail="full") == await opened(session, detail="auto") == plain


async def test_signatures_have_the_parameters_with_their_types(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server(tools=[READ, WRITE])}))
    shown = await opened(session, detail="signatures")
    assert (shown["detail"], list(shown["tools"])) == ("signatures", ["files"])
    read, write = shown["tools"]["files"]
    assert read.startswith("read_file(path: string, head?: integer) — Read a file as text.")
    assert "The file to read" in read
    assert write == "write_file() — Create a file, or overwrite it."


async def test_names_have_a_line_each_by_server(connect: Connect) -> None:
    boxes = toolboxes(dev={"files": server(tools=[READ, WRITE]), "mail": server(tools=[tool("send mail")])})
    shown = await opened(await connect(boxes), detail="names")
    assert shown["detail"] == "names"
    assert shown["tools"] == {
        "files": ["read_file — Read a file as text.", "write_file — Create a file, or overwrite it."],
        "mail": ['"send mail" — Does send mail'],
    }
    assert "tools: [its name]" in shown["hint"]


@pytest.mark.parametrize(("count", "level"), [(4, "full"), (20, "signatures"), (300, "names")])
async def test_the_richest_level_is_shown_that_fits_the_budget(
    connect_modern: Connect, count: int, level: str
) -> None:
    session = await connect_modern(toolboxes(dev={"many": large(count)}))
    result = await session.open_toolbox("dev")
    shown = result["structuredContent"]
    assert shown.get("detail", "full") == level
    tools = shown["tools"] if level == "full" else shown["tools"]["many"]
    assert len(tools) == count
    assert estimate_tokens(text_of(result)) <= 7000


async def test_when_not_even_the_names_fit_it_says_how_many_are_missing(connect_modern: Connect) -> None:
    boxes = toolboxes(dev={"many": large(500, width=4)}) | {"listingBudget": 600}
    session = await connect_modern(boxes)
    result = await session.open_toolbox("dev")
    shown = result["structuredContent"]
    listed = shown["tools"]["many"]
    assert listed == [f"tool_{number}" for number in range(len(listed))]
    assert f"no room for {500 - len(listed)} more" in shown["hint"]
    assert "query" in shown["hint"]
    assert estimate_tokens(text_of(result)) <= 600
    assert len((await opened(session, detail="names"))["tools"]["many"]) == 500
    assert len((await opened(session, detail="full"))["tools"]) == 500


async def test_when_not_all_fit_every_server_has_its_turn(connect_modern: Connect) -> None:
    boxes = toolboxes(dev={"many": large(500, width=4), "few": server(era="modern", tools=[READ, WRITE])})
    session = await connect_modern(boxes | {"listingBudget": 600})
    listed = (await opened(session))["tools"]
    assert listed["few"] == ["read_file", "write_file"]
    assert 50 < len(listed["many"]) < 500


async def test_a_toolbox_has_a_budget_of_its_own(connect_modern: Connect) -> None:
    boxes = toolboxes(dev={"many": large(150)})
    boxes["toolboxes"]["dev"]["listingBudget"] = 100_000
    session = await connect_modern(boxes | {"listingBudget": 500})
    assert (await opened(session))["detail"] == "signatures"
    found = (await session.call("open_toolbox", {"query": "tool", "limit": 100}))["structuredContent"]
    assert found["tools"][-1].keys() == {"name", "toolbox_name", "source_server"}
    within = await session.call("open_toolbox", {"query": "tool", "toolbox_name": "dev", "limit": 100})
    assert all(tool.keys() & {"signature", "summary"} for tool in within["structuredContent"]["tools"])


async def test_of_what_was_found_the_best_can_be_called_and_the_rest_is_in_brief(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"many": large(40)}))
    await session.open_toolbox("dev")
    result = await session.call("open_toolbox", {"query": "number"})
    first, *_, last = result["structuredContent"]["tools"]
    identifier = {"name", "toolbox_name", "source_server"}
    assert first.keys() == identifier | {"signature"}
    assert last.keys() == identifier | {"summary"}
    assert "tools: [its name]" in result["structuredContent"]["hint"]
    assert estimate_tokens(text_of(result)) <= 500
    one = (await session.call("open_toolbox", {"query": "number", "limit": 1}))["structuredContent"]
    assert (len(one["tools"]), list(one)) == (1, ["tools"])
    result = await session.call("open_toolbox", {"query": "number", "limit": 40, "detail": "full"})
    assert all("inputSchema" in tool for tool in result["structuredContent"]["tools"])


async def test_what_a_signature_cannot_say_is_said_by_the_schema(connect_modern: Connect) -> None:
    choices = [{"type": "object", "properties": {name: {"type": "string"}}} for name in ("path", "url")]
    schema = {"type": "object", "properties": {"source": {"oneOf": choices}}, "additionalProperties": False}
    odd = tool("load", description="Load it.", inputSchema=schema)
    several = server(era="modern", tools=[odd, *(tool(f"tool_{number}") for number in range(10))])
    session = await connect_modern(toolboxes(dev={"files": several}))
    first, second, *_ = (await opened(session))["tools"]["files"]
    assert first == {"name": "load", "description": "Load it.", "inputSchema": schema}
    assert second == "tool_0() — Does tool_0"


async def test_the_longest_tools_lose_their_parameters_before_all_do(connect_modern: Connect) -> None:
    wide = {"type": "object", "properties": {f"parameter_{n}": {"type": "string"} for n in range(100)}}
    several = [tool("wide", inputSchema=wide), *(tool(f"tool_{number}") for number in range(30))]
    boxes = toolboxes(dev={"many": server(era="modern", tools=several)}) | {"listingBudget": 600}
    shown = await opened(await connect_modern(boxes))
    assert shown["detail"] == "signatures"
    assert shown["tools"]["many"][:2] == ["wide(…) — Does wide", "tool_0() — Does tool_0"]
    assert "tools: [its name]" in shown["hint"]


TOLD = "Call status first. " + "Then anything else. " * 200


async def test_what_a_server_tells_models_comes_with_its_tools(connect: Connect, server_era: Era) -> None:
    secret = {"env": {"API_TOKEN": "hunter2-hunter2"}}
    told = f"Use\u200b the key hunter2-hunter2. {TOLD}"
    said = {"instructions": told}
    telling = server(None, secret, era=server_era, greeting=said, discovery=said)
    session = await connect(toolboxes(dev={"git": telling, "silent": server(era=server_era)}))
    (shown,) = (await opened(session))["server_instructions"].items()
    assert shown[0] == "git"
    assert shown[1].startswith("Use the key <env API_TOKEN>. Call status first. Then anything else.")
    assert shown[1].endswith("…")
    assert len(shown[1]) <= 2000
    whole = (await opened(session, detail="full"))["server_instructions"]["git"]
    assert whole.endswith(TOLD.strip())
    assert "hunter2" not in whole
    assert "server_instructions" not in await opened(session, tools=["echo"])


async def test_named_tools_start_only_the_servers_that_have_them(
    connect: Connect, make_journal: Callable[[str], Journal]
) -> None:
    journals = {name: make_journal(name) for name in ("one", "two", "three")}
    servers = {name: server(journal, tools=[tool(f"do_{name}")]) for name, journal in journals.items()}

    def starts() -> list[int]:
        return [journal.starts for journal in journals.values()]

    first = await connect(toolboxes(dev=servers))
    await first.open_toolbox("dev")
    await first.client.close()  # from now on they are in the catalogue
    session = await connect(toolboxes(dev=servers))
    assert names((await opened(session, tools=["do_two"]))["tools"]) == ["do_two"]
    assert starts() == [1, 2, 1]
    # What no server is known to have may be new.
    failure_of(await session.open_toolbox("dev", tools=["do_four"]))
    assert starts() == [2, 2, 2]


async def test_some_tools_are_shown_whole_by_their_names(connect: Connect) -> None:
    boxes = toolboxes(dev={"files": server(tools=[READ, WRITE]), "copies": server(tools=[READ])})
    session = await connect(boxes | {"listingBudget": 500})
    shown = await opened(session, tools=["read_file", "raed_file"])
    assert shown["servers_connected"] == 2
    assert names(shown["tools"]) == ["read_file", "read_file"]
    assert [tool["source_server"] for tool in shown["tools"]] == ["files", "copies"]
    assert shown["tools"][0]["inputSchema"] == json.loads(READ)["inputSchema"]
    assert shown["not_found"] == [{"name": "raed_file", "similar": ["read_file", "write_file"]}]
    brief = await opened(session, tools=["write_file"], detail="signatures")
    assert brief["tools"][0]["signature"].startswith("write_file()")


async def test_names_that_nothing_has_are_an_error_with_those_that_may_be_meant(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server(tools=[READ, WRITE])}))
    text = failure_of(await session.open_toolbox("dev", tools=["raed_file"]))
    assert text.startswith("Tool 'raed_file' not found in toolbox 'dev'. Did you mean: read_file")
    text = failure_of(await session.call("open_toolbox", {"tools": ["nothing", "nowhere"]}))
    assert text.startswith("Tools 'nothing', 'nowhere' not found in any toolbox")


async def test_tools_of_any_toolbox_are_shown_by_name_without_starting_one(
    connect: Connect, journal: Journal
) -> None:
    boxes = toolboxes(dev={"files": server(tools=[READ])}, ops={"logs": server(journal, tools=[READ])})
    session = await connect(boxes)
    await session.open_toolbox("dev")
    found = (await session.call("open_toolbox", {"tools": "read_file"}))["structuredContent"]
    assert [tool["toolbox_name"] for tool in found["tools"]] == ["dev"]
    assert journal.starts == 0


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"query": "", "limit": 8, "tools": [], "detail": ""}, "There are three ways to call open_toolbox"),
        ({"query": "read", "limit": -1}, "from 1 to 100"),
        ({"query": "read", "limit": 10_000}, "from 1 to 100"),
        ({"toolbox_name": "dev", "detail": "everything"}, "auto, full, signatures, names"),
        ({"query": "read", "toolbox_name": "nowhere"}, "Available toolboxes: dev"),
    ],
)
async def test_what_makes_no_sense_is_an_error_with_its_remedy(
    connect: Connect, journal: Journal, arguments: Json, remedy: str
) -> None:
    session = await connect(toolboxes(dev={"files": server(journal)}))
    assert remedy in failure_of(await session.call("open_toolbox", arguments))
    assert journal.starts == 0


async def test_hidden_characters_are_taken_out_at_every_level(connect_modern: Connect) -> None:
    hiding = tool("read", description="Reads\u200b a file.\u202e")
    session = await connect_modern(toolboxes(dev={"files": server(era="modern", tools=[hiding])}))
    for detail in ("full", "signatures", "names"):
        result = await session.open_toolbox("dev", detail=detail)
        assert "\u200b" not in text_of(result)
        assert "hidden characters were removed" in result["structuredContent"]["notes"][0]["note"]
    found = await session.call("open_toolbox", {"query": "read"})
    assert "\u200b" not in text_of(found)
