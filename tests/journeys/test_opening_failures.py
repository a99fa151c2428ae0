"""One bad server never sinks the rest, and what failed is said with its reason."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import acting, server, toolboxes
from tests.support.processes import wait_until_gone
from tests.support.sessions import failure_of, names, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.journal import Journal

CRASHING = server(exit=3, stderr=["loading", "no such database"])


def failed(result: Json) -> list[Json]:
    failures: list[Json] = result["structuredContent"]["failed_servers"]
    return failures


async def test_a_server_that_fails_is_named_beside_those_that_serve(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"bad": CRASHING, "files": server()}))
    result = await session.open_toolbox("dev")
    (failure,) = failed(result)
    assert result["structuredContent"]["servers_connected"] == 1
    assert names(result["structuredContent"]["tools"]) == ["echo"]
    assert failure["server"] == "bad"
    assert failure["error"].startswith("Failed to connect to MCP server 'bad': ")
    assert "3" in failure["error"]
    assert failure["stderr"] == ["loading", "no such database"]
    assert "inheritEnv" in failure["hint"]
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"


async def test_nothing_is_said_of_failures_where_there_are_none(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server()}))
    assert "failed_servers" not in (await session.open_toolbox("dev"))["structuredContent"]


async def test_a_command_that_does_not_exist_is_named(connect_modern: Connect) -> None:
    missing = {"command": "no-such-command-at-all"}
    session = await connect_modern(toolboxes(dev={"bad": missing, "files": server()}))
    (failure,) = failed(await session.open_toolbox("dev"))
    assert failure["error"].startswith("Failed to connect to MCP server 'bad': ")
    assert "no-such-command-at-all" in failure["error"]
    assert failure["hint"]


async def test_a_directory_that_does_not_exist_is_named(connect_modern: Connect, tmp_path: Path) -> None:
    lost = server(entry={"cwd": str(tmp_path / "no-such-directory")})
    session = await connect_modern(toolboxes(dev={"bad": lost, "files": server()}))
    (failure,) = failed(await session.open_toolbox("dev"))
    assert "no-such-directory" in failure["error"]


@pytest.mark.parametrize("stuck", [server(mute=True), server(start_delay=60)], ids=["mute", "slow"])
async def test_a_server_that_never_comes_up_costs_its_own_start_time_only(
    connect_modern: Connect, stuck: Json
) -> None:
    session = await connect_modern(toolboxes(dev={"bad": {**stuck, "startupTimeout": 1}, "files": server()}))
    started = time.monotonic()
    (failure,) = failed(await session.open_toolbox("dev"))
    assert 0.9 < time.monotonic() - started < 4
    assert failure["error"].startswith("Failed to connect to MCP server 'bad': ")


async def test_a_tool_of_a_good_server_does_not_wait_for_a_stuck_neighbour(
    connect_modern: Connect, journal: Journal
) -> None:
    stuck = server(journal, {"startupTimeout": 30}, mute=True)
    session = await connect_modern(toolboxes(dev={"stuck": stuck, "files": server()}))
    started = time.monotonic()
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    assert time.monotonic() - started < 5


async def test_a_toolbox_of_which_nothing_comes_up_is_an_error(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"bad": CRASHING, "worse": server(exit=4)}))
    text = failure_of(await session.open_toolbox("dev"))
    for word in ("dev", "no such database", "MCP server 'bad': ", "MCP server 'worse': "):
        assert word in text


async def test_a_required_server_that_fails_leaves_nothing_running(
    connect: Connect, journal: Journal
) -> None:
    servers = {"bad": {**CRASHING, "required": True}, "files": server(journal)}
    session = await connect(toolboxes(dev=servers))
    text = failure_of(await session.open_toolbox("dev"))
    assert "Failed to connect to MCP server 'bad': " in text
    assert "no such database" in text
    await wait_until_gone(journal.pids)


async def test_an_opening_that_fails_leaves_the_call_of_another_alone(
    connect_modern: Connect, journal: Journal
) -> None:
    silent = {**server(mute=True), "required": True, "startupTimeout": 1}
    session = await connect_modern(
        toolboxes(dev={"bad": silent, "slow": acting("nap", "echo", journal, after=2)})
    )
    opening = await session.begin("tools/call", '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}')
    assert text_of(await session.use_tool("dev", "slow", "nap", {"a": 1})) == '{"a": 1}'
    assert "MCP server 'bad'" in failure_of((await opening).message["result"])
    assert journal.starts == 1


async def test_a_call_to_a_server_that_fails_says_so(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"bad": CRASHING, "files": server()}))
    text = failure_of(await session.use_tool("dev", "bad", "echo"))
    assert text.startswith("Error executing tool 'echo' in server 'bad' (toolbox 'dev'): ")
    assert "no such database" in text


@pytest.mark.parametrize("by", ["open", "call"])
async def test_a_server_that_failed_is_tried_again(
    connect_modern: Connect, tmp_path: Path, journal: Journal, by: str
) -> None:
    mended = tmp_path / "mended"
    session = await connect_modern(
        toolboxes(dev={"late": server(journal, exit_unless=str(mended)), "ok": server()})
    )
    assert len(failed(await session.open_toolbox("dev"))) == 1
    mended.touch()
    if by == "open":
        assert (await session.open_toolbox("dev"))["structuredContent"]["servers_connected"] == 2
    assert text_of(await session.use_tool("dev", "late", "echo")) == "{}"


@pytest.mark.parametrize("cursors", ["repeat", "endless"])
async def test_a_tool_list_without_end_is_an_error_and_not_a_hang(
    connect_modern: Connect, cursors: str
) -> None:
    endless = server(entry={"startupTimeout": 3}, cursors=cursors)
    session = await connect_modern(toolboxes(dev={"bad": endless, "files": server()}))
    (failure,) = failed(await session.open_toolbox("dev"))
    assert failure["error"].startswith("Failed to connect to MCP server 'bad': ")
    assert "cursor" in failure["error"] or "page" in failure["error"]


async def test_a_secret_never_stands_in_a_failure(connect_modern: Connect) -> None:
    leaky = server(entry={"env": {"API_TOKEN": "s3cr3t-value"}}, exit=3, stderr=["bad token s3cr3t-value"])
    session = await connect_modern(toolboxes(dev={"bad": leaky, "files": server()}))
    result = await session.open_toolbox("dev")
    assert "bad token" in str(failed(result))
    assert "s3cr3t-value" not in str(result)
    await session.client.wait_for_stderr("bad token")
    assert "s3cr3t-value" not in session.client.stderr


async def test_a_server_that_keeps_failing_is_started_once_a_try_and_then_left_alone(
    connect_modern: Connect, journal: Journal
) -> None:
    bad = server(journal, exit=3, stderr=["no such database"])
    session = await connect_modern(toolboxes(dev={"bad": bad, "files": server()}))
    for starts in (2, 3):  # the first time also without the probe
        (failure,) = failed(await session.open_toolbox("dev"))
        assert failure["error"].endswith("the server exited with code 3 before it could be used")
        assert journal.starts == starts
    asked_at = time.monotonic()
    (failure,) = failed(await session.open_toolbox("dev"))
    assert time.monotonic() - asked_at < 0.4
    assert "it has failed 2 times in a row, and the next try is in 0." in failure["error"]
    assert failure["error"].endswith("The last time: the server exited with code 3 before it could be used")
    assert failure["stderr"] == ["no such database"]
    text = failure_of(await session.use_tool("dev", "bad", "echo"))
    assert "the next try is in 0." in text
    assert journal.starts == 3


async def test_what_is_found_of_the_era_after_a_failure_is_not_remembered(
    connect_modern: Connect, journal: Journal, tmp_path: Path
) -> None:
    needed = tmp_path / "needed"
    both = server(journal, era="dual", exit_unless=str(needed))
    session = await connect_modern(toolboxes(dev={"files": both}))
    failure_of(await session.open_toolbox("dev"))
    needed.touch()
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    os.kill(journal.pids[-1], signal.SIGKILL)
    await session.client.wait_for_stderr("ended by SIGKILL")
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    assert [life[:1] for life in journal.lives[2:]] == [["initialize"], ["server/discover"]]
