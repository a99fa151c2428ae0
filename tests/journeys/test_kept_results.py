"""Large results are kept, shown in short, and read in parts, between clients and servers of both eras."""

from __future__ import annotations

import json
import signal
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from tests.grid.benches import conversing_server
from tests.grid.questions import form
from tests.support.configs import acting, server, toolboxes
from tests.support.sessions import ModernSession, failure_of, result_of, text_of
from tests.support.talking import Talker, able, using

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect, Start
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

LIMIT = 10_000
LINES = "".join(f"line {number} of the text\n" for number in range(1, 5001))


def keeping(config: Json, limit: int = LIMIT, **others: object) -> Json:
    return {**config, "results": {"inlineLimit": limit, **others}}


def answering(era: str, **result: object) -> Json:
    """A server whose one tool always answers this."""
    return acting("get", "result", era=era, text=json.dumps(result))


def handle_in(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text.partition("handle ")[2].partition("\n")[0]


async def builtin(session: Session, tool: str, **arguments: object) -> Json:
    return await session.use_tool("workbench", "results", tool, arguments)


async def whole(session: Session, handle: str, **part: object) -> str:
    """All of a content, read piece by piece."""
    pieces: list[str] = []
    following: dict[str, Any] | None = {"offset": 0}
    while following is not None:
        piece, note = (await builtin(session, "read_result", handle=handle, **part, **following))["content"]
        pieces.append(piece["text"])
        _, _, after = note["text"].partition("Go on with ")
        following = json.loads(f"{{{after.removesuffix('.')}}}") if after else None
    return "".join(pieces)


async def test_a_long_text_is_kept_and_can_be_read_whole(connect: Connect, server_era: Era) -> None:
    session = await connect(keeping(toolboxes(dev={"echo": server(era=server_era)})))
    result = await session.use_tool("dev", "echo", "echo", {"text": LINES})
    assert len(json.dumps(result)) < LIMIT
    handle = handle_in(result)
    assert await whole(session, handle) == json.dumps({"text": LINES})
    assert await whole(session, handle, pointer="/text") == LINES


async def test_what_the_model_is_told_to_call_can_be_called(connect: Connect) -> None:
    session = await connect(keeping(toolboxes(dev={"echo": server()})))
    told = (await session.use_tool("dev", "echo", "echo", {"rows": [LINES, LINES]}))["content"][0]["text"]
    call = json.loads(told.partition("To read on: use_tool ")[2].partition(". search_result")[0])
    part, note = (await session.call("use_tool", call))["content"]
    assert LINES.startswith(part["text"])
    assert 'Go on with "start_line": ' in note["text"]


async def test_lines_are_read_and_found_by_their_numbers(connect: Connect, server_era: Era) -> None:
    filling = acting("fill", "fill", era=server_era, text="some line\nneedle\n", times=1000)
    session = await connect(keeping(toolboxes(dev={"text": filling})))
    handle = handle_in(await session.use_tool("dev", "text", "fill"))
    asked = {"handle": handle, "start_line": 1999, "end_line": 2000}
    piece, note = (await builtin(session, "read_result", **asked))["content"]
    assert piece["text"] == "some line\nneedle\n"
    assert note["text"] == (
        "These are lines 1,999 to 2,000 of 2,000 (bytes 16,983 to 17,000 of 17,000). This is the end."
    )
    found = await builtin(
        session, "search_result", handle=handle, regex="^NEED.e$", ignore_case=True, limit=1
    )
    summary, *lines = text_of(found).splitlines()
    assert summary.startswith("The first 1 match for the regex '^NEED.e$'; there are more.")
    assert lines == [
        "1- some line",
        "2: needle",
        "3- some line",
        "4- needle",
    ]


async def test_a_result_below_the_limit_and_any_result_without_it_pass_unchanged(
    connect: Connect, server_era: Era
) -> None:
    odd = '{"content": [ {"type":"text","text":"' + "x" * 20_000 + '"} ],"y":1.0,"resultType":"complete"}'
    far = acting("get", "result", era=server_era, text=odd)
    near = {**far, "results": {"inlineLimit": 30_000}}
    off = {**far, "results": {"inlineLimit": "off"}}
    session = await connect(keeping(toolboxes(dev={"far": far, "near": near, "off": off})))
    assert len((await session.use_tool_raw("dev", "far", "get", "{}")).line) < LIMIT
    for name in ("near", "off"):
        line = (await session.use_tool_raw("dev", name, "get", "{}")).line
        assert b'"content": [ {"type":"text","text":"%b"} ],"y":1.0' % (b"x" * 20_000) in line


async def test_an_error_stays_an_error_and_a_structure_has_the_handle_of_its_text(
    connect: Connect, server_era: Era
) -> None:
    rows = {"rows": [{"id": number} for number in range(2000)]}
    content = [{"type": "text", "text": json.dumps(rows, indent=1)}]
    failing = answering(server_era, content=content, structuredContent=rows, isError=True, other=1.5)
    session = await connect(keeping(toolboxes(dev={"data": failing})))
    result = await session.use_tool("dev", "data", "get")
    assert (result["isError"], result["other"]) == (True, 1.5)
    handle = result["structuredContent"]["$result"]
    assert handle == handle_in(result)
    assert result["structuredContent"]["workbench"] == result["content"][0]["text"]
    piece, _ = (await builtin(session, "read_result", handle=handle, pointer="/rows/1999"))["content"]
    assert json.loads(piece["text"]) == {"id": 1999}
    found = text_of(await builtin(session, "search_result", handle=handle, text='"id": 1234'))
    assert found.splitlines()[0] == "1 match for the text '\"id\": 1234'."


async def test_what_is_kept_by_default_and_what_is_not(connect: Connect, server_era: Era) -> None:
    image = {"type": "image", "data": b64encode(b"pixel" * 15_000).decode(), "mimeType": "image/png"}
    servers = {
        "log": acting("get", "fill", era=server_era, text="a line of a log\n", times=80_000),
        "file": acting("get", "fill", era=server_era, text="a line of a text\n", times=2_500),
        "camera": answering(server_era, content=[image]),
    }
    session = await connect(toolboxes(dev=servers))
    log, file, camera = [await session.use_tool("dev", name, "get") for name in servers]
    shown = text_of(log)
    assert shown.startswith("Result kept by the workbench: 1,280,000 bytes of text, handle res_")
    assert len(shown) < 4500
    call = json.loads(shown.partition("To read on: use_tool ")[2].partition(". search_result")[0])
    assert (await session.call("use_tool", call))["content"][0]["text"].startswith("a line of a log\n")
    assert text_of(file) == "a line of a text\n" * 2_500
    assert camera["content"] == [image]


async def test_what_is_no_text_and_no_image_is_given_back_whole(connect: Connect, server_era: Era) -> None:
    blob = b64encode(bytes(range(256)) * 100).decode()
    file = {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": blob}
    block = {"type": "resource", "resource": file, "annotations": {"priority": 0.5}}
    session = await connect(keeping(toolboxes(dev={"scanner": answering(server_era, content=[block])})))
    result = await session.use_tool("dev", "scanner", "get")
    assert result["content"][0]["type"] == "text"
    again = await builtin(session, "read_result", handle=handle_in(result))
    assert again["content"] == [block]


async def test_a_kept_result_goes_to_another_tool_without_passing_through_the_client(
    connect: Connect, server_era: Era, journal: Journal
) -> None:
    rows = {"rows": [{"id": number, "f": 1.50} for number in range(2000)]}
    config = toolboxes(dev={"data": server(era=server_era), "sink": server(journal, era=server_era)})
    session = await connect(keeping(config))
    handle = handle_in(await session.use_tool("dev", "data", "echo", rows))
    await session.use_tool("dev", "sink", "echo")  # the next call can be sent at once
    arguments = (
        f'{{"first":{{"$result":"{handle}","pointer":"/rows/1"}}, "all":{{"$result":"{handle}"}},"n":1.0}}'
    )
    assert "handle res_" in (await session.use_tool_raw("dev", "sink", "echo", arguments)).line.decode()
    filled = f'"arguments":{{"first":{{"id": 1, "f": 1.5}}, "all":{json.dumps(json.dumps(rows))},"n":1.0}}'
    assert filled in journal.lines[-1]


async def test_a_call_that_refers_and_is_asked_something_goes_on_and_its_long_result_is_kept(
    connect: Connect, client_era: Era, server_era: Era, journal: Journal
) -> None:
    servers = {"echo": server(), "talk": conversing_server(server_era, journal)}
    session = await connect(keeping(toolboxes(dev=servers)))
    session.capabilities = able(client_era)
    await session.greet()
    talker = Talker(session)
    handle = handle_in(await session.use_tool("dev", "echo", "echo", {"text": "x" * 20_000}))
    said = "a question " * 2000
    arguments = {"steps": [{"ask": [form(said)]}], "data": {"$result": handle, "pointer": "/text"}}
    result = await talker.request("tools/call", using("talk", arguments))
    told = json.loads(await whole(session, handle_in(result)))
    assert told["answers"][0][0]["result"]["content"] == {"said": said}
    calls = journal.messages("tools/call")
    assert {call["params"]["arguments"]["data"] for call in calls} == {"x" * 20_000}


async def test_what_a_killed_workbench_has_left_is_removed_by_the_next(start: Start, tmp_path: Path) -> None:
    config = keeping(toolboxes(dev={"echo": server()}), memory=0)
    contents: list[set[Path]] = []
    for _ in range(2):
        session = ModernSession(await start(config))
        await session.use_tool("dev", "echo", "echo", {"text": "x" * 20_000})
        contents.append({path for path in (tmp_path / "cache").rglob("results/*/*") if path.name != "lock"})
        await session.client.signal(signal.SIGKILL)
    first, second = contents
    assert len(first) == len(second) == 1
    assert not first & second


async def test_where_no_file_can_be_written_results_are_kept_in_memory(
    connect_modern: Connect, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("where a directory would have to be")
    session = await connect_modern(keeping(toolboxes(dev={"echo": server()}), memory=50_000))
    told = [{"text": letter * 20_000} for letter in "abcd"]
    handles = [handle_in(await session.use_tool("dev", "echo", "echo", it)) for it in told]
    assert await whole(session, handles[-1], pointer="/text") == "d" * 20_000
    assert failure_of(await builtin(session, "read_result", handle=handles[0])).startswith(
        "No result is kept"
    )
    too_much = {"text": "x" * 60_000}
    assert text_of(await session.use_tool("dev", "echo", "echo", too_much)) == json.dumps(too_much)
    assert "results are kept in memory only" in session.client.stderr


async def test_a_reference_that_leads_nowhere_is_sent_to_nobody(connect: Connect, journal: Journal) -> None:
    session = await connect(keeping(toolboxes(dev={"echo": server(journal)})))
    await session.use_tool("dev", "echo", "echo")
    wrong = await session.use_tool("dev", "echo", "echo", {"a": {"$result": "res_unknown"}})
    assert failure_of(wrong).startswith("No result is kept under the handle 'res_unknown'")
    assert len(journal.messages("tools/call")) == 1


async def test_where_nothing_is_kept_arguments_pass_unchanged(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"echo": server()}) | {"results": False})
    told = {"a": {"$result": "res_unknown"}}
    assert text_of(await session.use_tool("dev", "echo", "echo", told)) == json.dumps(told)


async def test_arguments_that_only_look_like_a_reference_pass_unchanged(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"echo": server()}))
    told = {"a": {"$result": "a name of the server's own"}, "b": {"$result": 5}}
    assert text_of(await session.use_tool("dev", "echo", "echo", told)) == json.dumps(told)


async def test_what_the_built_in_toolbox_does_not_have_is_said_as_for_any_other(connect: Connect) -> None:
    session = await connect(keeping(toolboxes(dev={"echo": server()})))
    unknown = failure_of(await session.use_tool("workbench", "result", "read_result"))
    assert unknown == "Server 'result' not found in toolbox 'workbench'. Available servers: results"
    unknown = failure_of(await builtin(session, "read_results"))
    assert unknown.startswith("Tool 'read_results' not found in server 'results' (toolbox 'workbench').")
    gone = failure_of(await builtin(session, "read_result", handle="res_AAAAAAAAAAAAAAAAAAAAAA"))
    assert gone.startswith("No result is kept under the handle 'res_AAAAAAAAAAAAAAAAAAAAAA': it has expired")


async def test_the_built_in_toolbox_costs_nothing_and_can_be_opened_and_searched(connect: Connect) -> None:
    session = await connect(keeping(toolboxes(dev={"echo": server()})))
    assert "workbench" not in session.greeting["instructions"]
    opening, _ = await session.list_tools()
    assert opening["inputSchema"]["properties"]["toolbox_name"]["enum"] == ["dev"]
    opened = (await session.open_toolbox("workbench", detail="full"))["structuredContent"]
    assert (opened["toolbox"], opened["servers_connected"]) == ("workbench", 1)
    assert [(tool["source_server"], tool["name"]) for tool in opened["tools"]] == [
        ("results", "read_result"),
        ("results", "search_result"),
    ]
    only = (await session.open_toolbox("workbench", tools=["search_result"]))["structuredContent"]["tools"]
    assert [tool["name"] for tool in only] == ["search_result"]
    found = await session.call("open_toolbox", {"query": "regular expression", "toolbox_name": "workbench"})
    assert found["structuredContent"]["tools"][0]["name"] == "search_result"
    everywhere = await session.call("open_toolbox", {"query": "regular expression"})
    assert everywhere["structuredContent"]["tools"] == []
    failure = failure_of(await session.open_toolbox("nowhere"))
    assert failure == "Toolbox 'nowhere' not found. Available toolboxes: dev"


async def test_a_configured_toolbox_may_have_the_name_of_the_built_in_one(connect: Connect) -> None:
    session = await connect(keeping(toolboxes(workbench={"echo": server()})))
    handle = handle_in(await session.use_tool("workbench", "echo", "echo", {"text": LINES}))
    assert await whole(session, handle, pointer="/text") == LINES
    opened = (await session.open_toolbox("workbench"))["structuredContent"]
    assert {tool["source_server"] for tool in opened["tools"]} == {"echo"}


async def test_without_kept_results_there_is_no_such_toolbox(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"echo": server()}) | {"results": False})
    failure = failure_of(await builtin(session, "read_result", handle="res_x"))
    assert failure == "Toolbox 'workbench' not found. Available toolboxes: dev"


async def test_what_does_not_fit_into_memory_is_in_private_files_that_go_at_the_end(
    connect_modern: Connect, tmp_path: Path
) -> None:
    session = await connect_modern(keeping(toolboxes(dev={"echo": server()}), memory=0))
    handles = [
        handle_in(await session.use_tool("dev", "echo", "echo", {"text": letter * 20_000})) for letter in "ab"
    ]
    files = [path for path in (tmp_path / "cache").rglob("results/*/*") if path.name != "lock"]
    assert sorted(path.read_text()[10] for path in files) == ["a", "b"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert await whole(session, handles[0], pointer="/text") == "a" * 20_000
    assert (await session.client.close()).code == 0
    assert not any(path.is_dir() for path in (tmp_path / "cache" / "mcp-workbench" / "results").iterdir())


async def test_a_secret_of_the_configuration_never_gets_into_a_file(
    connect_modern: Connect, tmp_path: Path
) -> None:
    entry = {"env": {"API_KEY": "hunter22-and-more"}}
    config = keeping(toolboxes(dev={"echo": server(entry=entry)}), memory=0)
    session = await connect_modern(config)
    told = {"text": "the key is hunter22-and-more" + "x" * 20_000}
    # It cannot be kept in memory either, and so it is passed on as it came.
    assert text_of(await session.use_tool("dev", "echo", "echo", told)) == json.dumps(told)
    assert not [path for path in (tmp_path / "cache").rglob("results/*/*") if path.name != "lock"]


async def test_others_are_answered_while_a_very_large_result_is_kept(
    connect_modern: Connect, tmp_path: Path
) -> None:
    large = acting("fill", "fill", entry={"messageLimit": 2**28}, text="~" * 99_999 + "\n", times=1000)
    session = await connect_modern(keeping(toolboxes(dev={"large": large, "echo": server()})))
    pending = await session.begin_tool("dev", "large", "fill")
    answered = 0
    while not pending.done():
        assert text_of(await session.use_tool("dev", "echo", "echo", {})) == "{}"
        answered += 1
    assert answered > 10
    result = result_of((await pending).message)
    assert "100,000,000 bytes of text, handle" in result["content"][0]["text"]
    (kept,) = [path for path in (tmp_path / "cache").rglob("results/*/*") if path.name != "lock"]
    assert kept.stat().st_size == 100_000_000
    last = {"handle": handle_in(result), "start_line": 1000, "end_line": 1000}
    piece, _ = (await builtin(session, "read_result", **last))["content"]
    assert piece["text"] == "~" * LIMIT


async def test_a_changed_file_switches_it_on(connect_modern: Connect, tmp_path: Path) -> None:
    config = toolboxes(dev={"echo": server()})
    session = await connect_modern(config)
    long = {"text": "x" * 20_000}
    assert text_of(await session.use_tool("dev", "echo", "echo", long)) == json.dumps(long)
    config["toolboxes"]["dev"]["results"] = {"inlineLimit": LIMIT}
    (tmp_path / "workbench-config.json").write_text(json.dumps(config))
    await session.client.wait_for_stderr("the configuration is reloaded")
    handle = handle_in(await session.use_tool("dev", "echo", "echo", long))
    assert await whole(session, handle, pointer="/text") == long["text"]
