"""A changed configuration takes effect while the workbench serves, and touches only what has changed."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.processes.reloading import RELOADED, changing, released, text_from, versatile
from tests.structure.schemas import faults
from tests.support.configs import acting, server, toolboxes
from tests.support.processes import is_running, wait_until_gone
from tests.support.sessions import failure_of, names, text_of
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.processes.reloading import Changing
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era

    Begin = Callable[[Json], AbstractAsyncContextManager[Changing]]
    MakeJournal = Callable[[str], Journal]

MARK = {"_meta": {"io.modelcontextprotocol/subscriptionId": "ear"}}
OPEN = '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}'


@pytest.fixture
def begin(tmp_path: Path, client_era: Era) -> Begin:
    """Each test runs with a client of either era."""
    return lambda config: changing(tmp_path, client_era, config)


def announced(session_era: str) -> list[Json]:
    """What a client of that era gets when the tools have changed once."""
    params = {"params": MARK} if session_era == "modern" else {}
    return [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed", **params}]


async def toolbox_names(it: Changing) -> list[str]:
    opener = (await it.session.list_tools())[0]
    listed: list[str] = opener["inputSchema"]["properties"]["toolbox_name"]["enum"]
    return listed


async def test_a_new_toolbox_appears_and_is_announced(begin: Begin) -> None:
    async with begin(toolboxes(dev={"a": server()})) as it:
        await it.listen()
        await it.change(toolboxes(dev={"a": server()}, ops={"b": server()}))
        assert await toolbox_names(it) == ["dev", "ops"]
        assert it.announcements == announced(it.session.era)
        assert faults(it.session.version, "ToolListChangedNotification", it.announcements[0]) == []
        assert "ops (1 server)" in (await it.session.greet())["instructions"]
        assert text_of(await it.session.use_tool("ops", "b", "echo", {"a": 1})) == '{"a": 1}'


async def test_the_read_only_tool_comes_and_goes_and_is_announced(begin: Begin) -> None:
    config = toolboxes(dev={"a": server()})
    async with begin(config) as it:
        await it.listen()
        before = await it.session.list_tools()
        await it.change({"readOnlyTool": True, **config})
        *others, added = await it.session.list_tools()
        assert (others, added["name"]) == (before, "use_tool_read_only")
        assert added["inputSchema"] == before[-1]["inputSchema"]
        assert added["annotations"] == {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        }
        assert "use_tool_read_only" in (await it.session.greet())["instructions"]
        await it.change(config)
        assert await it.session.list_tools() == before
        assert it.announcements == announced(it.session.era) * 2


async def test_a_removed_toolbox_is_not_found_and_its_servers_end(begin: Begin) -> None:
    async with begin(toolboxes(dev={"a": versatile()}, ops={"b": versatile()})) as it:
        await it.listen()
        pid = await it.pid("ops", "b")
        await it.change(toolboxes(dev={"a": versatile()}))
        refused = failure_of(await it.session.open_toolbox("ops"))
        assert refused == "Toolbox 'ops' not found. Available toolboxes: dev"
        await wait_until_gone([pid])
        assert it.announcements == announced(it.session.era)


async def test_a_new_server_of_a_toolbox_appears_beside_one_that_goes_on(begin: Begin) -> None:
    async with begin(toolboxes(dev={"a": versatile()})) as it:
        pid = await it.pid("dev", "a")
        await it.change(toolboxes(dev={"b": versatile(), "a": versatile()}))
        opened = json.loads(text_of(await it.session.open_toolbox("dev")))
        assert opened["servers_connected"] == 2
        assert [found["source_server"] for found in opened["tools"]] == ["b"] * 3 + ["a"] * 3
        assert await it.pid("dev", "a") == pid


async def test_a_call_to_a_removed_server_ends_as_it_would_have_and_then_the_server_does(
    begin: Begin, journal: Journal
) -> None:
    async with begin(toolboxes(dev={"a": versatile(journal), "b": server()})) as it:
        answer = await it.session.begin_tool("dev", "a", "wait")
        await journal.wait_for_call()
        await it.change(toolboxes(dev={"b": server()}))
        refused = failure_of(await it.session.use_tool("dev", "a", "tell"))
        assert refused == "Server 'a' not found in toolbox 'dev'. Available servers: b"
        await it.change(toolboxes(dev={"b": server(entry={"timeout": 5})}))
        assert [is_running(pid) for pid in journal.pids] == [True]
        released(journal).touch()
        assert await text_from(answer) == "waited"
        await wait_until_gone(journal.pids)


async def test_a_changed_server_starts_anew_at_the_next_use_while_its_calls_end(
    begin: Begin, make_journal: MakeJournal
) -> None:
    old, new = make_journal("old"), make_journal("new")
    async with begin(toolboxes(dev={"a": versatile(old)})) as it:
        answer = await it.session.begin_tool("dev", "a", "wait")
        await old.wait_for_call()
        await it.change(toolboxes(dev={"a": versatile(new)}))
        assert new.starts == 0
        assert await it.pid("dev", "a") in new.pids
        assert [is_running(pid) for pid in old.pids] == [True]
        released(old).touch()
        assert await text_from(answer) == "waited"
        await wait_until_gone(old.pids)
        assert (old.starts, new.starts) == (1, 1)


async def test_a_call_to_a_server_that_has_not_changed_takes_no_notice(
    begin: Begin, journal: Journal
) -> None:
    async with begin(toolboxes(dev={"a": versatile(journal), "b": server()})) as it:
        answer = await it.session.begin_tool("dev", "a", "wait")
        await journal.wait_for_call()
        await it.change(toolboxes(dev={"a": versatile(journal)}))
        released(journal).touch()
        assert await text_from(answer) == "waited"
        assert await it.pid("dev", "a") in journal.pids
        assert journal.starts == 1


async def test_what_needs_no_new_process_takes_effect_without_one(begin: Begin, journal: Journal) -> None:
    async with begin(toolboxes(dev={"a": versatile(journal), "b": server()})) as it:
        pid = await it.pid("dev", "a")
        entry: Json = {
            "toolFilters": ["!wait"],
            "timeout": 0.2,
            "startupTimeout": 30,
            "required": True,
            "callLimit": 10,
            "messageLimit": 100_000,
        }
        config = toolboxes(dev={"b": server(), "a": versatile(journal, entry)})
        config["toolboxes"]["dev"] |= {"description": "Another one", "openDeadline": 5}
        await it.change(config)
        opened = json.loads(text_of(await it.session.open_toolbox("dev")))
        assert opened["description"] == "Another one"
        assert names(opened["tools"]) == ["echo", "tell", "hang"]
        assert "Tool 'wait' not found" in failure_of(await it.session.use_tool("dev", "a", "wait"))
        assert "no answer within 0.2 s" in failure_of(await it.session.use_tool("dev", "a", "hang"))
        assert await it.pid("dev", "a") == pid
        assert journal.starts == 1


async def test_calls_that_wait_for_their_turn_get_it_when_more_are_allowed(
    begin: Begin, journal: Journal
) -> None:
    async with begin(toolboxes(dev={"a": versatile(journal, {"callLimit": 1})})) as it:
        first = await it.session.begin_tool("dev", "a", "wait")
        await journal.wait_for_call()
        second = await it.session.begin_tool("dev", "a", "tell")
        await it.change(toolboxes(dev={"a": versatile(journal, {"callLimit": 2})}))
        assert json.loads(await text_from(second))["pid"] in journal.pids
        released(journal).touch()
        assert await text_from(first) == "waited"


async def test_nothing_is_announced_when_the_tools_stay_the_same(begin: Begin) -> None:
    async with begin(toolboxes(dev={"a": server()})) as it:
        await it.listen()
        before = await it.session.list_tools()
        await it.change(toolboxes(dev={"a": server(entry={"timeout": 5, "startupTimeout": 5})}))
        assert await it.session.list_tools() == before
        assert it.announcements == []


async def test_a_changed_order_and_a_changed_description_are_announced(begin: Begin) -> None:
    boxes = toolboxes(dev={"a": versatile()}, ops={})
    async with begin(boxes) as it:
        await it.listen()
        pid = await it.pid("dev", "a")
        boxes["toolboxes"] = dict(reversed(boxes["toolboxes"].items()))
        await it.change(boxes)
        assert await toolbox_names(it) == ["ops", "dev"]
        boxes["toolboxes"]["dev"]["description"] = "Another one"
        await it.change(boxes)
        assert it.announcements == announced(it.session.era) * 2
        assert await it.pid("dev", "a") == pid


async def test_a_server_that_is_disabled_ends_and_one_that_is_enabled_serves(begin: Begin) -> None:
    off = {"disabled": True}
    async with begin(toolboxes(dev={"a": versatile(), "b": versatile(entry=off)})) as it:
        pid = await it.pid("dev", "a")
        await it.change(toolboxes(dev={"a": versatile(entry=off), "b": versatile()}))
        refused = failure_of(await it.session.use_tool("dev", "a", "tell"))
        assert refused.startswith("Server 'a' not found in toolbox 'dev'. It is disabled")
        await wait_until_gone([pid])
        assert await it.pid("dev", "b") != pid


async def test_a_renamed_server_is_a_removed_one_and_a_new_one(begin: Begin) -> None:
    async with begin(toolboxes(dev={"a": versatile()})) as it:
        pid = await it.pid("dev", "a")
        await it.change(toolboxes(dev={"b": versatile()}))
        assert "Server 'a' not found" in failure_of(await it.session.use_tool("dev", "a", "tell"))
        assert await it.pid("dev", "b") != pid
        await wait_until_gone([pid])


async def test_a_reload_in_the_middle_of_an_opening_leaves_the_opening_whole(
    begin: Begin, journal: Journal
) -> None:
    slow = server(journal, start_delay=0.5)
    async with begin(toolboxes(dev={"slow": slow, "b": server()})) as it:
        opening = await it.session.begin("tools/call", OPEN)
        await journal.wait_until(lambda it: it.starts)
        await it.change(toolboxes(dev={"b": server()}))
        opened = json.loads(await text_from(opening))
        assert [found["source_server"] for found in opened["tools"]] == ["slow", "b"]
        await wait_until_gone(journal.pids)
        again = json.loads(text_of(await it.session.open_toolbox("dev")))
        assert [found["source_server"] for found in again["tools"]] == ["b"]


async def test_many_reloads_in_quick_succession_leave_the_last_one_and_nothing_else(
    begin: Begin, journal: Journal
) -> None:
    async with begin(toolboxes(dev={"a": versatile(journal, {"env": {"N": "0"}})})) as it:
        for number in range(1, 6):
            await it.session.begin_tool("dev", "a", "tell")
            await it.change(toolboxes(dev={"a": versatile(journal, {"env": {"N": str(number)}})}))
        last = await it.tell("dev", "a")
        assert last["env"]["N"] == "5"
        await wait_until_gone(pid for pid in journal.pids if pid != last["pid"])


async def test_it_leaves_in_time_and_nothing_behind_when_a_removed_server_is_still_in_use(
    begin: Begin, make_journal: MakeJournal
) -> None:
    kept, removed = make_journal("kept"), make_journal("removed")
    async with begin(
        toolboxes(dev={"a": versatile(kept), "b": versatile(removed, ignore_term=True, ignore_eof=True)})
    ) as it:
        await it.session.begin_tool("dev", "a", "hang")
        await it.session.begin_tool("dev", "b", "hang")
        await kept.wait_for_call()
        await removed.wait_for_call()
        await it.change(toolboxes(dev={"a": versatile(kept)}))
        left = await it.client.signal(signal.SIGTERM)
        assert left.code == 0
        assert left.seconds < 5
        await wait_until_gone(kept.pids + removed.pids)


async def test_a_secret_that_has_changed_is_masked_as_the_one_before_it_was(begin: Begin) -> None:
    def config(secret: str) -> Json:
        entry = {"env": {"API_KEY": secret}}
        return toolboxes(dev={"a": versatile(entry=entry, stderr=[f"my key is {secret}"])})

    async with begin(config("old-secret-value")) as it:
        assert (await it.tell("dev", "a"))["env"]["API_KEY"] == "old-secret-value"
        await it.change(config("new-secret-value"))
        assert (await it.tell("dev", "a"))["env"]["API_KEY"] == "new-secret-value"
        await poll(lambda: it.client.stderr.count("my key is <env API_KEY>") == 2)
        assert "secret-value" not in it.client.stderr


async def test_a_secret_of_one_server_is_masked_in_the_log_of_another_that_goes_on(begin: Begin) -> None:
    """Whichever server gets hold of it, as from a shared file."""
    noisy = acting("crash", "crash")
    async with begin(toolboxes(dev={"noisy": noisy})) as it:
        await it.session.open_toolbox("dev")
        other = server(entry={"env": {"KEY": "about to crash"}})
        await it.change(toolboxes(dev={"noisy": noisy, "other": other}))
        failed = failure_of(await it.session.use_tool("dev", "noisy", "crash"))
        assert "<env KEY>" in failed
        assert "about to crash" not in failed + it.client.stderr


async def test_a_client_that_did_not_ask_is_told_nothing(tmp_path: Path) -> None:
    async with changing(tmp_path, "modern", toolboxes(dev={"a": server()})) as it:
        await it.session.begin("subscriptions/listen", '{"notifications":{}}', request_id="ear")
        await it.change(toolboxes(ops={"a": server()}))
        assert await toolbox_names(it) == ["ops"]
        assert it.announcements == []


async def test_the_file_is_looked_at_every_second(tmp_path: Path, client_era: Era) -> None:
    config = toolboxes(dev={"a": server()})
    async with changing(tmp_path, client_era, config, real_pace=True) as it:
        await it.change(toolboxes(ops={"a": server()}))
        assert await toolbox_names(it) == ["ops"]
        assert it.client.stderr.count(RELOADED) == 1
