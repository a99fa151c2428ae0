"""Shows changes of clients' files, asks, writes them, and tells what became of each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.setup.asking import confirm
from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import apply
from mcp_workbench.setup.installing import verify
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcp_workbench.setup.installing import ClientChange

    Outcome = dict[str, object]

DONE: Final = {
    "add": ("installed", "Installed in"),
    "update": ("updated", "Updated in"),
    "overwrite": ("installed", "Installed in"),
    "remove": ("removed", "Removed from"),
}
"""The state that scripts read, and the words for people, by the effect of a change."""


def show_change(change: ClientChange) -> None:
    """Print what a change does, as a diff."""
    path = show_name(change.path)
    if change.effect == "same":
        say(f"{change.client.title}: nothing to change in {path}")
        return
    real = os.path.realpath(change.path)
    link = f" (a link to {show_name(real)})" if real != change.path else ""
    say(f"{change.client.title}: {path}{link}")
    for line in change.diff():
        say(f"  {line}")


def is_confirmed(changes: Sequence[ClientChange], options: argparse.Namespace, *, more: bool = False) -> bool:
    """Return whether the changes are to be made. With `more`, others than these are part of the question."""
    count = sum(change.effect != "same" for change in changes)
    if options.dry_run or not (count or more):
        return not options.dry_run
    return is_agreed("Write this?" if count <= 1 else f"Write these {count} files?", options)


def is_agreed(question: str, options: argparse.Namespace) -> bool:
    """Return whether the person says yes. With --json nobody is asked, because no preview is shown."""
    if options.json and not options.yes:
        complain("nothing is changed: with --json there is no question. Use --yes to confirm")
        return False
    return confirm(question, yes=options.yes)


def write_change(change: ClientChange, options: argparse.Namespace, command: str) -> Outcome:
    """Write a change, check the file, and return what became of it."""
    if change.effect == "same":
        return outcome_of(change, "unchanged")
    try:
        apply(change.change, os.environ, subject=change.client.id, command=command)
        verify(change)
    except CannotChange as error:
        complain(f"{change.client.title}: {error}")
        return outcome_of(change, "failed") | {"reason": error.reason}
    state, words = DONE[change.effect]
    if not options.json:
        say(f"{words} {change.client.title}. {change.next_step}")
    return outcome_of(change, state) | {"next": change.next_step}


def outcome_of(change: ClientChange, state: str) -> Outcome:
    """Return what became of a change, for scripts."""
    outcome: Outcome = {
        "client": change.client.id,
        "path": change.path,
        "state": state,
        "names": list(change.names),
    }
    if change.replaced:
        outcome["replaced"] = list(change.replaced)
    return outcome | {"diff": change.diff()} if change.effect != "same" else outcome


def failure(client_id: str, error: CannotChange) -> Outcome:
    """Return the outcome for a client whose file cannot be changed, for scripts."""
    return {"client": client_id, "path": error.path, "state": "failed", "reason": error.reason}


def exit_code(outcomes: Sequence[Outcome], options: argparse.Namespace) -> int:
    """Return 1 if a file could not be changed, or was not because nobody said yes; else 0."""
    bad = ("failed",) if options.dry_run else ("failed", "pending")
    return 1 if any(outcome["state"] in bad for outcome in outcomes) else 0
