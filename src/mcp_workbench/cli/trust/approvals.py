"""`mcp-workbench approvals`: shows the calls that wait for an approval, and answers them.

In a terminal it follows new calls. While it runs there, workbenches hold such calls for a while, and do not
refuse them at once.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.shell.person import open_terminal
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.storage.directories import explain_unusable
from mcp_workbench.storage.trust.approval_files import ApprovalFiles
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.shell.person import Terminal
    from mcp_workbench.storage.trust.approval_files import PendingApproval

POLL_SECONDS: Final = 0.3
"""Time between two looks for new calls."""
WITHDRAWN_SECONDS: Final = 1.0
"""Time after a question that was withdrawn: an answer that is being typed must not meet the next question."""
SHORT_ID_CHARACTERS: Final = 8
"""Characters of an id that are shown. They are enough to name it."""

NOTHING: Final = "No call waits for an approval."
WAITING: Final = "Waiting for calls that need an approval. Press Ctrl-C to end."
ASK: Final = "Allow this call once? [y]es, [n]o, [l]ater: "
GONE: Final = "The call no longer waits."


def run(options: argparse.Namespace) -> int:
    """List, answer or follow the calls that wait for an approval. Return the exit code."""
    files = ApprovalFiles(os.environ)
    try:
        if options.allow is not None or options.deny is not None:
            return _answer_one(files, options)
        terminal = None if options.list or options.json else open_terminal()
        if terminal is None:
            return _list(files, as_json=options.json)
        try:
            return asyncio.run(_follow(files, terminal))
        finally:
            terminal.close()
    except OSError as error:
        complain(f"approvals cannot be read or written: {explain_unusable(error, os.environ)}")
        return 1


def _list(files: ApprovalFiles, *, as_json: bool) -> int:
    pending = files.pending()
    if as_json:
        print_json({"approvals": [msgspec.to_builtins(each) for each in pending]})
    elif not pending:
        say(NOTHING)
    for each in () if as_json else pending:
        say(_block(each))
    return 0


def _answer_one(files: ApprovalFiles, options: argparse.Namespace) -> int:
    allow = options.allow is not None
    wanted = options.allow if allow else options.deny
    found = [each for each in files.pending() if wanted and each.id.startswith(wanted.lower())]
    if len(found) != 1:
        which = "several calls have ids that begin" if found else "no call waits whose id begins"
        complain(f"{which} with '{show_name(wanted)}'. See mcp-workbench approvals --list")
        return 1
    if not files.answer(found[0], allow=allow):
        complain(GONE)
        return 1
    if options.json:
        print_json({"id": found[0].id, "allowed": allow})
    else:
        say(f"{'Allowed' if allow else 'Denied'}: {_target(found[0])}")
    return 0


async def _follow(files: ApprovalFiles, terminal: Terminal) -> int:
    """Ask about each call that waits, until the person presses Ctrl-D or Ctrl-C."""
    cancel_on_request_to_end()
    later: set[tuple[str, float]] = set()
    """What the person does not want to decide yet. A call that is made again is asked about again."""
    terminal.say(WAITING)
    with files.terminal() as be_there:
        while True:
            be_there()
            waiting = [each for each in files.pending() if (each.id, each.asked_at) not in later]
            if not waiting:
                await asyncio.sleep(POLL_SECONDS)
                continue
            pending = waiting[0]
            terminal.say(f"\n{_block(pending)}")
            typed = await _typed(files, terminal, pending)
            if typed is None:
                return 0
            answer = typed.lower()
            if answer in ("y", "yes", "n", "no"):
                allow = answer[0] == "y"
                is_done = files.answer(pending, allow=allow)
                terminal.say(("Allowed." if allow else "Denied.") if is_done else GONE)
            else:
                later.add((pending.id, pending.asked_at))


async def _typed(files: ApprovalFiles, terminal: Terminal, pending: PendingApproval) -> str | None:
    """Return what the person types about a call; None for Ctrl-D. An empty text if the call waits no more."""
    # What was typed before this question may be meant for another call.
    terminal.forget_typed()
    asking = asyncio.create_task(terminal.ask(ASK))
    try:
        while not asking.done():
            await asyncio.wait([asking], timeout=POLL_SECONDS)
            if not asking.done() and pending.id not in {each.id for each in files.pending()}:
                terminal.say(f"\n{GONE}")
                await asyncio.sleep(WITHDRAWN_SECONDS)
                return ""
        return asking.result()
    finally:
        asking.cancel()


def _block(pending: PendingApproval) -> str:
    """Return a call as people are shown it, in several lines."""
    who = ", ".join(
        [
            f"{max(time.time() - pending.asked_at, 0):.0f} s ago",
            *([f"by {show_name(pending.client)}"] if pending.client else []),
            *([f"for {show_name(pending.principal)}"] if pending.principal else []),
        ]
    )
    # The first line of the description is the question, which is not asked here.
    about = [f"  {show_name(line)}" for line in pending.lines[1:]]
    return "\n".join(
        [
            f"{pending.id[:SHORT_ID_CHARACTERS]}  {_target(pending)}  ({who})",
            *about,
            f"  Configuration: {show_name(pending.config)}",
        ]
    )


def _target(pending: PendingApproval) -> str:
    return show_name(f"{pending.toolbox}/{pending.server}/{pending.name}")
