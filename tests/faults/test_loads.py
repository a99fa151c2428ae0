"""Many servers, many calls and many deaths at once, and servers that take their time."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import time

from tests.faults.trial import OPEN, Trial, replies, spoken
from tests.support.sessions import names
from tests.support.waiting import poll

# ---- Many at once.


async def test_of_fifty_servers_forty_are_usable_and_ten_are_named(trial: Trial) -> None:
    deaths = ("exits", "exits_without_a_word", "never_answers", "closes_its_output", "refuses")
    dead = {
        f"dead{number}": trial.server(f"dead{number}", {"startupTimeout": 5}, start=deaths[number % 5])
        for number in range(10)
    }
    healthy = {
        f"well{number}": trial.server(f"well{number}", era="modern" if number % 2 else "legacy")
        for number in range(39)
    }
    async with trial.running(trial.config(**dead, **healthy)) as session:
        began = time.monotonic()
        opening = await session.begin("tools/call", OPEN)
        (text,) = await replies([opening], 30)
        assert time.monotonic() - began < 20
        listing = json.loads(text)
        assert listing["servers_connected"] == 40
        assert sorted(failure["server"] for failure in listing["failed_servers"]) == sorted(dead)
        calls = [await session.begin_tool("dev", name, "echo") for name in healthy]
        assert await replies(calls) == ["echo"] * 39


async def test_fifty_opens_at_once_start_each_server_once(trial: Trial) -> None:
    servers = {name: trial.server(name) for name in ("one", "two")}
    async with trial.running(trial.config(**servers)) as session:
        opens = [await session.begin("tools/call", OPEN) for _ in range(50)]
        texts = await replies(opens)
        assert len(set(texts)) == 1
        assert [trial.journal(name).starts for name in ("one", "two", "sibling")] == [1, 1, 1]


async def test_fifty_opens_at_once_of_a_server_that_dies_are_all_answered(trial: Trial) -> None:
    async with trial.running(trial.config(dead=trial.server("dead", start="exits"))) as session:
        opens = [await session.begin("tools/call", OPEN) for _ in range(50)]
        for text in await replies(opens):
            assert [failure["server"] for failure in json.loads(text)["failed_servers"]] == ["dead"]


async def test_five_thousand_calls_at_once_are_all_answered(trial: Trial) -> None:
    async with trial.running(trial.config()) as session:
        calls = [await session.begin_tool("dev", "sibling", "echo") for _ in range(5000)]
        assert set(await replies(calls, 30)) == {"echo"}


async def test_five_thousand_calls_to_a_server_that_never_answers_all_end(trial: Trial) -> None:
    silent = trial.server("silent", {"timeout": 2}, call="never_answers")
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "silent", "fault") for _ in range(5000)]
        assert await trial.use("sibling", "echo", 5) == "echo"
        front = "(error) Error executing tool 'fault' in server 'silent' (toolbox 'dev'): "
        assert all(text.startswith(front) for text in await replies(calls, 30))
        assert await trial.use("silent", "echo", 10) == "echo"


async def test_twelve_thousand_calls_are_too_many_and_each_is_told(trial: Trial) -> None:
    """More than may be in flight and may wait: the rest fails at once, and what was accepted is answered."""
    silent = trial.server("silent", {"timeout": 30}, call="stops_reading")
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "silent", "fault") for _ in range(12_500)]
        async with asyncio.timeout(25):  # before the calls that were accepted time out
            while sum(call.done() for call in calls) < 12_500 - 11_001:
                await asyncio.wait(
                    [call for call in calls if not call.done()], return_when=asyncio.FIRST_COMPLETED
                )
        refused = [spoken(call.result().message) for call in calls if call.done()]
        front = "(error) Error executing tool 'fault' in server 'silent' (toolbox 'dev'): "
        assert all(text.startswith(front) for text in refused)
        assert await trial.use("sibling", "echo", 5) == "echo"


async def test_large_calls_to_a_server_that_does_not_read_do_not_fill_the_memory(trial: Trial) -> None:
    silent = trial.server("silent", {"timeout": 2}, call="stops_reading", lives=1)
    padding = json.dumps({"padding": "x" * 1_000_000})
    async with trial.running(trial.config(silent=silent)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "silent", "fault", padding) for _ in range(250)]
        assert await trial.use("sibling", "echo", 5) == "echo"
        front = "(error) Error executing tool 'fault' in server 'silent' (toolbox 'dev'): "
        texts = await replies(calls, 20)
        assert [text for text in texts if not (text.startswith(front) or text == "echo")] == []
        assert await trial.use("silent", "echo", 10) == "echo"


async def test_every_kind_of_fault_at_once_harms_nobody_else(trial: Trial) -> None:
    kinds = (
        *("exits", "is_killed", "never_answers_anything_any_more", "stops_reading", "stops_itself"),
        *("closes_its_output", "closes_its_input", "says_half_a_line_and_no_more", "babbles_without_end"),
        *("notifies_without_end", "says_a_line_without_end", "answers_with_100_mb", "answers_null"),
    )
    servers = {kind: trial.server(kind, {"timeout": 3}, call=kind) for kind in kinds}
    async with trial.running(trial.config(**servers)) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", kind, "fault") for kind in kinds]
        everything = asyncio.ensure_future(asyncio.gather(*calls))
        while not everything.done():
            assert await trial.use("sibling", "echo", 5) == "echo"
            await asyncio.wait([everything], timeout=0.1)
        for kind, text in zip(kinds, await replies(calls), strict=True):
            front = f"(error) Error executing tool 'fault' in server '{kind}' (toolbox 'dev'): "
            assert text.startswith(front), text[:500]
        calls = [await session.begin_tool("dev", kind, "echo") for kind in kinds]
        assert await replies(calls, 15) == ["echo"] * len(kinds)


async def test_a_death_ends_all_the_calls_of_its_server_and_no_other(trial: Trial) -> None:
    dying = trial.server("dying", call="never_answers", tools={"die": "exits"})
    async with trial.running(
        trial.config(dying=dying, other=trial.server("other", call="answers_too_late"))
    ) as session:
        await session.open_toolbox("dev")
        calls = [await session.begin_tool("dev", "dying", "fault") for _ in range(100)]
        slow = await session.begin_tool("dev", "other", "fault")
        calls.append(await session.begin_tool("dev", "dying", "die"))
        began = time.monotonic()
        texts = await replies(calls, 5)
        assert time.monotonic() - began < 2
        assert all("exited with code 7" in text and "server 'dying'" in text for text in texts)
        assert await replies([slow]) == ["too late"]
        assert await trial.use("dying", "echo", 5) == "echo"


async def test_where_the_system_gives_no_more_the_rest_are_named(trial: Trial) -> None:
    """The workbench may open 64 files, which is not enough for fifty servers."""
    servers = {f"server{number}": trial.server(f"server{number}") for number in range(49)}
    async with trial.running(trial.config(**servers)) as session:
        resource.prlimit(trial.client.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        listing = (await session.open_toolbox("dev"))["structuredContent"]
        failed = [failure["server"] for failure in listing["failed_servers"]]
        assert listing["servers_connected"] + len(failed) == 50
        assert failed
        for name in servers.keys() - set(failed):
            assert await trial.use(name, "echo", 5) == "echo"


# ---- Back-off and soft deadlines.


async def test_a_server_that_keeps_dying_is_left_alone_for_a_while(trial: Trial) -> None:
    async with trial.running(trial.config(dead=trial.server("dead", start="exits"))) as session:
        await session.open_toolbox("dev")
        began = time.monotonic()
        texts = [await trial.use("dead", "echo", 5) for _ in range(30)]
        assert time.monotonic() - began < 5
        assert trial.journal("dead").starts < 12
        front = "(error) Error executing tool 'echo' in server 'dead' (toolbox 'dev'): "
        assert all(text.startswith(front) and "no such database" in text for text in texts)
        waiting = [text for text in texts if re.search(r"next\b.* \d+(\.\d+)? s\b", text)]
        assert len(waiting) > 20, texts[-1]


async def test_a_slow_start_does_not_hold_the_opening_up(trial: Trial) -> None:
    config = trial.config(slow=trial.server("slow", start="answers_after_3_s"))
    config["openDeadline"] = 1
    async with trial.running(config) as session:
        began = time.monotonic()
        listing = (await session.open_toolbox("dev"))["structuredContent"]
        assert time.monotonic() - began < 2.5
        assert names(listing["tools"]) == ["echo", "fault"]
        assert [entry["server"] for entry in listing["starting_servers"]] == ["slow"]
        assert "failed_servers" not in listing
        assert await trial.use("slow", "echo", 6) == "echo"
        listing = (await session.open_toolbox("dev"))["structuredContent"]
        assert listing["servers_connected"] == 2
        assert "starting_servers" not in listing
        assert trial.journal("slow").starts == 1


async def test_a_toolbox_of_slow_servers_alone_opens_empty_and_fills_up(trial: Trial) -> None:
    config = {
        "openDeadline": 1,
        "toolboxes": {
            "dev": {
                "description": "Slow",
                "mcpServers": {"slow": trial.server("slow", start="answers_after_3_s")},
            }
        },
    }
    async with trial.running(config) as session:
        began = time.monotonic()
        result = await session.open_toolbox("dev")
        assert time.monotonic() - began < 2.5
        assert [entry["server"] for entry in result["structuredContent"]["starting_servers"]] == ["slow"]
        assert await trial.use("slow", "echo", 6) == "echo"


# ---- A long life.


async def test_no_descriptor_is_lost_over_many_deaths(trial: Trial) -> None:
    async with trial.running(trial.config(dying=trial.server("dying", call="exits"))) as session:
        await session.open_toolbox("dev")
        assert await trial.use("dying", "echo", 5) == "echo"
        before = trial.descriptors()
        for _ in range(15):
            assert "exited with code 7" in await trial.use("dying", "fault", 5)
            assert await trial.use("dying", "echo", 5) == "echo"
        await poll(lambda: trial.descriptors() <= before)
