"""`Workbench` in the test's own process, with real servers behind it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench import (
    CallRefused,
    ConfigError,
    ExecutionFailed,
    FailedServer,
    InvalidCall,
    OpeningFailed,
    ProgressReport,
    ServerNotFound,
    ToolboxNotFound,
    ToolboxSummary,
    ToolNotFound,
    Workbench,
)
from mcp_workbench.errors import ConnectionClosed, RemoteError, RequestTimeout
from tests.support.client import write_config
from tests.support.configs import ECHO, acting, server, tool, toolboxes
from tests.support.processes import is_running, wait_until_gone
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_workbench import CallEnd, CallRecord
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era

Environ = dict[str, str]


class Recorder:
    """An observer that notes what it is told."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[tuple[str, str]] = []

    def on_begin(self, record: CallRecord) -> None:
        self.begun.append(record.label)

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        self.ended.append((record.label, end.outcome))


async def test_a_file_and_a_dict_make_the_same_workbench(environ: Environ, tmp_path: Path) -> None:
    config = toolboxes(dev={"echo": server(), "other": server()}, empty={})
    path = write_config(tmp_path, config)
    async with (
        Workbench(config, environ=environ) as of_dict,
        Workbench.load(path, environ=environ) as of_file,
        Workbench.load(str(path), environ=environ) as of_text,
    ):
        expected = [
            ToolboxSummary("dev", "The dev toolbox", 2),
            ToolboxSummary("empty", "The empty toolbox", 0),
        ]
        assert of_dict.toolboxes == of_file.toolboxes == of_text.toolboxes == expected


async def test_entering_starts_nothing_and_leaving_ends_all_servers(
    environ: Environ, journal: Journal
) -> None:
    async with Workbench(toolboxes(dev={"echo": server(journal)}), environ=environ) as workbench:
        assert journal.starts == 0
        await workbench.open("dev")
        assert journal.starts == 1
    await wait_until_gone(journal.pids)


async def test_opening_returns_the_tools_with_all_that_servers_say_of_them(
    environ: Environ, server_era: Era
) -> None:
    definition = {
        "name": "look",
        "title": "Look up",
        "description": "Looks\u200b up",
        "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "x-unheard-of": [1, 2],
    }
    config = toolboxes(dev={"words": server(era=server_era, tools=[json.dumps(definition), ECHO])})
    async with Workbench(config, environ=environ) as workbench:
        opened = await workbench.open("dev")
    look, echo = opened.tools
    assert (opened.name, opened.description, opened.failed, opened.starting) == (
        *("dev", "The dev toolbox"),
        *([], []),
    )
    assert (look.toolbox, look.server, look.name, look.title) == ("dev", "words", "look", "Look up")
    assert look.description == "Looks up"
    assert look.input_schema == definition["inputSchema"]
    assert look.output_schema == {"type": "object"}
    assert look.annotations == {"readOnlyHint": True}
    assert look.definition == definition
    assert look.listed_at is None
    assert (echo.title, echo.output_schema, echo.annotations) == (None, None, {})


async def test_opening_names_the_servers_that_fail_and_those_that_are_still_starting(
    environ: Environ,
) -> None:
    config = toolboxes(
        dev={
            "good": server(),
            "bad": server(exit=3, stderr=["no key"]),
            "late": server(mute=True, tools=[tool("late")]),
        }
    )
    config["toolboxes"]["dev"]["openDeadline"] = 1
    async with Workbench(config, environ=environ) as workbench:
        opened = await workbench.open("dev")
    assert [found.name for found in opened.tools] == ["echo"]
    assert opened.starting == ["late"]
    (failed,) = opened.failed
    assert isinstance(failed, FailedServer)
    assert (failed.server, failed.stderr) == ("bad", ["no key"])
    assert "Failed to connect to MCP server 'bad'" in failed.error


async def test_opening_fails_if_no_server_can_be_started(environ: Environ) -> None:
    async with Workbench(toolboxes(dev={"bad": server(exit=3)}), environ=environ) as workbench:
        with pytest.raises(OpeningFailed) as raised:
            await workbench.open("dev")
    assert [failure.server for failure in raised.value.failures] == ["bad"]


async def test_a_result_arrives_whole_with_everything_that_nobody_has_heard_of(
    environ: Environ, server_era: Era
) -> None:
    stamp = '"resultType":"complete",' if server_era == "modern" else ""
    raw = (
        f'{{{stamp}"content":[{{"type":"text","text":"one"}},{{"type":"image","data":"aGk=","mimeType":"image/png"}},'
        '{"type":"text","text":"two"}],"structuredContent":{"n":1},"_meta":{"a/b":2},"future": [ 3 ]}'
    )
    config = toolboxes(dev={"it": acting("make", "result", era=server_era, text=raw)})
    async with Workbench(config, environ=environ) as workbench:
        result = await workbench.call("dev", "it", "make")
    assert result.text == "one\ntwo"
    assert [block["type"] for block in result.content] == ["text", "image", "text"]
    assert (result.structured_content, result.is_error, result.meta) == ({"n": 1}, False, {"a/b": 2})
    assert result.raw == raw.encode()


async def test_a_large_result_is_not_shortened_although_the_configuration_keeps_large_ones(
    environ: Environ,
) -> None:
    config = toolboxes(dev={"it": acting("make", "fill", text="0123456789", times=20_000)})
    config["toolboxes"]["dev"]["mcpServers"]["it"]["results"] = {"inlineLimit": 1000}
    async with Workbench(config, environ=environ) as workbench:
        assert [box.name for box in workbench.toolboxes] == ["dev"]
        result = await workbench.call("dev", "it", "make")
    assert len(result.text) == 200_000


async def test_arguments_reach_the_tool_as_they_are(environ: Environ) -> None:
    arguments = {"text": "Grüße 🌍", "nested": {"list": [1, 2.5, None, True]}}
    async with Workbench(toolboxes(dev={"echo": server()}), environ=environ) as workbench:
        with_some = await workbench.call("dev", "echo", "echo", arguments)
        without = await workbench.call("dev", "echo", "echo")
    assert json.loads(with_some.text) == arguments
    assert without.text == "{}"


async def test_the_error_of_a_tool_is_a_result_and_no_exception(environ: Environ) -> None:
    text = '{"content":[{"type":"text","text":"no such file"}],"isError":true}'
    config = toolboxes(dev={"it": acting("read", "result", text=text)})
    async with Workbench(config, environ=environ) as workbench:
        result = await workbench.call("dev", "it", "read")
    assert (result.is_error, result.text) == (True, "no such file")


async def test_what_is_not_there_is_named_with_what_is(environ: Environ) -> None:
    async with Workbench(toolboxes(dev={"echo": server()}), environ=environ) as workbench:
        with pytest.raises(ToolboxNotFound, match="Available toolboxes: dev"):
            await workbench.open("nope")
        with pytest.raises(ToolboxNotFound):
            await workbench.call("nope", "echo", "echo")
        with pytest.raises(ToolboxNotFound):
            await workbench.find("echo", toolbox="nope")
        with pytest.raises(ServerNotFound, match="Available servers: echo"):
            await workbench.call("dev", "nope", "echo")
        with pytest.raises(ToolNotFound, match="Did you mean: echo"):
            await workbench.call("dev", "echo", "ecko")


async def test_a_server_that_does_not_deliver_fails_its_calls_with_the_cause(environ: Environ) -> None:
    config = toolboxes(
        dev={
            "gone": acting("crash", "crash"),
            "refusing": acting("refuse", "error", text='{"code":-32000,"message":"not today"}'),
            "odd": acting("odd", "result", text='{"content":"no list"}'),
            "mute": acting("slow", "hang", entry={"timeout": 1}),
            "broken": server(exit=1),
        }
    )
    causes: dict[str, tuple[str, type[BaseException]]] = {
        "gone": ("crash", ConnectionClosed),
        "refusing": ("refuse", RemoteError),
        "mute": ("slow", RequestTimeout),
    }
    async with Workbench(config, environ=environ) as workbench:
        for name, (called, cause) in causes.items():
            with pytest.raises(ExecutionFailed) as raised:
                await workbench.call("dev", name, called)
            assert isinstance(raised.value.__cause__, cause)
            assert (raised.value.toolbox, raised.value.server, raised.value.tool) == ("dev", name, called)
        with pytest.raises(ExecutionFailed, match="not the result of a tool"):
            await workbench.call("dev", "odd", "odd")
        with pytest.raises(ExecutionFailed, match="Failed to connect"):
            await workbench.call("dev", "broken", "echo")


async def test_no_secret_is_in_the_error_of_a_call_nor_in_its_cause(environ: Environ) -> None:
    entry: Json = {"env": {"KEY": "s3cret-value"}}
    error = '{"code":-32000,"message":"bad key s3cret-value","data":"s3cret-value"}'
    config = toolboxes(dev={"it": acting("use", "error", entry=entry, text=error)})
    async with Workbench(config, environ=environ) as workbench:
        with pytest.raises(ExecutionFailed) as raised:
            await workbench.call("dev", "it", "use")
    assert "s3cret-value" not in f"{raised.value} {raised.value.__cause__!r} {raised.value.__cause__}"


async def test_a_search_finds_tools_without_starting_a_server_and_names_those_not_searched(
    environ: Environ, journal: Journal
) -> None:
    tools = [tool("create_issue", description="Create an issue"), tool("weather", description="The weather")]
    config = toolboxes(dev={"known": server(tools=tools)}, other={"unknown": server(journal)})
    async with Workbench(config, environ=environ) as workbench:
        before = await workbench.find("create an issue")
        await workbench.open("dev")
        found = await workbench.find("create an issue", limit=1)
        within = await workbench.find("create an issue", toolbox="other")
    assert (before.tools, before.not_searched) == ([], [("dev", "known"), ("other", "unknown")])
    assert [(it.toolbox, it.server, it.name) for it in found.tools] == [("dev", "known", "create_issue")]
    assert found.not_searched == within.not_searched == [("other", "unknown")]
    assert within.tools == []
    assert journal.starts == 0
    async with Workbench(config, environ=environ) as another:
        (remembered,) = (await another.find("create an issue", limit=1)).tools
    assert remembered.name == "create_issue"
    assert remembered.listed_at is not None


@pytest.mark.parametrize(("query", "limit"), [("", 8), ("  ", 8), ("x" * 3000, 8), ("x", 101), ("x", -1)])
async def test_a_search_that_asks_for_nothing_or_for_too_much_is_refused(
    environ: Environ, query: str, limit: int
) -> None:
    async with Workbench(toolboxes(dev={}), environ=environ) as workbench:
        with pytest.raises(InvalidCall):
            await workbench.find(query, limit=limit)


async def test_calls_run_at_the_same_time(environ: Environ) -> None:
    async with Workbench(toolboxes(dev={"echo": server()}), environ=environ) as workbench:
        calls = [workbench.call("dev", "echo", "echo", {"n": number}) for number in range(200)]
        results = await asyncio.gather(*calls)
    assert [json.loads(result.text)["n"] for result in results] == list(range(200))


async def test_a_call_that_takes_too_long_is_given_up_and_cancelled_at_the_server(
    environ: Environ, journal: Journal
) -> None:
    recorder = Recorder()
    config = toolboxes(dev={"it": acting("slow", "hang", journal)})
    async with Workbench(config, environ=environ, observers=[recorder]) as workbench:
        await workbench.open("dev")
        with pytest.raises(TimeoutError, match=r"dev/it/slow gave no result within 0\.2 s"):
            await workbench.call("dev", "it", "slow", timeout=0.2)
        await journal.wait_until(lambda it: it.events("cancelled"))
        assert (await workbench.call("dev", "it", "echo")).text == "{}"
    assert recorder.ended == [("dev/it/slow", "timed_out"), ("dev/it/echo", "answered")]


async def test_a_timeout_counts_the_start_of_the_server_too(environ: Environ) -> None:
    async with Workbench(toolboxes(dev={"it": server(mute=True)}), environ=environ) as workbench:
        with pytest.raises(TimeoutError):
            await workbench.call("dev", "it", "echo", timeout=0.1)


async def test_cancelling_the_task_cancels_the_call_at_the_server(environ: Environ, journal: Journal) -> None:
    recorder = Recorder()
    config = toolboxes(dev={"it": acting("slow", "hang", journal)})
    async with Workbench(config, environ=environ, observers=[recorder]) as workbench:
        task = asyncio.create_task(workbench.call("dev", "it", "slow"))
        await journal.wait_for_call()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await journal.wait_until(lambda it: it.events("cancelled"))
    assert recorder.ended == [("dev/it/slow", "cancelled")]


async def test_leaving_with_calls_in_flight_fails_them_and_leaves_no_process(
    environ: Environ, make_journal: Callable[[str], Journal]
) -> None:
    hanging, starting = make_journal("hanging"), make_journal("starting")
    config = toolboxes(
        dev={"it": acting("slow", "hang", hanging)}, other={"mute": server(starting, mute=True)}
    )
    async with asyncio.timeout(PATIENCE), Workbench(config, environ=environ) as workbench:
        sent = asyncio.create_task(workbench.call("dev", "it", "slow"))
        waiting = asyncio.create_task(workbench.call("other", "mute", "echo"))
        opening = asyncio.create_task(workbench.open("other"))
        await hanging.wait_for_call()
        await starting.wait_until(lambda journal: journal.starts)
        unstarted = asyncio.create_task(workbench.open("dev"))
        await asyncio.sleep(0)
    for call in (sent, waiting):
        with pytest.raises(ExecutionFailed, match="the workbench was closed"):
            await call
    for opened in (opening, unstarted):
        with pytest.raises(RuntimeError, match="the workbench is closed"):
            await opened
    await wait_until_gone([*hanging.pids, *starting.pids])


async def test_leaving_that_is_cancelled_kills_all_processes_before_it_ends(
    environ: Environ, journal: Journal
) -> None:
    config = toolboxes(dev={"it": server(journal, ignore_eof=True, ignore_term=True, grandchild=True)})

    async def use() -> None:
        async with Workbench(config, environ=environ) as workbench:
            await workbench.open("dev")

    task = asyncio.create_task(use())
    await journal.wait_until(lambda it: it.events("eof"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(map(is_running, journal.pids))
    assert journal.events("sigterm") == []  # it was not waited for


async def test_an_exception_in_the_block_passes_and_leaves_no_process(
    environ: Environ, journal: Journal
) -> None:
    async def use() -> None:
        async with Workbench(toolboxes(dev={"it": server(journal)}), environ=environ) as workbench:
            await workbench.open("dev")
            raise LookupError

    with pytest.raises(LookupError):
        await use()
    await wait_until_gone(journal.pids)


async def test_two_workbenches_in_one_loop_know_nothing_of_each_other(
    environ: Environ, make_journal: Callable[[str], Journal]
) -> None:
    first, second = make_journal("first"), make_journal("second")
    async with Workbench(toolboxes(one={"it": server(first)}), environ=environ) as one:
        async with Workbench(toolboxes(two={"it": server(second)}), environ=environ) as two:
            await asyncio.gather(one.open("one"), two.open("two"))
            with pytest.raises(ToolboxNotFound):
                await one.open("two")
        await wait_until_gone(second.pids)
        assert (await one.call("one", "it", "echo")).text == "{}"
        assert list(one.call_counts) == [("one", "it", "echo")]
    assert two.call_counts == {}


async def test_progress_is_reported_in_order_before_the_result(environ: Environ, server_era: Era) -> None:
    reports: list[ProgressReport] = []
    config = toolboxes(dev={"it": acting("walk", "progress", era=server_era, steps=3)})
    async with Workbench(config, environ=environ) as workbench:
        result = await workbench.call("dev", "it", "walk", on_progress=reports.append)
    assert result.text == "done"
    assert reports == [ProgressReport(step, 3, "{}") for step in (1, 2, 3)]


async def test_a_progress_callback_that_fails_fails_its_call(environ: Environ, journal: Journal) -> None:
    def fail(_: ProgressReport) -> None:
        raise ZeroDivisionError

    config = toolboxes(dev={"it": acting("walk", "progress", journal, steps=2, every=0.01)})
    async with Workbench(config, environ=environ) as workbench:
        with pytest.raises(ZeroDivisionError):
            await workbench.call("dev", "it", "walk", on_progress=fail)
        assert (await workbench.call("dev", "it", "echo")).text == "{}"


async def test_a_legacy_server_that_asks_is_refused_and_the_call_goes_on(environ: Environ) -> None:
    config = toolboxes(dev={"it": acting("ask", "ask", method="elicitation/create", params={"message": "?"})})
    async with Workbench(config, environ=environ) as workbench:
        result = await workbench.call("dev", "it", "ask")
    assert json.loads(result.text)["error"]["code"] == -32601


async def test_a_modern_server_that_asks_ends_the_call_with_an_error(environ: Environ) -> None:
    asking = (
        '{"resultType":"input_required","inputRequests":'
        '{"q":{"method":"elicitation/create","params":{"message":"?"}}}}'
    )
    config = toolboxes(dev={"it": acting("ask", "result", era="modern", text=asking)})
    async with Workbench(config, environ=environ) as workbench:
        with pytest.raises(ExecutionFailed, match="asked for input, and got none"):
            await workbench.call("dev", "it", "ask")


async def test_a_modern_server_that_only_wants_to_be_called_again_is(
    environ: Environ, journal: Journal
) -> None:
    again = '{"resultType":"input_required","requestState":"s"}'
    config = toolboxes(dev={"it": acting("again", "result", journal, era="modern", text=again)})
    async with Workbench(config, environ=environ) as workbench:
        with pytest.raises(ExecutionFailed, match="still asks for more"):
            await workbench.call("dev", "it", "again")
    states = [message["params"].get("requestState") for message in journal.messages("tools/call")]
    assert states == [None, *["s"] * 10]


async def test_a_call_that_is_made_again_can_still_be_cancelled(environ: Environ, journal: Journal) -> None:
    again = '{"resultType":"input_required","requestState":"s"}'
    config = toolboxes(dev={"it": acting("again", "result", journal, era="modern", text=again)})
    async with Workbench(config, environ=environ) as workbench:
        task = asyncio.create_task(workbench.call("dev", "it", "again"))
        await journal.wait_for_call(3)
        (pending,) = workbench._in_flight
        assert pending.call is not None
        assert pending.call.rounds >= 2
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert workbench.call_counts["dev", "it", "again"].errors == {"cancelled": 1}


async def test_a_decider_can_refuse_a_call_and_observers_are_told(environ: Environ, journal: Journal) -> None:
    class Policy:
        def decide(self, record: CallRecord) -> None:
            if record.name == "delete":
                toolbox, name = record.origin
                raise CallRefused(record.name, name, toolbox, "read only")

    recorder = Recorder()
    config = toolboxes(dev={"it": server(journal, tools=[ECHO, tool("delete")])})
    async with Workbench(config, environ=environ, deciders=[Policy()], observers=[recorder]) as workbench:
        with pytest.raises(CallRefused, match="read only"):
            await workbench.call("dev", "it", "delete")
        assert journal.starts == 0
        await workbench.call("dev", "it", "echo", {"a": 1})
    assert recorder.begun == ["dev/it/delete", "dev/it/echo"]
    assert recorder.ended == [("dev/it/delete", "refused"), ("dev/it/echo", "answered")]
    counts = workbench.call_counts
    assert (counts["dev", "it", "delete"].calls, counts["dev", "it", "echo"].calls) == (1, 1)
    assert counts["dev", "it", "delete"].errors == {"CallRefused": 1}
    assert counts["dev", "it", "echo"].errors == {}
    assert counts["dev", "it", "echo"].request_bytes == len('{"a":1}')


async def test_a_decider_can_hold_a_call_until_it_is_allowed_or_given_up(
    environ: Environ, journal: Journal
) -> None:
    allowed = asyncio.Event()

    class Asking:
        async def decide(self, record: CallRecord) -> None:
            assert record.name == "echo"
            await allowed.wait()

    async with Workbench(
        toolboxes(dev={"it": server(journal)}), environ=environ, deciders=[Asking()]
    ) as workbench:
        with pytest.raises(TimeoutError):
            await workbench.call("dev", "it", "echo", timeout=0.05)
        assert journal.starts == 0
        call = asyncio.create_task(workbench.call("dev", "it", "echo", {"a": 1}))
        allowed.set()
        assert (await call).text == '{"a":1}'
    assert len(journal.messages("tools/call")) == 1


async def test_arguments_that_are_no_json_are_refused_before_anything_starts(
    environ: Environ, journal: Journal
) -> None:
    async with Workbench(toolboxes(dev={"it": server(journal)}), environ=environ) as workbench:
        with pytest.raises(TypeError):
            await workbench.call("dev", "it", "echo", {"a": object()})
        assert workbench.call_counts == {}
    assert journal.starts == 0


async def test_counts_that_were_taken_do_not_change_any_more(environ: Environ) -> None:
    async with Workbench(toolboxes(dev={"it": server()}), environ=environ) as workbench:
        await workbench.call("dev", "it", "echo")
        taken = workbench.call_counts
        await workbench.call("dev", "it", "echo")
        assert (taken["dev", "it", "echo"].calls, workbench.call_counts["dev", "it", "echo"].calls) == (1, 2)


async def test_a_workbench_that_is_not_open_says_so(environ: Environ) -> None:
    workbench = Workbench(toolboxes(dev={}), environ=environ)
    with pytest.raises(RuntimeError, match="async with"):
        _ = workbench.toolboxes
    with pytest.raises(RuntimeError, match="async with"):
        _ = workbench.call_counts
    with pytest.raises(RuntimeError, match="async with"):
        await workbench.open("dev")
    async with workbench:
        pass
    with pytest.raises(RuntimeError, match="is closed"):
        await workbench.call("dev", "it", "echo")
    with pytest.raises(RuntimeError, match="is closed"):
        await workbench.find("echo")
    with pytest.raises(RuntimeError, match="only once"):
        await workbench.__aenter__()


def test_every_mistake_in_a_dict_is_reported_with_its_place(environ: Environ) -> None:
    with pytest.raises(ConfigError) as raised:
        Workbench(
            {"toolboxes": {"dev": {"mcpServers": {"a": {}, "b": {"command": "${NOT_SET}"}}}}}, environ=environ
        )
    places = [problem.where for problem in raised.value.problems]
    assert raised.value.path == "config"
    assert any('"a"' in place or ".a" in place for place in places), places
    assert any("NOT_SET" in problem.what for problem in raised.value.problems)


def test_a_dict_with_what_json_does_not_have_is_refused(environ: Environ) -> None:
    with pytest.raises(ConfigError, match="not JSON data"):
        Workbench({"toolboxes": {"dev": {"mcpServers": {"a": {"command": object()}}}}}, environ=environ)


def test_a_missing_file_is_reported_like_everywhere_else(environ: Environ, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        Workbench.load(tmp_path / "missing.json", environ=environ)


async def test_variables_in_a_dict_are_expanded_from_the_given_environment(environ: Environ) -> None:
    entry = {**server(), "command": "${PYTHON}"}
    expanded = {**environ, "PYTHON": sys.executable}
    async with Workbench(toolboxes(dev={"it": entry}), environ=expanded) as workbench:
        assert (await workbench.call("dev", "it", "echo")).text == "{}"
