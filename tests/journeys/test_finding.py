"""Searching for tools: in open toolboxes as they are, in others from the catalogue, starting nothing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from tests.support.configs import acting, server, tool, toolboxes
from tests.support.sessions import failure_of, text_of
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

FILES = [
    tool("read_file", description="Read a file as text", annotations={"readOnlyHint": True}),
    tool("remove_file", description="Delete a file for good"),
    tool("list_directory", description="Show what is in a directory"),
]
MAIL = [
    tool("send_message", description="Send an e-mail to somebody"),
    tool("read_inbox", description="Fetch unread mail"),
]


def config(files: Journal | None = None, mail: Journal | None = None, era: Era = "modern") -> Json:
    return toolboxes(
        dev={"files": server(files, era=era, tools=FILES)}, office={"mail": server(mail, era=era, tools=MAIL)}
    )


async def find(session: Session, query: object, **how: object) -> Json:
    result = await session.call("open_toolbox", {"query": query, **how})
    assert "isError" not in result
    found: Json = result["structuredContent"]
    assert json.loads(text_of(result)) == found
    return found


def places(tools: list[Json]) -> list[tuple[str, str, str]]:
    return [(tool["toolbox_name"], tool["source_server"], tool["name"]) for tool in tools]


def entries(home: Path) -> list[Path]:
    return list(home.glob("cache/mcp-workbench/catalogue/*.json"))


async def learn(connect: Connect, tmp_path: Path, config: Json, *boxes: str) -> None:
    """Has the servers of some toolboxes in the catalogue, and no process of them any more."""
    session = await connect(config)
    for box in boxes:
        await session.open_toolbox(box)
    await poll(lambda: len(entries(tmp_path)) == len(boxes))
    await session.client.close()


async def test_an_open_toolbox_is_searched_as_it_is(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    session = await connect(config(journal, era=server_era))
    await session.open_toolbox("dev")
    (best, *_) = (await find(session, "read a file"))["tools"]
    expected = {
        "name": "read_file",
        "toolbox_name": "dev",
        "source_server": "files",
        "signature": "read_file() — Read a file as text",
    }
    assert best == expected
    place = (best["toolbox_name"], best["source_server"], best["name"])
    assert text_of(await session.use_tool(*place, {"path": "x"})) == '{"path": "x"}'


async def test_what_is_in_the_catalogue_is_found_without_starting_anything(
    connect: Connect, make_journal: Callable[[str], Journal], tmp_path: Path, server_era: Era
) -> None:
    files, mail = make_journal("files"), make_journal("mail")
    both = config(files, mail, server_era)
    await learn(connect, tmp_path, both, "dev", "office")
    session = await connect(both)
    found = await find(session, "send e-mail")
    assert places(found["tools"])[0] == ("office", "mail", "send_message")
    assert found["listed"] == "just now"
    assert "not_searched" not in found
    assert places((await find(session, "send e-mail", toolbox_name="dev"))["tools"]) == []
    assert (files.starts, mail.starts) == (1, 1)
    assert text_of(await session.use_tool("office", "mail", "send_message")) == "{}"
    assert (files.starts, mail.starts) == (1, 2)
    assert "listed" not in await find(session, "send e-mail")


async def test_an_entry_says_how_old_it_is(connect_modern: Connect, tmp_path: Path) -> None:
    await learn(connect_modern, tmp_path, config(), "dev")
    (entry,) = entries(tmp_path)
    record = json.loads(entry.read_text())
    entry.write_text(json.dumps(record | {"listed_at": record["listed_at"] - 3 * 86400 - 60}))
    session = await connect_modern(config())
    assert (await find(session, "delete"))["listed"] == "3 days ago"
    named = await session.call("open_toolbox", {"tools": ["read_file"]})
    assert named["structuredContent"]["listed"] == "3 days ago"
    # The clock was put back since.
    entry.write_text(json.dumps(record | {"listed_at": record["listed_at"] + 86400}))
    assert (await find(session, "delete"))["listed"] == "just now"


async def test_servers_of_which_nothing_is_known_are_named_with_what_to_do(
    connect: Connect, journal: Journal
) -> None:
    session = await connect(config(journal))
    found = await find(session, "read a file")
    assert found["tools"] == []
    assert found["not_searched"] == {"dev": ["files"], "office": ["mail"]}
    assert "open_toolbox" in found["hint"]
    assert "mcp-workbench index" in found["hint"]
    assert journal.starts == 0


async def test_several_queries_are_answered_one_by_one_and_a_tool_is_shown_once(connect: Connect) -> None:
    session = await connect(config())
    for box in ("dev", "office"):
        await session.open_toolbox(box)
    found = await find(session, ["delete a file", "remove file", "unread mail"], limit=1)
    assert [result["query"] for result in found["results"]] == ["delete a file", "remove file", "unread mail"]
    first, again, other = (result["tools"] for result in found["results"])
    assert places(first) == places(again) == [("dev", "files", "remove_file")]
    assert first[0]["signature"] == "remove_file() — Delete a file for good"
    assert again == [{"name": "remove_file", "toolbox_name": "dev", "source_server": "files"}]
    assert places(other) == [("office", "mail", "read_inbox")]


async def test_eight_tools_are_given_unless_more_or_fewer_are_asked_for(connect_modern: Connect) -> None:
    many = server(era="modern", tools=[tool(f"read_{number}") for number in range(20)])
    session = await connect_modern(toolboxes(dev={"files": many}))
    await session.open_toolbox("dev")
    assert len((await find(session, "read"))["tools"]) == 8
    assert len((await find(session, "read", limit=3))["tools"]) == 3
    assert len((await find(session, "read", limit=100))["tools"]) == 20


async def test_nothing_that_fits_is_said_so(connect_modern: Connect) -> None:
    session = await connect_modern(config())
    await session.open_toolbox("dev")
    found = await find(session, "zzzz qqqq", toolbox_name="dev")
    assert (found["tools"], found["hint"].startswith("No tool matches")) == ([], True)


async def test_filtered_tools_and_disabled_servers_are_never_found(
    connect_modern: Connect, tmp_path: Path
) -> None:
    await learn(connect_modern, tmp_path, config(), "dev", "office")
    narrowed = config()
    narrowed["toolboxes"]["dev"]["mcpServers"]["files"]["toolFilters"] = ["!remove_*"]
    narrowed["toolboxes"]["office"]["mcpServers"]["mail"]["disabled"] = True
    session = await connect_modern(narrowed)
    for query in ("remove_file", "delete a file", "send_message", "send e-mail"):
        found = await find(session, query, limit=100)
        assert not {"remove_file", "send_message"} & {tool["name"] for tool in found["tools"]}
    refused = await session.call("open_toolbox", {"tools": ["remove_file"]})
    assert failure_of(refused).startswith("Tool 'remove_file' not found")


async def test_a_change_of_the_tools_is_found_at_once(connect_modern: Connect, journal: Journal) -> None:
    changed = [tool("grow"), tool("brew_coffee", description="Make some coffee")]
    changing = acting("grow", "change_tools", journal, era="modern", tools=changed)
    session = await connect_modern(toolboxes(dev={"files": changing}))
    await session.open_toolbox("dev")
    assert (await find(session, "coffee"))["tools"] == []
    await session.use_tool("dev", "files", "grow")
    await journal.wait_until(lambda it: len(it.messages("tools/list")) == 2)
    await session.open_toolbox("dev")
    assert places((await find(session, "coffee"))["tools"]) == [("dev", "files", "brew_coffee")]
    assert (await find(session, "echo"))["tools"] == []


async def test_a_damaged_catalogue_is_as_good_as_none(connect_modern: Connect, tmp_path: Path) -> None:
    await learn(connect_modern, tmp_path, config(), "dev")
    (entry,) = entries(tmp_path)
    entry.write_bytes(entry.read_bytes()[:-20])
    session = await connect_modern(config())
    assert (await find(session, "file"))["not_searched"] == {"dev": ["files"], "office": ["mail"]}
    await session.open_toolbox("dev")
    assert (await find(session, "file"))["not_searched"] == {"office": ["mail"]}


async def test_many_tools_are_read_beside_the_calls_of_others(connect_modern: Connect) -> None:
    many = server(era="modern", tools=[tool(f"tool_{number}") for number in range(1000)])
    session = await connect_modern(toolboxes(dev={"many": many, "few": server(era="modern")}))
    await session.open_toolbox("dev", detail="names")
    search = json.dumps({"name": "open_toolbox", "arguments": {"query": "718"}})
    await session.begin("tools/call", search, request_id="unwanted")
    searches = [await session.begin("tools/call", search) for _ in range(5)]
    # The others go on with what it has begun.
    await session.client.notify("notifications/cancelled", {"requestId": "unwanted"})
    for _ in range(20):
        assert text_of(await session.use_tool("dev", "few", "echo")) == "{}"
    async with asyncio.timeout(PATIENCE):
        replies = [(await search).message["result"] for search in searches]
    for reply in replies:
        assert places(reply["structuredContent"]["tools"])[0] == ("dev", "many", "tool_718")


async def test_without_a_cache_directory_open_toolboxes_are_searched_all_the_same(
    connect_modern: Connect, tmp_path: Path
) -> None:
    (tmp_path / "no").write_text("a file where a directory should be")
    session = await connect_modern(config(), env={"XDG_CACHE_HOME": str(tmp_path / "no")})
    await session.open_toolbox("dev")
    assert places((await find(session, "delete"))["tools"]) == [("dev", "files", "remove_file")]
