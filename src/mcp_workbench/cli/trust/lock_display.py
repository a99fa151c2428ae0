"""Prints how servers differ from the lock: for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.shell.page import BOLD
from mcp_workbench.cli.trust.difference_display import INDENT, plain_changes, show_changes, show_findings
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    from mcp_workbench.cli.inspection.rows import Row
    from mcp_workbench.cli.shell.page import Page
    from mcp_workbench.cli.trust.lock_outcomes import Comparison
    from mcp_workbench.workbench.trust.lock_entries import PartDifference

STATES: Final = {
    "missing": "is not in the lock",
    "unknown": "is in the lock, and not in the configuration",
    "different": "differs from the lock",
}
PARTS: Final = {
    ("tool", "added"): "is not in the lock",
    ("tool", "removed"): "is in the lock, and not listed any more",
    ("tool", "changed"): "has changed",
    ("instructions", "added"): "are new",
    ("instructions", "removed"): "are gone",
    ("instructions", "changed"): "have changed",
    ("program", "changed"): "has changed",
}
"""What is said about a part of a server that differs from the lock."""


def show_comparison(page: Page, comparison: Comparison, *, is_whole: bool) -> None:
    """Print every difference between a server and its entry in the lock.

    Of a server that is not in the lock, all tools are shown only if `is_whole`.
    """
    page.whole("")
    heading = f"{'/'.join(comparison.origin)} {STATES[comparison.state]}"
    if comparison.state == "missing":
        tools = count(sum(part.part == "tool" for part in comparison.parts), "tool", "tools")
        page.line(f"{heading}: {tools}", BOLD)
        if not is_whole:
            return
    else:
        page.line(heading, BOLD)
    for part in comparison.parts:
        subject = f"tool {part.tool}" if part.part == "tool" else f"its {part.part}"
        page.line(f"{INDENT}{subject} {PARTS[part.part, part.state]}", BOLD)
        show_findings(page, comparison.findings.get(_key(part), ()), INDENT * 2)
        # The words of a tool that is gone do not matter any more.
        if part.state != "removed":
            show_changes(page, part.changes, INDENT * 2)


def plain_comparison(comparison: Comparison, row: Row | None) -> dict[str, object]:
    """Return the differences between a server and its entry in the lock, for JSON.

    The row of a server that failed says why.
    """
    toolbox, server = comparison.origin
    failed = {} if row is None or row.error is None else {"error": row.error, "cause": row.cause}
    return {
        "toolbox": toolbox,
        "server": server,
        "state": comparison.state,
        **failed,
        "differences": [
            {
                "part": part.part,
                "state": part.state,
                **({"tool": part.tool} if part.part == "tool" else {}),
                "changes": plain_changes(part.changes),
            }
            for part in comparison.parts
        ],
        "findings": {
            key or "instructions": msgspec.to_builtins(found) for key, found in comparison.findings.items()
        },
    }


def _key(part: PartDifference) -> str:
    return part.tool if part.part == "tool" else INSTRUCTIONS
