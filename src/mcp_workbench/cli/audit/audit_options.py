"""The options of `mcp-workbench log`, with their help texts."""

from __future__ import annotations

import argparse
from typing import Any

LOG_DESCRIPTION = """\
Shows the calls of all workbenches of this user, the newest last: when, what,
how it ended, how long it took, how much came back, and who called. They are
recorded unless "audit" is "off" in the configuration.

  mcp-workbench log
  mcp-workbench log --tool 'dev/*' --failed
  mcp-workbench log --since 2h
  mcp-workbench log --follow
  mcp-workbench log --since 2026-07-01 --csv > calls.csv

Exit code: 0 success, 1 the records cannot be read, 2 a wrong command line."""

SINCE_HELP = "only calls that ended since then: 10m, 2h, 3d, 2026-07-28 or 2026-07-28T09:30"


def read_since(text: str) -> float:
    """Return the time that an option gives, in seconds since the epoch. Raises ArgumentTypeError."""
    import re
    import time
    from datetime import datetime

    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    if found := re.fullmatch(r"(\d{1,9})([smhdw])", text.strip()):
        return time.time() - int(found[1]) * units[found[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()  # without an offset it is local
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            "should be like 10m, 2h, 3d, 2026-07-28 or 2026-07-28T09:30"
        ) from None


def read_limit(text: str) -> int:
    """Return the number of calls that an option gives. Raises ArgumentTypeError."""
    if not text.isdecimal() or not 0 < int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError("should be a number of calls, such as 100")
    return int(text)


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add `log` to the command line."""
    log = commands.add_parser(
        "log",
        parents=[shared],
        help="show what was called, and how it ended",
        description=LOG_DESCRIPTION,
    )
    log.add_argument(
        "--tool", metavar="GLOB", help="only these: a tool, SERVER/TOOL or TOOLBOX/SERVER/TOOL, with * and ?"
    )
    log.add_argument("--failed", action="store_true", help="only calls that did not succeed")
    log.add_argument("--denied", action="store_true", help="only calls that were not allowed")
    log.add_argument("--principal", metavar="NAME", help="only calls of this principal")
    log.add_argument("--since", metavar="TIME", type=read_since, help=SINCE_HELP)
    log.add_argument(
        "--limit", metavar="N", type=read_limit, help="at most so many (default: 50; with --since: all)"
    )
    log.add_argument("--follow", action="store_true", help="go on showing calls as they end")
    form = log.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON object for each call, one a line")
    form.add_argument("--csv", action="store_true", help="print a table for spreadsheets")
