"""A server that dies, refuses or babbles in mid-call fails that call at once, and no other."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.message import MAX_COPIED_BYTES
from tests.support.configs import ECHO, acting, server, tool, toolboxes
from tests.support.processes import wait_until_gone
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.journal import Journal
    from tests.support.sessions import Era

FRONT = "Error executing tool '{}' in server 'files' (toolbox 'dev'): "

BROKEN_ANSWERS = {
    "null": '{"jsonrpc":"2.0","id":ID,"result":null}',
    "number": '{"jsonrpc":"2.0","id":ID,"result":5}',
    "list": '{"jsonrpc":"2.0","id":ID,"result":[]}',
    "neither": '{"jsonrpc":"2.0","id":ID}',
    "error-text": '{"jsonrpc":"2.0","id":ID,"error":"went wrong"}',
    "error-empty": '{"jsonrpc":"2.0","id":ID,"error":{}}',
}

TOLERABLE_ANSWERS = {
    "byte-order-mark": '\ufeff{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}]}}',
    "batch": '[{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}]}}]',
    "id-as-text": '{"jsonrpc":"2.0","id":"ID","result":{"content":[{"type":"text","text":"x"}]}}',
    "id-at-the-end": '{"result":{"content":[{"type":"text","text":"x"}]},"jsonrpc":"2.0","id":ID}',
    "error-null": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}]},"error":null}',
}

NO_UTF8 = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"cut \udcff"}]}}'
SURROGATE = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"cut \\ud83d"}]}}'


async def test_a_dying_server_fails_its_call_and_the_next_call_starts_it_again(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    session = await connect(toolboxes(dev={"files": acting("die", "crash", journal, era=server_era)}))
    text = failure_of(await session.use_tool("dev", "files", "die"))
    assert text.startswith(FRONT.format("die"))
    assert "exited with code 7" in text
    assert "about to crash" in text
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    assert [call["params"]["name"] for call in journal.messages("tools/call")] == ["die", "echo"]
    assert journal.starts == 2


async def test_a_dying_server_fails_only_its_own_calls(connect_modern: Connect, journal: Journal) -> None:
    dying = server(
        journal,
        tools=[tool("die"), tool("hang")],
        behaviours={"die": {"do": "crash"}, "hang": {"do": "hang"}},
    )
    session = await connect_modern(toolboxes(dev={"files": dying, "other": acting("nap", "echo", after=0.3)}))
    await session.open_toolbox("dev")
    hanging = await session.begin_tool("dev", "files", "hang")
    napping = await session.begin_tool("dev", "other", "nap")
    await journal.wait_for_call()
    failure_of(await session.use_tool("dev", "files", "die"))
    async with asyncio.timeout(5):
        assert failure_of((await hanging).message["result"]).startswith(FRONT.format("hang"))
        assert text_of((await napping).message["result"]) == "{}"


async def test_a_server_that_died_idle_is_started_again_by_the_next_open(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(journal)}))
    before = await session.open_toolbox("dev")
    os.kill(journal.pids[0], signal.SIGKILL)
    await session.client.wait_for_stderr("ended by SIGKILL")
    assert await session.open_toolbox("dev") == before
    assert journal.starts == 2


async def test_a_server_that_died_idle_is_started_again_by_the_next_call(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(journal)}))
    await session.open_toolbox("dev")
    os.kill(journal.pids[0], signal.SIGKILL)
    await session.client.wait_for_stderr("ended by SIGKILL")
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    assert (journal.starts, len(journal.messages("tools/call"))) == (2, 1)


@pytest.mark.parametrize("size", [1, MAX_COPIED_BYTES + 1], ids=["short", "long"])
async def test_a_call_that_comes_with_the_death_of_its_server_is_made_of_the_next(
    connect: Connect, journal: Journal, server_era: Era, size: int
) -> None:
    session = await connect(toolboxes(dev={"files": server(journal, era=server_era)}))
    await session.open_toolbox("dev")
    # The workbench learns of the death and of the call at once.
    session.client.process.send_signal(signal.SIGSTOP)
    os.kill(journal.pids[0], signal.SIGKILL)
    await wait_until_gone(journal.pids)
    calls = [
        await session.begin_tool("dev", "files", "echo", json.dumps({"x": "~" * size})) for _ in range(3)
    ]
    session.client.process.send_signal(signal.SIGCONT)
    results = [(await call).message["result"] for call in calls]
    assert [json.loads(text_of(result)) for result in results] == [{"x": "~" * size}] * 3
    assert (journal.starts, len(journal.messages("tools/call"))) == (2, 3)


async def test_a_death_is_noticed_though_a_grandchild_holds_the_pipe(
    connect_modern: Connect, journal: Journal
) -> None:
    hanging = server(
        journal, tools=[tool("hang"), ECHO], behaviours={"hang": {"do": "hang"}}, grandchild=True
    )
    session = await connect_modern(toolboxes(dev={"files": hanging}))
    call = await session.begin_tool("dev", "files", "hang")
    await journal.wait_for_call()
    leader, grandchild = journal.pids
    os.kill(leader, signal.SIGKILL)
    async with asyncio.timeout(5):
        assert failure_of((await call).message["result"]).startswith(FRONT.format("hang"))
    await wait_until_gone([grandchild])
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"


async def test_a_server_that_closes_its_output_is_as_good_as_dead(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(toolboxes(dev={"files": acting("shut", "close_stdout", journal)}))
    text = failure_of(await session.use_tool("dev", "files", "shut"))
    assert text.startswith(FRONT.format("shut"))
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    await wait_until_gone(journal.pids[:1])


async def test_a_json_rpc_error_keeps_its_code_message_and_data(connect: Connect, server_era: Era) -> None:
    error = '{"code":-31999,"message":"no room","data":{"free":12345678901234567890123}}'
    session = await connect(toolboxes(dev={"files": acting("odd", "error", era=server_era, text=error)}))
    result = await session.use_tool("dev", "files", "odd")
    text = failure_of(result)
    assert text.startswith(FRONT.format("odd"))
    for kept in ("-31999", "no room", "12345678901234567890123"):
        assert kept in text


@pytest.mark.parametrize("line", BROKEN_ANSWERS.values(), ids=BROKEN_ANSWERS)
async def test_an_answer_that_is_none_fails_its_call_at_once(connect_modern: Connect, line: str) -> None:
    session = await connect_modern(
        toolboxes(dev={"files": acting("odd", "lines", lines=[line], answer=False)})
    )
    text = failure_of(await session.use_tool("dev", "files", "odd"))
    assert text.startswith(FRONT.format("odd"))
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"


@pytest.mark.parametrize("line", TOLERABLE_ANSWERS.values(), ids=TOLERABLE_ANSWERS)
async def test_an_odd_answer_is_understood_all_the_same(connect_modern: Connect, line: str) -> None:
    session = await connect_modern(
        toolboxes(dev={"files": acting("odd", "lines", lines=[line], answer=False)})
    )
    assert text_of(await session.use_tool("dev", "files", "odd")) == "x"
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"


@pytest.mark.parametrize("line", [SURROGATE, NO_UTF8], ids=["surrogate", "no-utf8"])
async def test_half_a_character_in_an_answer_is_replaced(connect_modern: Connect, line: str) -> None:
    config = toolboxes(dev={"files": acting("cut", "lines", lines=[line], answer=False)})
    session = await connect_modern(config)
    assert text_of(await session.use_tool("dev", "files", "cut")) == "cut \ufffd"


async def test_half_a_character_in_a_tool_does_not_lose_the_list(connect_modern: Connect) -> None:
    cut = '{"name":"cut","description":"an emoji \\ud83d","inputSchema":{"type":"object"}}'
    session = await connect_modern(toolboxes(dev={"files": server(tools=[cut, tool("echo")])}))
    tools = (await session.open_toolbox("dev"))["structuredContent"]["tools"]
    assert [(it["name"], it["description"]) for it in tools] == [
        ("cut", "[dev/files] an emoji \ufffd"),
        ("echo", "[dev/files] Does echo"),
    ]


async def test_a_result_of_an_unknown_type_is_an_error(connect_modern: Connect) -> None:
    text = '{"resultType":"riddle","content":[]}'
    session = await connect_modern(toolboxes(dev={"files": acting("odd", "result", era="modern", text=text)}))
    assert "riddle" in failure_of(await session.use_tool("dev", "files", "odd"))


async def test_garbage_before_an_answer_is_skipped(connect_modern: Connect, server_era: Era) -> None:
    noise = [
        "npm WARN deprecated",
        "",
        "{",
        "[]",
        "5",
        "\udcff\udcfe",
        '{"jsonrpc":"2.0","id":"x","result":{}}',
    ]
    session = await connect_modern(
        toolboxes(dev={"files": acting("odd", "lines", era=server_era, lines=noise)})
    )
    assert text_of(await session.use_tool("dev", "files", "odd")) == "after the noise"


async def test_a_banner_before_the_handshake_is_skipped(connect_modern: Connect, server_era: Era) -> None:
    banner = ["Need to install the following packages:", "", "Ok to proceed? (y)", "{not json", "null"]
    session = await connect_modern(toolboxes(dev={"files": server(era=server_era, stdout=banner)}))
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"


async def test_a_server_that_stops_reading_is_given_up_after_the_time_of_the_call(
    connect_modern: Connect,
) -> None:
    deaf = acting("deafen", "echo", entry={"timeout": 1}, then_deaf=True)
    session = await connect_modern(toolboxes(dev={"files": deaf, "other": server()}))
    await session.use_tool("dev", "files", "deafen")
    started = time.monotonic()
    stuck = await session.begin_tool("dev", "files", "echo", '{"large":"' + "x" * 2_000_000 + '"}')
    assert text_of(await session.use_tool("dev", "other", "echo")) == "{}"
    async with asyncio.timeout(5):
        assert failure_of((await stuck).message["result"]).startswith(FRONT.format("echo"))
    assert time.monotonic() - started < 5
