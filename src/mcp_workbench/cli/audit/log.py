"""Runs `mcp-workbench log`: shows what was called, from the audit of all workbenches of the user."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.audit.call_rows import CSV_HEADER, csv_row, json_row, text_row
from mcp_workbench.cli.terminal import complain
from mcp_workbench.config import load_usable, locate
from mcp_workbench.config.globs import matches
from mcp_workbench.storage.audit.audit_files import AuditFiles
from mcp_workbench.storage.audit.audit_reader import AuditReader
from mcp_workbench.storage.directories import explain_unusable
from mcp_workbench.workbench.call_counts import REFUSALS, SUCCESSES
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from mcp_workbench.storage.audit.audit_entry import AuditEntry
    from mcp_workbench.storage.audit.audit_reader import AuditedCall

DEFAULT_LIMIT: Final = 50
"""Calls that are shown, where the options do not say."""
POLL_SECONDS: Final = 0.3
"""Time between two looks at the files while they are followed."""


def run(options: argparse.Namespace) -> int:
    """Print the calls that the options choose, and go on if they say so."""
    reader = AuditReader(AuditFiles(os.environ), _filter(options))
    try:
        output = _Output(options)
        output.print(_chosen(reader, options))
        _print_notes(options, output.shown, reader.broken)
        while options.follow:
            time.sleep(POLL_SECONDS)
            output.print(reader.more())
    except BrokenPipeError:
        raise  # the reader of our output has gone
    except OSError as error:
        complain(f"the calls cannot be read or printed: {explain_unusable(error, os.environ)}")
        return 1
    return 0


def _filter(options: argparse.Namespace) -> Callable[[AuditedCall], bool]:
    """Return which calls are wanted. Notes about missing calls are, unless certain calls are asked for."""
    is_about_calls = bool(options.tool or options.failed or options.denied or options.principal is not None)

    def is_wanted(call: AuditedCall) -> bool:
        entry = call.entry
        if options.since is not None and call.at < options.since:
            return False
        if not is_about_calls:
            return True
        return (
            not entry.missing
            and (options.tool is None or _matches(entry, options.tool))
            and (options.principal is None or entry.principal == options.principal)
            and not (options.failed and entry.outcome in SUCCESSES)
            and not (options.denied and entry.decision != "deny" and entry.error not in REFUSALS)
        )

    return is_wanted


def _matches(entry: AuditEntry, glob: str) -> bool:
    from_server = f"{entry.server}/{entry.name}"
    names = entry.name, from_server, f"{entry.toolbox}/{from_server}"
    return any(matches(glob, name) for name in names)


def _chosen(reader: AuditReader, options: argparse.Namespace) -> Iterable[AuditedCall]:
    if options.limit is None and options.since is not None:
        return reader.all()
    return reader.newest(options.limit or DEFAULT_LIMIT)


class _Output:
    """Prints calls in the form that the options choose."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.shown = 0
        """How many calls were printed."""
        self._end = "\r\n" if options.csv else "\n"
        self._row = csv_row if options.csv else json_row if options.json else text_row
        if options.csv:
            print(CSV_HEADER, end=self._end)

    def print(self, calls: Iterable[AuditedCall]) -> None:
        """Print a line for each call."""
        for call in calls:
            print(self._row(call), end=self._end)
            self.shown += 1
        sys.stdout.flush()


def _print_notes(options: argparse.Namespace, shown: int, broken: int) -> None:
    """Say on stderr what the calls themselves do not show."""
    if broken:
        lines = count(broken, "line", "lines")
        print(f"{lines} left out: damaged, or a process was killed while it wrote them.", file=sys.stderr)
    path = locate(options.config, os.environ)
    if load_usable(path, os.environ).config.audit == "off":
        print(f'Calls are not recorded now: "audit" is "off" in {show_name(path)}.', file=sys.stderr)
    elif not shown:
        print("No such call is recorded.", file=sys.stderr)
