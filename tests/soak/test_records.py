"""The soak finds calls without a record, records without a call, and what is recorded wrongly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from soak.ledger import EXIT, OK, Entry
from soak.records import about, is_call, judge_records

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = [
    Entry(1, "echo", frozenset({"box0.alpha"}), 1.0, 10.0, is_call=True, answers=[(2.0, OK)]),
    Entry(2, "echo", frozenset({"box0.alpha"}), 1.0, 10.0, is_call=True, answers=[(2.0, EXIT)]),
    Entry(3, "ping", frozenset(), 1.0, 10.0, answers=[(2.0, OK)]),
]


def record(number: int, outcome: str) -> dict[str, Any]:
    return {"client": about(Entry(number, "", frozenset(), 0.0, 0.0))["name"], "outcome": outcome}


RIGHT = [record(1, "answered"), record(2, "failed")]


@pytest.mark.parametrize(
    ("records", "complaint"),
    [
        (RIGHT, ""),
        (RIGHT[:1], "no record of a call: request 2"),
        ([*RIGHT, RIGHT[0]], "2 records of one call: request 1"),
        ([*RIGHT, record(9, "answered")], "a record of a call that nobody made"),
        ([record(1, "failed"), RIGHT[1]], "a record says failed where the answer was ok"),
        ([*RIGHT, {"missing": 3}], "calls are missing"),
        ([*RIGHT, None], "not whole"),
    ],
)
def test_records_are_paired_with_calls(
    tmp_path: Path, records: list[dict[str, Any] | None], complaint: str
) -> None:
    lines = ["{" if one is None else json.dumps(one) for one in records]
    (tmp_path / "calls-000001.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = judge_records(ENTRIES, tmp_path)
    assert len(found) == bool(complaint)
    assert complaint in "".join(found)


def test_a_request_that_goes_on_with_a_call_begins_none() -> None:
    use = {"name": "use_tool", "arguments": {}}
    assert is_call("tools/call", use)
    assert not is_call("tools/call", {**use, "requestState": "x"})
    assert not is_call("tools/call", {"name": "open_toolbox"})
    assert not is_call("ping", {})
