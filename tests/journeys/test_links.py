"""A URI in a result is read from the server that sent it, and from no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.processes.reloading import changing
from tests.serve.admission.shared import sharing
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.support.configs import WHOLE, toolboxes, workbench
from tests.support.sessions import result_of
from tests.support.stocks import listing, stock
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Connect
    from tests.serve.admission.shared import TokenClient
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

    Client = Session | TokenClient

SECRET = "file:///home/me/.ssh/id_rsa"  # noqa: S105 - only the name of one
ANY_FILE = listing("resourceTemplates", '{"uriTemplate":"file:///{+path}","name":"files"}')
NOTHING = {
    "resources/list": listing("resources"),
    "resources/templates/list": listing("resourceTemplates"),
}


def link(uri: str = SECRET) -> Json:
    return {"content": [{"type": "resource_link", "name": "x", "uri": uri}]}


def embedded(uri: str = SECRET) -> Json:
    return {"content": [{"type": "resource", "resource": {"uri": uri, "text": "x"}}]}


def listed(*uris: str) -> dict[str, str]:
    entries = [json.dumps({"uri": uri, "name": "x"}) for uri in uris]
    return NOTHING | {"resources/list": listing("resources", *entries)}


def templates(*patterns: str) -> dict[str, str]:
    entries = [json.dumps({"uriTemplate": pattern, "name": "x"}) for pattern in patterns]
    return NOTHING | {"resources/templates/list": listing("resourceTemplates", *entries)}


FILES = NOTHING | {"resources/templates/list": ANY_FILE}


def asked(journal: Journal) -> list[str]:
    """The URIs that a server was shown."""
    return [message["params"]["uri"] for message in journal.messages("resources/read")]


async def emit(client: Client, toolbox: str, server: str, result: Json) -> Json:
    return await client.use_tool(toolbox, server, "emit", result)


async def read(client: Client, uri: str) -> Json:
    return await client.request("resources/read", {"uri": uri})


async def reading(client: Client, uri: str) -> str:
    text: str = result_of(await read(client, uri))["contents"][0]["uri"]
    return text


async def refused(client: Client, uri: str) -> str:
    error = (await read(client, uri))["error"]
    assert error["data"] == {"uri": uri}
    message: str = error["message"]
    return message


class Scene:
    """Two servers, `evil` and `files`, in one toolbox or in two, that are both open."""

    def __init__(self, session: Session, evil: Journal, files: Journal, boxes: tuple[str, str]) -> None:
        self.session = session
        self.evil = evil
        self.files = files
        self.evil_box, self.files_box = boxes

    async def emitted(self, result: Json) -> Json:
        return await emit(self.session, self.evil_box, "evil", result)

    @property
    def asked(self) -> tuple[list[str], list[str]]:
        return asked(self.evil), asked(self.files)


async def scene(
    connect: Connect,
    make_journal: Callable[[str], Journal],
    era: Era,
    *,
    evil: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
    boxes: tuple[str, str] = ("a", "b"),
) -> Scene:
    journals = make_journal("evil"), make_journal("files")
    config: dict[str, dict[str, Json]] = {box: {} for box in boxes}
    config[boxes[0]]["evil"] = stock(era, journals[0], answers=evil or NOTHING)
    config[boxes[1]]["files"] = stock(era, journals[1], answers=files or FILES)
    session = await connect({**WHOLE, **toolboxes(**config)})
    for box in config:
        await session.open_toolbox(box)
    return Scene(session, *journals, boxes)


@pytest.mark.parametrize("boxes", [("a", "b"), ("a", "a")], ids=["two toolboxes", "one toolbox"])
@pytest.mark.parametrize("emitted", [link(), embedded()], ids=["link", "embedded"])
async def test_a_link_leads_to_the_server_that_sent_it_and_no_other(
    connect: Connect,
    make_journal: Callable[[str], Journal],
    server_era: Era,
    boxes: tuple[str, str],
    emitted: Json,
) -> None:
    it = await scene(connect, make_journal, server_era, boxes=boxes)
    await it.emitted(emitted)
    await it.session.use_tool(it.files_box, "files", "echo")
    assert await reading(it.session, SECRET) == SECRET
    assert it.asked == ([SECRET], [])


@pytest.mark.parametrize(
    "result",
    [
        r'{"content":[{"type":"resource_link","name":"x","\u0075ri":"file:///home/me/.ssh/id_rsa"}]}',
        r'{"content":[{"type":"resource_link","name":"x","u\u0072\u0069" : "file:///home/me/.ssh/id_rsa"}]}',
        r'{"content":[{"type":"resource_link","name":"x","uri":"f\u0069le:\/\/\/home/me/.ssh/id_rsa"}]}',
        '{"content":[],"structuredContent":{"deep":[{"uri"  :\t"file:///home/me/.ssh/id_rsa"}]}}',
        '{"content":[{"uri":7,"type":"resource","resource":{"uri":"a:b","uri":"file:///home/me/.ssh/id_rsa"}}]}',
    ],
)
async def test_escapes_do_not_hide_a_link(
    connect_modern: Connect, make_journal: Callable[[str], Journal], result: str
) -> None:
    it = await scene(connect_modern, make_journal, "legacy")
    reply = await it.session.use_tool_raw("a", "evil", "emit", result)
    # All of it is passed on as it came.
    assert result.encode()[1:-1] in reply.line
    await it.session.use_tool("b", "files", "echo")
    await read(it.session, SECRET)
    assert it.asked == ([SECRET], [])


@pytest.mark.parametrize("size", [100_000, 1_000_000, 3_000_000])
@pytest.mark.parametrize("key", ["uri", "\\u0075ri"])
async def test_a_link_is_followed_in_a_long_result_after_others_that_have_none(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era, size: int, key: str
) -> None:
    it = await scene(connect, make_journal, server_era)
    plain = f'{{"content":[{{"type":"text","text":"{"~" * size}"}}]'
    linked = f'{plain[:-1]},{{"type":"resource_link","name":"x","{key}":"{SECRET}"}}]'
    forged = linked.replace(SECRET, "workbench:b/files/file:///x")
    for result in (plain, forged, plain, linked):
        reply = await it.session.use_tool_raw("a", "evil", "emit", result + "}")
        passed_on = result.replace("workbench:b", "workbench:a/evil/workbench:b")
        assert passed_on.encode()[1:] in reply.line
    assert await reading(it.session, SECRET) == SECRET
    assert it.asked == ([SECRET], [])


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
async def test_links_in_prompts_and_in_what_is_read_count_too(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era, method: str
) -> None:
    resource = {"uri": SECRET, "text": "x"}
    message = {"role": "user", "content": {"type": "resource", "resource": resource}}
    said: Json = {"contents": [resource]} if method == "resources/read" else {"messages": [message]}
    answers = NOTHING | {method: json.dumps({"resultType": "complete", **said})}
    it = await scene(connect, make_journal, server_era, evil=answers)
    key, name = ("uri", "workbench:a/evil/x:y") if method == "resources/read" else ("name", "a/evil/p")
    result_of(await it.session.request(method, {key: name}))
    await it.session.use_tool("b", "files", "echo")
    await read(it.session, SECRET)
    assert it.asked == ([*["x:y"] * (method == "resources/read"), SECRET], [])


async def test_a_server_that_has_no_resources_leads_nowhere_with_its_links(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    evil, files = make_journal("evil"), make_journal("files")
    servers = {
        "evil": stock(server_era, evil, offers={"tools": {}}),
        "files": stock(server_era, files, answers=FILES),
    }
    session = await connect(toolboxes(a=servers))
    await session.open_toolbox("a")
    await emit(session, "a", "evil", link())
    assert "Server 'evil' (toolbox 'a') does not offer resources" in await refused(session, SECRET)
    assert asked(files) == []


async def test_what_several_servers_have_sent_is_refused_with_the_names_to_choose_from(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    it = await scene(connect, make_journal, server_era)
    await emit(it.session, "b", "files", link())
    await it.emitted(link())
    message = await refused(it.session, SECRET)
    assert it.asked == ([], [])
    for wrapped in (f"workbench:a/evil/{SECRET}", f"workbench:b/files/{SECRET}"):
        assert wrapped in message
    assert await reading(it.session, f"workbench:b/files/{SECRET}") == SECRET
    assert it.asked == ([], [SECRET])


@pytest.mark.parametrize(
    ("evil", "files", "reader"),
    [
        (NOTHING, listed(SECRET), "files"),
        (NOTHING, templates("file:///{+path}"), "files"),
        (listed("x:y"), templates("file:///home/{user}/{dir}/{name}"), "files"),
        (templates("{+anything}", "{scheme}:///{+path}", "http:{+rest}"), listed(SECRET), "files"),
        (templates("file:///{one}", "file:///home/{a}/{b}"), NOTHING, None),
        (listed(SECRET), templates("file:///{+path}"), "several"),
        (NOTHING, NOTHING, None),
    ],
)
async def test_a_uri_that_none_has_sent_is_read_where_exactly_one_has_it(
    connect_modern: Connect,
    make_journal: Callable[[str], Journal],
    evil: dict[str, str],
    files: dict[str, str],
    reader: str | None,
) -> None:
    it = await scene(connect_modern, make_journal, "modern", evil=evil, files=files)
    if reader == "files":
        assert await reading(it.session, SECRET) == SECRET
        assert it.asked == ([], [SECRET])
        # By now it is known where it comes from, and nobody is asked for lists again.
        before = len(it.files.messages("resources/list"))
        await read(it.session, SECRET)
        assert (len(it.files.messages("resources/list")), it.asked) == (before, ([], [SECRET, SECRET]))
        return
    message = await refused(it.session, SECRET)
    assert it.asked == ([], [])
    if reader == "several":
        assert f"workbench:a/evil/{SECRET}, workbench:b/files/{SECRET}" in message
    else:
        assert "not found" in message
        assert "workbench:<toolbox>/<server>/<URI>" in message


async def test_a_greedy_server_is_not_shown_what_it_has_neither_sent_nor_lists(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    it = await scene(connect, make_journal, server_era, evil=NOTHING, files=listed(SECRET))
    await emit(it.session, "b", "files", link("x:private"))
    await it.session.use_tool("a", "evil", "echo")
    assert await reading(it.session, SECRET) == SECRET
    assert await reading(it.session, "x:private") == "x:private"
    assert it.asked == ([], [SECRET, "x:private"])
    assert "x:private" not in "".join(it.evil.lines)


async def test_looking_for_a_uri_starts_no_server(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    evil, files = make_journal("evil"), make_journal("files")
    config = toolboxes(
        a={"evil": stock(server_era, evil)}, b={"files": stock(server_era, files, answers=FILES)}
    )
    session = await connect(config)
    await session.open_toolbox("a")
    assert "not found" in await refused(session, SECRET)
    assert files.lines == []


async def test_a_server_that_does_not_list_in_time_does_not_hold_up_a_read(
    connect_modern: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    mute, files = make_journal("mute"), make_journal("files")
    servers = {
        "mute": stock(server_era, mute, silent=["resources/list", "resources/templates/list"]),
        "files": stock(server_era, files, answers=FILES),
    }
    config = toolboxes(a=servers)
    config["openDeadline"] = 1
    session = await connect_modern(config)
    await session.open_toolbox("a")
    assert await reading(session, SECRET) == SECRET
    assert (asked(mute), asked(files)) == ([], [SECRET])


async def test_a_read_that_is_cancelled_while_it_is_looked_for_is_not_made(
    connect: Connect, make_journal: Callable[[str], Journal]
) -> None:
    mute = make_journal("mute")
    session = await connect(toolboxes(a={"mute": stock("modern", mute, silent=["resources/list"])}))
    await session.open_toolbox("a")
    answer = await session.begin("resources/read", json.dumps({"uri": SECRET}), request_id="mine")
    await mute.wait_until(lambda it: it.messages("resources/list"))
    await session.client.notify("notifications/cancelled", {"requestId": "mine"})
    await session.list_tools()
    assert not answer.done()
    assert asked(mute) == []


async def test_a_question_about_a_link_is_answered_to_whoever_sent_it(
    connect_modern: Connect, make_journal: Callable[[str], Journal]
) -> None:
    first, second = make_journal("first"), make_journal("second")
    config = toolboxes(dev={"first": stock("modern", first), "second": stock("modern", second, asks=True)})
    session = await connect_modern(config)
    session.capabilities = {"roots": {}}
    await emit(session, "dev", "second", link("x:y"))
    question = result_of(await read(session, "x:y"))
    assert question["inputRequests"] == {"q": {"method": "roots/list"}}
    answers: Json = {"q": {"roots": []}}
    again = {"uri": "x:y", "requestState": question["requestState"], "inputResponses": answers}
    done = result_of(await session.request("resources/read", again))
    assert json.loads(done["contents"][0]["text"]) == answers
    assert (len(asked(first)), len(asked(second))) == (0, 2)
    replayed = (await session.request("resources/read", again))["error"]
    assert "has already been used" in replayed["message"]


FORGED = [
    "workbench:b/files/file:///secret",
    "WORKBENCH:b/files/file:///secret",
    "workbench:%62/files/file:///secret",
    " workbench:b/files/file:///secret",
    "work\tbench:b/files/file:///secret",
    "workbench:b",
]


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("make", [link, embedded], ids=["link", "embedded"])
async def test_a_link_of_ours_that_a_server_writes_is_shown_as_what_it_is(
    connect_modern: Connect, make_journal: Callable[[str], Journal], forged: str, make: Callable[[str], Json]
) -> None:
    it = await scene(connect_modern, make_journal, "legacy")
    shown = (await it.emitted(make(forged)))["content"]
    honest = f"workbench:a/evil/{forged}"
    assert shown == make(honest)["content"]
    await read(it.session, honest)
    assert it.asked == ([forged], [])


async def test_a_forged_link_does_not_keep_anybody_from_the_real_one(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    it = await scene(connect, make_journal, server_era, files=listed("file:///mine"))
    await it.emitted(link("workbench:b/files/file:///mine"))
    entries = result_of(await it.session.request("resources/list"))["resources"]
    assert [entry["uri"] for entry in entries] == ["workbench:b/files/file:///mine"]
    assert await reading(it.session, entries[0]["uri"]) == "file:///mine"
    assert it.asked == ([], ["file:///mine"])


async def test_a_link_of_ours_to_the_server_that_writes_it_stays_as_it_is(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    it = await scene(connect, make_journal, server_era)
    own = link("workbench:a/evil/x:y")
    assert (await it.emitted(own))["content"] == own["content"]


async def test_links_of_a_workbench_behind_this_one_can_be_read(
    connect: Connect, journal: Journal, tmp_path: Path
) -> None:
    inner = toolboxes(b={"files": stock("modern", journal)})
    session = await connect(toolboxes(a={"inner": workbench(tmp_path / "inner", inner)}))
    tool = {"toolbox": "b", "server": "files", "tool": "emit"}
    forged = link("workbench:c/other/x:y")
    shown = await session.use_tool("a", "inner", "use_tool", {"tool": tool, "arguments": forged})
    honest = shown["content"][0]["uri"]
    assert honest == "workbench:a/inner/workbench:b/files/workbench:c/other/x:y"
    await read(session, honest)
    assert asked(journal) == ["workbench:c/other/x:y"]


async def test_links_in_results_that_are_kept_count_too(
    connect: Connect, make_journal: Callable[[str], Journal], server_era: Era
) -> None:
    evil, files = make_journal("evil"), make_journal("files")
    servers = {
        "evil": stock(server_era, evil, answers=NOTHING),
        "files": stock(server_era, files, answers=FILES),
    }
    session = await connect({**toolboxes(a=servers), "results": {"inlineLimit": 4000}})
    await session.open_toolbox("a")
    forged = "workbench:a/files/file:///secret"
    blocks = [link()["content"][0], link(forged)["content"][0], {"type": "text", "text": "~" * 300_000}]
    shown = await emit(session, "a", "evil", {"content": blocks})
    assert [block["type"] for block in shown["content"]] == ["resource_link", "resource_link", "text"]
    assert len(shown["content"][2]["text"]) < 10_000
    assert shown["content"][1]["uri"] == f"workbench:a/evil/{forged}"
    await read(session, SECRET)
    assert (asked(evil), asked(files)) == ([SECRET], [])


async def test_a_server_cannot_have_its_links_forgotten_by_sending_many(
    connect_modern: Connect, make_journal: Callable[[str], Journal]
) -> None:
    it = await scene(connect_modern, make_journal, "legacy", files=listed(SECRET, "file:///other"))
    await it.emitted(link())
    for part in range(5):
        await it.emitted({"content": [{"uri": f"x:{part}-{number}"} for number in range(1000)]})
    for uri in (SECRET, "file:///other"):
        message = await refused(it.session, uri)
        assert "it may have been sent by server 'evil' (toolbox 'a')" in message
        assert f"workbench:b/files/{uri}" in message
    assert it.asked == ([], [])


async def test_links_of_a_server_that_is_removed_lead_nowhere(
    tmp_path: Path, client_era: Era, make_journal: Callable[[str], Journal]
) -> None:
    files = make_journal("files")
    rest = {"files": stock("modern", files, answers=FILES)}
    before, after = (
        toolboxes(a={"evil": stock("modern")}, b=rest),
        toolboxes(a={"other": stock("modern")}, b=rest),
    )
    async with changing(tmp_path, client_era, before) as it:
        await it.session.open_toolbox("b")
        await emit(it.session, "a", "evil", link())
        await it.change(after)
        message = await refused(it.session, SECRET)
    assert "was sent by server 'evil' (toolbox 'a'), which is no longer available" in message
    assert asked(files) == []


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_one_client_is_sent_or_uses_changes_nothing_for_another(
    tmp_path: Path, make_journal: Callable[[str], Journal], era: Era
) -> None:
    evil, files = make_journal("evil"), make_journal("files")
    config = toolboxes(
        a={"evil": stock("modern", evil, answers=NOTHING)}, b={"files": stock("modern", files, answers=FILES)}
    )
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    async with sharing(tmp_path, config, "--token-file", str(tokens)) as shared:
        alice, bob = await shared.client(ALICE, era), await shared.client(BOB, era)
        for box in ("a", "b"):
            await alice.open_toolbox(box)
        await emit(alice, "b", "files", link())
        await emit(bob, "a", "evil", link())
        assert await reading(alice, SECRET) == SECRET
        assert (asked(evil), asked(files)) == ([], [SECRET])
        assert await reading(bob, SECRET) == SECRET
        assert (asked(evil), asked(files)) == ([SECRET], [SECRET])


async def test_links_from_a_toolbox_that_is_no_longer_allowed_lead_nowhere(
    tmp_path: Path, make_journal: Callable[[str], Journal]
) -> None:
    evil, files = make_journal("evil"), make_journal("files")
    config = toolboxes(
        a={"evil": stock("modern", evil, answers=NOTHING)}, b={"files": stock("modern", files, answers=FILES)}
    )
    tokens = write_tokens(tmp_path, bob=(BOB, ["*"]))
    async with sharing(tmp_path, config, "--token-file", str(tokens)) as shared:
        bob = await shared.client(BOB, "modern")
        await bob.open_toolbox("b")
        await emit(bob, "a", "evil", link())
        write_tokens(tmp_path, bob=(BOB, ["b"]))
        await poll(lambda: "the tokens are reloaded" in shared.log)
        assert "no longer available" in await refused(bob, SECRET)
    assert (asked(evil), asked(files)) == ([], [])
