"""Calls of the audit as text: a line for people, JSON, or CSV. What servers and clients name is cleaned."""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.terminal import spell_json
from mcp_workbench.protocol.names import TOOLS_CALL
from mcp_workbench.serve.logs.call_log import WORDS, duration_text, size_text
from mcp_workbench.serve.logs.log_times import local_parts
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.storage.audit.audit_entry import AuditEntry
    from mcp_workbench.storage.audit.audit_reader import AuditedCall

COLUMNS: Final = (
    *("time", "principal", "client", "method", "toolbox", "server", "name", "outcome", "error"),
    *("seconds", "request_bytes", "response_bytes", "sources", "decision", "rule", "decided_by"),
    *("number", "parent", "run", "pid", "missing", "arguments", "result"),
)
"""The columns of the CSV, which are the members of a record."""

_OUTCOME_CHARACTERS: Final = 11
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet would run as a formula."""


def text_row(call: AuditedCall) -> str:
    """Return the line of a call for people: when, how long, how much, how it ended, what, and who."""
    entry = call.entry
    when = local_parts(int(call.at))[0].replace("T", " ")
    if entry.missing:
        missing = count(entry.missing, "call is", "calls are")
        return f"{when}  {missing} missing: the audit could not be written"
    size = size_text(entry.response_bytes) if entry.response_bytes else ""
    outcome = WORDS.get(entry.outcome, _shown(entry.outcome))
    who = ", ".join(filter(None, (_shown(entry.principal), _shown(entry.client))))
    rule = f"{_shown(entry.decided_by)}: {_shown(entry.rule)}" if entry.rule else ""
    sources = f"with results of {', '.join(map(_shown, entry.sources))}" if entry.sources else ""
    rest = (_target(entry), sources, _shown(entry.error), f"({who})" if who else "", rule)
    return (
        f"{when}  {duration_text(entry.seconds):>7}  {size:>8}  {outcome:{_OUTCOME_CHARACTERS}}  "
        f"{'  '.join(filter(None, rest))}"
    )


def json_row(call: AuditedCall) -> str:
    """Return a call as the JSON object that was recorded, in one line."""
    return spell_json(msgspec.json.encode(call.entry).decode())


def csv_row(call: AuditedCall) -> str:
    """Return a call as a line of CSV, without its line end."""
    return _csv([_cell(getattr(call.entry, column)) for column in COLUMNS])


def _csv(cells: Sequence[str]) -> str:
    """Return a line of CSV as RFC 4180 has it. No cell of it is a formula to a spreadsheet."""
    line = io.StringIO()
    safe = [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells]
    csv.writer(line, lineterminator="").writerow(safe)
    return line.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, msgspec.Raw):
        return spell_json(bytes(value).decode())
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, str):
        return _shown(value)
    return "" if value in (0, msgspec.UNSET) else f"{value}"


@lru_cache(maxsize=1000)
def _shown(name: str) -> str:
    """Return a name as it may be shown. Most calls have the same few, and to look at each takes long."""
    return show_name(name)


def _target(entry: AuditEntry) -> str:
    """Return what was called: `dev/git/status`, or `dev/git resources/read file:///x`."""
    server = f"{_shown(entry.toolbox)}/{_shown(entry.server)}"
    name = _shown(entry.name)
    return f"{server}/{name}" if entry.method == TOOLS_CALL else f"{server} {_shown(entry.method)} {name}"


CSV_HEADER: Final = _csv(COLUMNS)
"""The first line of the CSV, with the names of the columns."""
