"""Prints what changed in a definition, with a sign before each line, in colour on a terminal.

Every line begins with a sign of ours, also where a text of a server is wrapped or has line feeds: no text can
pretend to be another line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.shell.page import GREEN, RED, YELLOW
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.cli.shell.page import Page
    from mcp_workbench.workbench.trust.scanning.scanner import ScanFinding
    from mcp_workbench.workbench.trust.word_differences import Change

MAX_SHOWN_CHANGES: Final = 200
MAX_TEXT_CHARACTERS: Final = 20_000
"""Length of the words that are shown of one text or value."""
INDENT: Final = "  "
SIGN_STYLES: Final = {"+": GREEN, "-": RED, "~": YELLOW, "!": YELLOW}


def show_changes(page: Page, changes: Sequence[Change], indent: str = INDENT) -> None:
    """Print changes. What is too long is shortened, and the lines say so."""
    for change in changes[:MAX_SHOWN_CHANGES]:
        if not change.runs:
            _show_line(page, change.sign, change.line.removeprefix(f"{change.sign} "), indent)
            continue
        _show_line(page, change.sign, f"{change.what}:", indent)
        for run in change.runs:
            before = f"{indent}{INDENT}{run.sign} "
            style = SIGN_STYLES.get(run.sign, "")
            page.paragraph(_shortened(run.text), before, before, style=style, breaks_words=True)
    if len(changes) > MAX_SHOWN_CHANGES:
        page.whole(f"{indent}… {len(changes) - MAX_SHOWN_CHANGES:,} more changes: --json has them all")


def show_findings(page: Page, findings: Iterable[ScanFinding], indent: str = INDENT) -> None:
    """Print what the scanner found."""
    for finding in findings:
        said = f': "{finding.words}"' if finding.words else ""
        _show_line(page, "!", f"{finding.severity} finding {finding.code} in {finding.place}{said}", indent)
        page.paragraph(finding.why, f"{indent}  ")


def plain_changes(changes: Iterable[Change]) -> list[dict[str, str]]:
    """Return changes for JSON, with both texts whole."""
    return [
        {"sign": change.sign, "what": change.what, "before": change.before, "after": change.after}
        for change in changes
    ]


def _show_line(page: Page, sign: str, text: str, indent: str) -> None:
    before = f"{indent}{sign} "
    style = SIGN_STYLES.get(sign, "")
    page.paragraph(show_name(_shortened(text)), before, before, style=style, breaks_words=True)


def _shortened(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    more = count(len(text) - MAX_TEXT_CHARACTERS, "more character", "more characters")
    return f"{text[:MAX_TEXT_CHARACTERS]} … {more}: --json has them all"
