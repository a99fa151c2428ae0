"""`mcp-workbench review`: shows what is held, and lets a person approve or reject it. Starts no server."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.setup.asking import ask, is_interactive
from mcp_workbench.cli.shell.page import BOLD, Page
from mcp_workbench.cli.terminal import complain, print_json
from mcp_workbench.cli.trust.decisions import Decisions
from mcp_workbench.cli.trust.difference_display import INDENT, plain_changes, show_changes, show_findings
from mcp_workbench.cli.trust.held_items import HeldItems
from mcp_workbench.cli.trust.lock_reading import read_lock_or_report
from mcp_workbench.cli.trust.reported_findings import reported_tools
from mcp_workbench.errors import CannotChange, LockUnusable
from mcp_workbench.storage.directories import data_directory, explain_unusable
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS
from mcp_workbench.storage.trust.pins import PinStore
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from mcp_workbench.cli.trust.held_items import HeldItem
    from mcp_workbench.cli.trust.reported_findings import ReportedTool

QUESTION: Final = "[a]pprove, [r]eject, [s]kip or [q]uit?"


def run(options: argparse.Namespace) -> int:
    """Show what is held, and write what is decided about it.

    Return 0 (nothing waits any more), 1 (something is still held, a decision failed, or nothing can be read)
    or 2 (a bad file).
    """
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    beside = read_lock_or_report(options, loaded)
    if beside is None:
        return 2
    path, lock = beside
    servers = {
        (toolbox, name)
        for toolbox, config in loaded.config.toolboxes.items()
        for name, settings in config.servers.items()
        if settings.pin != "off"
    }
    store = PinStore(data_directory(os.environ))
    try:
        store.check()
    except OSError as error:
        complain(f"what is held cannot be read: {explain_unusable(error, os.environ)}")
        return 1
    review = Review(
        HeldItems(store, loaded.path, lock, servers), Decisions(store, path, lock, os.environ), path
    )
    if options.approve or options.reject:
        if not review.decide(options.approve, options.reject, quietly=options.json):
            return 1
    elif is_interactive() and not options.json:
        review.ask_about_each()
    elif not options.json:
        review.show_all()
    reported = reported_tools(store, loaded, lock)
    left = review.held.read()
    if options.json:
        _print_json(loaded.path, path if lock is not None else None, review, left, reported)
    else:
        _conclude(review, left, reported)
    return 1 if review.has_failed or any(not item.is_rejected for item in left) else 0


class Review:
    """Shows items that are held, and takes decisions about them."""

    def __init__(self, held: HeldItems, decisions: Decisions, path: str) -> None:
        self.held = held
        self._decisions = decisions
        self._path = path
        self.page = Page()
        self.approved: list[str] = []
        """The full names of what was approved."""
        self.rejected: list[str] = []
        """The full names of what was rejected."""
        self.has_failed = False
        """Whether a decision could not be written."""

    def decide(self, approve: Sequence[str], reject: Sequence[str], *, quietly: bool) -> bool:
        """Approve and reject what patterns match. What both match is rejected.

        Return False, with nothing decided, if a pattern matches nothing, or several definitions of one tool
        would be approved.
        """
        items = self.held.read()
        for pattern in (*approve, *reject):
            if not any(item.matches(pattern) for item in items):
                complain(f"nothing that is held matches '{show_name(pattern)}', so nothing was decided")
                return False
        rejected: list[HeldItem] = []
        approved: list[HeldItem] = []
        for item in items:
            if any(map(item.matches, reject)):
                rejected.append(item)
            elif any(map(item.matches, approve)):
                approved.append(item)
        names = Counter(item.full_name for item in approved)
        if twice := next((name for name, count in names.items() if count > 1), None):
            # A name does not say which of them a person has seen.
            complain(
                f"nothing was decided: several definitions of {show_name(twice)} are held. "
                "Approve one of them in a terminal: mcp-workbench review"
            )
            return False
        if not quietly:
            for item in (*approved, *rejected):
                self._show(item)
        self._approve(approved, quietly=quietly)
        self._reject(rejected, quietly=quietly)
        return True

    def show_all(self) -> None:
        """Show everything that waits for a decision."""
        for item in self._pending():
            self._show(item)

    def ask_about_each(self) -> None:
        """Show what waits for a decision, one after the other, and ask about each."""
        for item in self._pending():
            self._show(item)
            shown: HeldItem | None = item
            while shown is not None:
                answer = ask(QUESTION, "s")[:1].lower()
                if answer == "q":
                    return
                shown = self._answered(shown, answer)

    def _pending(self) -> list[HeldItem]:
        return [item for item in self.held.read() if not item.is_rejected]

    def _answered(self, item: HeldItem, answer: str) -> HeldItem | None:
        """Do what the answer says. Return the item to ask about again, or None."""
        decide = {"a": self._approve, "r": self._reject}.get(answer)
        if decide is None:
            return None if answer == "s" else item
        now = self.held.again(item)
        if now is None:
            self.page.whole("It is no longer held.")
            return None
        if (now.version, now.server.identity) != (item.version, item.server.identity):
            self.page.whole(
                "Nothing was decided: it has changed since it was shown. This is what is held now:"
            )
            self._show(now)
            return now
        decide([item])
        return None

    def _approve(self, items: Sequence[HeldItem], *, quietly: bool = False) -> None:
        def write() -> str:
            is_written = self._decisions.approve(items)
            return f"; {self._path} was written" if is_written else ""

        self._write(items, "approved", self.approved, write, quietly=quietly)

    def _reject(self, items: Sequence[HeldItem], *, quietly: bool = False) -> None:
        def write() -> str:
            self._decisions.reject(items)
            return ""

        self._write(items, "rejected", self.rejected, write, quietly=quietly)

    def _write(
        self,
        items: Sequence[HeldItem],
        verb: str,
        done: list[str],
        write: Callable[[], str],
        *,
        quietly: bool,
    ) -> None:
        if not items:
            return
        try:
            where = write()
        except (CannotChange, LockUnusable, OSError, ValueError) as error:
            complain(f"nothing was {verb}: {error}")
            self.has_failed = True
            return
        done += [item.full_name for item in items]
        if not quietly:
            names = ", ".join(show_name(item.full_name) for item in items)
            self.page.whole(f"{verb}: {names}{where}")

    def _show(self, item: HeldItem) -> None:
        page = self.page
        what = "  (the server's instructions)" if item.name == INSTRUCTIONS else ""
        page.whole("")
        page.line(f"{item.full_name}{what}", BOLD)
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(item.since))
        reasons = show_name("; ".join(item.reasons))
        page.paragraph(f"held since {since}: {reasons}", INDENT, INDENT * 2, breaks_words=True)
        if item.server.approved_program:
            programs = show_name(f"{item.server.approved_program} → {item.server.program}")
            page.paragraph(f"~ program: {programs}", INDENT, INDENT * 2, breaks_words=True)
        show_findings(page, item.findings)
        show_changes(page, item.changes)


def _conclude(review: Review, left: Sequence[HeldItem], reported: Sequence[ReportedTool]) -> None:
    page = review.page
    if reported:
        page.whole("")
        page.line("In use, with hard findings that nobody has approved:", BOLD)
        for tool in reported:
            page.whole(f"{INDENT}{tool.toolbox}/{tool.server}/{tool.tool}")
            show_findings(page, tool.findings, INDENT * 2)
        page.whole('To deny their use, write "policy": {"NAME": "deny"}. To hide them, use "toolFilters".')
    waiting = [item for item in left if not item.is_rejected]
    page.whole("")
    if waiting:
        page.whole(f"{count(len(waiting), 'definition waits', 'definitions wait')} for a decision.")
        page.whole("Decide in a terminal: mcp-workbench review, or with --approve GLOB and --reject GLOB")
    else:
        page.whole("Nothing waits for a decision.")
    if len(left) > len(waiting):
        names = ", ".join(item.full_name for item in left if item.is_rejected)
        page.whole(f"Rejected, and still held: {names}")
        page.whole("To approve one all the same: mcp-workbench review --approve NAME")


def _print_json(
    file: str,
    lock: str | None,
    review: Review,
    left: Sequence[HeldItem],
    reported: Sequence[ReportedTool],
) -> None:
    print_json(
        {
            "file": file,
            "lock": lock,
            "held": [_plain(item) for item in left],
            "approved": review.approved,
            "rejected": review.rejected,
            "reported": msgspec.to_builtins(reported),
        }
    )


def _plain(item: HeldItem) -> dict[str, object]:
    return {
        "toolbox": item.origin[0],
        "server": item.origin[1],
        "tool": item.name or None,
        "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(item.since)),
        "reasons": item.reasons,
        "rejected": item.is_rejected,
        "program": item.server.program,
        "findings": msgspec.to_builtins(item.findings),
        "changes": plain_changes(item.changes),
    }
