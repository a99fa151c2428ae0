"""One block of text for each failure: the cause first, then what to do, then the rest of stderr.

Servers that fail in the same way share a block, and a remedy that holds for several blocks is said once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.wrapping import cut, wrap
from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.cli.inspection.rows import Row
    from mcp_workbench.errors import Cause

    _Failure = tuple[Cause, str, str, tuple[str, ...]]

MAX_STDERR_LINES: Final = 4
"""Other lines of stderr that are shown if one of them says the cause."""
MAX_NAMES: Final = 6
"""Names of servers before a remedy that holds for several."""
INDENT: Final = "  "


def failure_blocks(rows: Iterable[Row], columns: int | None) -> list[str]:
    """Return the blocks of the rows that failed. Lines fit into `columns`, unless it is None."""
    groups: dict[_Failure, list[str]] = {}
    for row in rows:
        if row.cause is not None:
            failure = (row.cause, row.error or "", row.hint or "", row.stderr)
            groups.setdefault(failure, []).append(show_name(row.name))
    hints = [hint for _, _, hint, _ in groups]
    said_once: dict[str, list[str]] = {hint: [] for hint in hints if hint and hints.count(hint) > 1}
    blocks = []
    for (cause, error, hint, stderr), names in groups.items():
        if hint in said_once:
            said_once[hint] += names
        cause_line, *others = failure_lines(cause, error, "" if hint in said_once else hint, stderr)
        blocks.append(_fitted([f"{', '.join(names)}: {cause_line}", *others], columns))
    shared = [f"Fix for {_some(names)}: {show_text(hint)}" for hint, names in said_once.items()]
    return blocks + [_fitted([fix], columns) for fix in shared]


def _some(names: Sequence[str]) -> str:
    """Return the names, or the first few: all of them are in the blocks of their failures."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:MAX_NAMES])} and {len(names) - MAX_NAMES:,} more"


def failure_lines(cause: Cause, error: str, hint: str, stderr: Sequence[str]) -> list[str]:
    """Return why a server failed, what to do, and what else it wrote to stderr."""
    lines = [show_name(error)]
    if hint:
        lines.append(f"{INDENT}Fix: {show_text(hint)}")
    rest = [line for line in stderr if line.strip() and not _is_told(line, error)]
    if cause != "failed":
        rest = rest[-MAX_STDERR_LINES:]
    if rest:
        lines += [f"{INDENT}Last lines of stderr:", *(f"{INDENT * 2}{show_name(line)}" for line in rest)]
    return lines


def _is_told(line: str, error: str) -> bool:
    """Whether the error quotes this line."""
    text = " ".join(line.split())
    quoted = error.rpartition(" (")[0].removesuffix("…")
    return text in error or (bool(quoted) and quoted in text)


def _fitted(lines: Sequence[str], columns: int | None) -> str:
    """Return the lines of a block: wrapped, but for the lines of stderr, which are cut."""
    if columns is None:
        return "\n".join(lines)
    fitted: list[str] = []
    for line in lines:
        if line.startswith(INDENT * 2):
            fitted.append(cut(line, columns))
        else:
            fitted += wrap(line, columns, hanging=INDENT, breaks_words=True)
    return "\n".join(fitted)
