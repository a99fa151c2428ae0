"""Each failed call is told in words that say what to do."""

from __future__ import annotations

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.diagnosis.calls import explain_length, explain_loss, explain_timeout, must_wait
from mcp_workbench.errors import ConnectionClosed, RequestTimeout, TooLong


def test_a_call_that_lost_its_server_is_told_with_the_last_lines_of_stderr() -> None:
    error = ConnectionClosed("the server exited with code 7")
    assert explain_loss(error, 0, ["one", "two"]) == (
        "the server exited with code 7 during the call. The call was not repeated, because it may have taken "
        "effect; the next use starts it again.\nLast lines of stderr:\n  one\n  two"
    )


def test_a_server_that_keeps_failing_is_told_with_when_it_is_tried_again() -> None:
    assert must_wait(4, 1.96, "the server exited with code 7") == (
        "it has failed 4 times in a row, and the next try is in 2.0 s at the earliest. "
        "The last time: the server exited with code 7"
    )
    assert explain_loss(ConnectionClosed("gone"), 1.96, []) == (
        "gone during the call. The call was not repeated, because it may have taken effect; "
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
