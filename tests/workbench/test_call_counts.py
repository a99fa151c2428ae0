"""Counts of calls per tool, which no client can make grow without end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.workbench.call_counts import (
    MAX_REFUSED_TOOLS,
    REFUSALS,
    UNKNOWN_TOOL,
    CallCounts,
    ToolCounts,
)
from mcp_workbench.workbench.door import CallEnd, CallRecord, Door

if TYPE_CHECKING:
    from mcp_workbench.workbench.door import Outcome

GIT = ("dev", "git")


def count(counts: CallCounts, outcome: Outcome, error: str = "", name: str = "status", **others: Any) -> None:
    """Let a call begin and end: 2 seconds, 10 bytes there and 100 back."""
    given: dict[str, Any] = {"method": "tools/call", "origin": GIT, "is_sent": True, **others}
    record = CallRecord(
        door=Door(),
        number=1,
        name=name,
        principal="",
        client="",
        parent=None,
        begun_at=0.0,
        request_bytes=10,
        started=0.0,
        **given,
    )
    counts.on_end(record, CallEnd(outcome, error, 2.0, 100))


def test_calls_time_and_bytes_are_summed_for_each_tool() -> None:
    counts = CallCounts()
    for name in ("status", "status", "log"):
        count(counts, "answered", name=name)
    count(counts, "answered", origin=("dev", "hub"))
    assert counts.tools == {
        (GIT, "status"): ToolCounts(2, seconds=4.0, request_bytes=20, response_bytes=200),
        (GIT, "log"): ToolCounts(1, seconds=2.0, request_bytes=10, response_bytes=100),
        (("dev", "hub"), "status"): ToolCounts(1, seconds=2.0, request_bytes=10, response_bytes=100),
    }


@pytest.mark.parametrize(
    ("outcome", "error", "counted"),
    [
        ("answered", "", {}),
        ("asked", "", {}),
        ("tool_error", "", {"tool_error": 1}),
        ("cancelled", "", {"cancelled": 1}),
        ("client_gone", "", {"client_gone": 1}),
        ("timed_out", "RequestTimeout", {"RequestTimeout": 1}),
        ("failed", "ConnectionClosed", {"ConnectionClosed": 1}),
        ("refused", "CallRefused", {"CallRefused": 1}),
    ],
)
def test_errors_are_counted_by_kind(outcome: Outcome, error: str, counted: dict[str, int]) -> None:
    counts = CallCounts()
    count(counts, outcome, error)
    assert (counts.tools[GIT, "status"].calls, counts.tools[GIT, "status"].errors) == (1, counted)


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "completion/complete"])
@pytest.mark.parametrize("is_sent", [True, False])
def test_what_is_not_a_tool_is_counted_by_its_method(method: str, is_sent: bool) -> None:
    counts = CallCounts()
    for number in range(10):
        count(counts, "answered", name=f"test://{number}", method=method, is_sent=is_sent)
    assert {key: it.calls for key, it in counts.tools.items()} == {(GIT, method): 10}


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        ("refused", "ToolNotFound"),
        ("failed", "StartError"),
        ("cancelled", ""),
        ("client_gone", ""),
    ],
)
def test_names_that_no_server_has_confirmed_are_counted_together(outcome: Outcome, error: str) -> None:
    counts = CallCounts()
    for number in range(10):
        count(counts, outcome, error, name=f"made up {number}", is_sent=False)
    assert {key: it.calls for key, it in counts.tools.items()} == {(GIT, UNKNOWN_TOOL): 10}


@pytest.mark.parametrize("error", REFUSALS)
def test_tools_that_are_refused_are_counted_by_name_up_to_a_limit(error: str) -> None:
    counts = CallCounts()
    for number in range(MAX_REFUSED_TOOLS + 10):
        count(counts, "refused", error, name=f"tool {number}", is_sent=False)
    assert len(counts.tools) == MAX_REFUSED_TOOLS + 1
    assert counts.tools[GIT, UNKNOWN_TOOL].calls == 10


def test_a_tool_that_was_called_before_keeps_its_count_when_a_call_is_not_sent() -> None:
    counts = CallCounts()
    count(counts, "answered")
    count(counts, "refused", "CallRefused", is_sent=False)
    assert {key: it.calls for key, it in counts.tools.items()} == {(GIT, "status"): 2}
