"""Each failure of a server is told in words that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.diagnosis import (
    explain_length,
    explain_loss,
    explain_timeout,
    hint_on_exit,
    hint_on_silence,
    must_wait,
    why_not_spawned,
)
from mcp_workbench.errors import ConnectionClosed, RequestTimeout, TooLong

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT = (
    "Servers get a small safe environment (PATH, HOME, proxies, …), not all of yours: if this one needs a "
    'variable, put it into its "env", name it in "inheritEnv", or set "inheritEnv": true.'
)


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("npx", 'It comes with Node.js: install that, or give the full path in "command".'),
        ("/opt/bin/uvx", 'It comes with uv: install that, or give the full path in "command".'),
        ("Docker.exe", 'It comes with Docker: install that, or give the full path in "command".'),
        ("my-server", 'Install it, or give the full path in "command".'),
    ],
)
def test_a_command_that_is_not_there_is_told_with_where_it_comes_from(command: str, remedy: str) -> None:
    told = why_not_spawned(ServerConfig(command=command), FileNotFoundError())
    assert told == (f"command '{command}' was not found", remedy)


def test_a_command_without_permission_is_told_with_how_to_give_it() -> None:
    told = why_not_spawned(ServerConfig(command="./run.sh"), PermissionError())
    assert told == ("command './run.sh' may not be executed", "Make it executable: chmod +x ./run.sh")


def test_a_directory_that_is_not_there_is_told_before_the_command(tmp_path: Path) -> None:
    config = ServerConfig(command="npx", cwd=str(tmp_path / "absent"))
    assert why_not_spawned(config, FileNotFoundError()) == (
        f"its working directory '{tmp_path / 'absent'}' is not a directory",
        'Correct "cwd", or create the directory.',
    )


def test_any_other_reason_is_told_as_the_system_gives_it() -> None:
    told = why_not_spawned(ServerConfig(command="x"), OSError(8, "Exec format error"))
    assert told == ("command 'x' could not be started: [Errno 8] Exec format error", "")


def test_a_server_that_ended_or_was_silent_may_miss_a_variable() -> None:
    config = ServerConfig(command="x", startup_timeout=7.5)
    assert hint_on_exit(config) == f"Run its command in a terminal to see more. {ENVIRONMENT}"
    assert hint_on_silence(config) == (
        'If it is only slow (a cold npx or uvx downloads first), raise "startupTimeout" (now 7.5 s). '
        f"{ENVIRONMENT}"
    )


def test_a_call_that_lost_its_server_is_told_with_the_last_lines_of_stderr() -> None:
    error = ConnectionClosed("the server exited with code 7")
    assert explain_loss(error, 0, ["one", "two"]) == (
        "the server exited with code 7 in mid-call. The call was not repeated, because it may have taken "
        "effect; the next use starts it again.\nLast lines of stderr:\n  one\n  two"
    )


def test_a_server_that_keeps_failing_is_told_with_when_it_is_tried_again() -> None:
    assert must_wait(4, 1.96, "the server exited with code 7") == (
        "it has failed 4 times in a row, and the next try is in 2.0 s at the earliest. "
        "The last time: the server exited with code 7"
    )
    assert explain_loss(ConnectionClosed("gone"), 1.96, []) == (
        "gone in mid-call. The call was not repeated, because it may have taken effect; "
        "it keeps failing, so the next use in 2.0 s or later starts it again."
    )


def test_a_call_that_took_too_long_is_told_with_the_setting() -> None:
    assert explain_timeout(ServerConfig(command="x"), RequestTimeout(60, capped=False)) == (
        "no answer within 60 s and no progress was reported. The call was cancelled, but may have taken "
        "effect. If such calls may take longer, "
        'raise "timeout" of this server (now 60 s) in the configuration.'
    )


def test_an_answer_that_is_too_long_is_told_with_the_setting() -> None:
    assert explain_length(TooLong(67_108_864)) == (
        'its answer is longer than 64 MiB. If such answers are right, raise "messageLimit" of this server '
        "(now 67108864 bytes) in the configuration; if not, ask it for less."
    )
