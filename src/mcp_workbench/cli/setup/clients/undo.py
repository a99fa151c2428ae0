"""`mcp-workbench undo`: restores files as they were before the workbench changed them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.setup.clients.applying import is_agreed
from mcp_workbench.cli.setup.clients.naming import resolve_clients
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.config.clients.own_entry import starts_workbench
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import diff_of, restore
from mcp_workbench.setup.previews import format_of, mask_of
from mcp_workbench.setup.undoing import UndoPlan, plan_undo, plan_undo_of_config
from mcp_workbench.storage.backups import CONFIG
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcp_workbench.setup.undoing import Restoration

_EDITED: Final = "somebody else has changed it since"


def run(options: argparse.Namespace) -> int:
    """Restore the files that the options name, and return the exit code."""
    names = [name for name in options.names if name != CONFIG]
    clients = resolve_clients(names)
    if clients is None:
        return 2
    try:
        plan = _plan(options, [client.id for client in clients])
    except CannotChange as error:
        complain(str(error))
        return 1
    for subject, failure in plan.failures:
        complain(f"{show_name(subject)}: {failure}")
    outcomes = _restore(plan.restorations, options)
    outcomes += [_outcome(subject, error.path, "failed", error.reason) for subject, error in plan.failures]
    if options.json:
        print_json({"files": outcomes, "dryRun": options.dry_run})
    elif not outcomes:
        say("Nothing to undo.")
    bad = ("failed", "refused", *(() if options.dry_run else ("pending",)))
    return 1 if any(outcome["state"] in bad for outcome in outcomes) else 0


def _plan(options: argparse.Namespace, ids: list[str]) -> UndoPlan:
    if CONFIG not in options.names:
        return plan_undo(os.environ, ids or None)
    of_config = plan_undo_of_config(os.environ, configuration_path(options.config))
    if not ids:
        return of_config
    of_clients = plan_undo(os.environ, ids)
    return UndoPlan(
        of_clients.restorations + of_config.restorations, of_clients.failures + of_config.failures
    )


def _restore(restorations: Sequence[Restoration], options: argparse.Namespace) -> list[dict[str, object]]:
    """Show and restore the files, and return what became of each."""
    refused = [it for it in restorations if it.is_edited and not options.force]
    wanted = [it for it in restorations if it not in refused]
    differing = [it for it in wanted if it.before != it.after]
    if not options.json:
        for restoration in restorations:
            _show(restoration)
    for restoration in refused:
        hint = (
            "use --force. The file as it is now is backed up first"
            if restoration.subject == CONFIG
            else f"use --force. To take only the workbench out: mcp-workbench uninstall {restoration.subject}"
        )
        complain(
            f"{show_name(restoration.path)} is left alone: {_EDITED}, and that would be lost. "
            f"To restore it anyway, {hint}"
        )
    outcomes = [_outcome(it.subject, it.path, "refused", _EDITED) for it in refused]
    files = f"{len(differing)} file{'s' if len(differing) != 1 else ''}"
    if options.dry_run or (differing and not is_agreed(f"Restore {files}?", options)):
        return outcomes + [_outcome(it.subject, it.path, "pending") for it in wanted]
    outcomes += [_restore_one(it, options) for it in wanted]
    if any(it.has_replaced for it in wanted) and not options.json:
        say("The servers that were imported stay in the workbench too: mcp-workbench list shows them.")
    return outcomes


def _show(restoration: Restoration) -> None:
    name = f"{show_name(restoration.subject)}: {show_name(restoration.path)}"
    if restoration.before == restoration.after:
        say(f"{name} is already as it was before {restoration.since}")
        return
    say(f"{name}, as it was before {restoration.since}:")
    contents = (restoration.before, restoration.after)
    mask = mask_of(format_of(restoration.path), *contents, is_public=starts_workbench)
    for line in diff_of(restoration.path, restoration.before, restoration.after, mask):
        say(f"  {line}")


def _restore_one(restoration: Restoration, options: argparse.Namespace) -> dict[str, object]:
    subject, path = restoration.subject, restoration.path
    try:
        restore(
            path,
            restoration.before,
            restoration.after,
            os.environ,
            subject=subject,
            undoes=restoration.undoes,
        )
    except CannotChange as error:
        complain(f"{show_name(subject)}: {error}")
        return _outcome(subject, path, "failed", error.reason)
    if restoration.before == restoration.after:
        return _outcome(subject, path, "unchanged")
    if not options.json:
        done = "Deleted" if restoration.after is None else "Restored"
        say(f"{done} {show_name(path)}")
    return _outcome(subject, path, "deleted" if restoration.after is None else "restored")


def _outcome(subject: str, path: str, state: str, reason: str = "") -> dict[str, object]:
    outcome: dict[str, object] = {"subject": subject, "path": path, "state": state}
    return outcome | {"reason": reason} if reason else outcome
