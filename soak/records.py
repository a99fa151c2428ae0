"""The audit of a workbench beside the books: every call has one record, which says how it ended."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from soak import ledger as books

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from soak.ledger import Entry

    Json = dict[str, Any]

CLIENT = "mcp-workbench-soak "
"""Begins the name that a request gives its client. The number of the request follows."""
CALLS = ("resources/read", "prompts/get", "completion/complete")
"""The methods of calls, beside those of tools."""
ENDS = {
    "ok": ("answered", "tool_error", "asked"),
    "failed": ("failed", "timed_out", "refused", "tool_error", "asked"),
}
"""What a record says of a call that has succeeded, and of one that has not."""


def about(entry: Entry) -> Json:
    """Who a request says that its client is, so that the record of the call can be told from all others."""
    return {"name": f"{CLIENT}{entry.number}", "version": "1.0"}


def is_call(method: str, params: Json) -> bool:
    """Whether a request is the beginning of a call to a server. With an answer it may go on with one."""
    is_tool = method == "tools/call" and params.get("name") == "use_tool"
    return (is_tool or method in CALLS) and "requestState" not in params


def read(directory: Path) -> Iterator[Json]:
    """All records, the oldest first. Raises ValueError if a line is not whole."""
    for file in sorted(directory.glob("calls-*.jsonl")):
        for line in file.read_bytes().splitlines():
            yield json.loads(line)


def judge_records(entries: Sequence[Entry], directory: Path, *, is_complete: bool = True) -> list[str]:
    """Whether each call has one record, and each record a call. A workbench that was killed may lack some."""
    try:
        records = list(read(directory))
    except ValueError as error:
        return [f"a line of the audit is not whole: {error}"]
    problems = [
        f"the audit says that calls are missing: {it['missing']}" for it in records if "missing" in it
    ]
    calls = [record for record in records if "missing" not in record]
    by_client = Counter(record["client"] for record in calls)
    outcomes = {record["client"]: record["outcome"] for record in calls}
    known = {about(entry)["name"]: entry for entry in entries}
    problems += [f"a record of a call that nobody made: {client}" for client in by_client.keys() - known]
    for client, entry in known.items():
        if by_client[client] > 1:
            problems.append(f"{by_client[client]} records of one call: {entry}")
        elif not entry.is_call or not (entry.answers or entry.cancelled is not None):
            continue
        elif not by_client[client]:
            problems += [f"no record of a call: {entry}"] if is_complete else []
        elif entry.answers and entry.cancelled is None and "talk" not in entry.what:
            end = "ok" if entry.answers[0][1] == books.OK else "failed"
            if outcomes[client] not in ENDS[end]:
                problems.append(f"a record says {outcomes[client]} where the answer was {end}: {entry}")
    return problems
