"""Writes the lock: edits of the latest content, so that the changes of two processes are both kept.

Owns what an edit is, and how the file is replaced. `storage/trust/lock_file.py` owns its format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import SHARED_MODE, FileChange, apply, read_for_change
from mcp_workbench.storage.backups import CONFIG
from mcp_workbench.storage.trust.lock_file import LockedServer, LockedTool, decode_lock, encode_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.storage.trust.lock_file import Lock

MAX_ATTEMPTS: Final = 20
"""Number of times that edits are made anew because another process wrote the file meanwhile."""


class LockEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written about one server. All else about it stays, unless it is another program."""

    identity: str
    program: str
    tools: dict[str, LockedTool | None] = {}
    """Tools to write, by name; None removes one."""
    instructions: str | None = None
    """Instructions to write; None leaves those that are there."""


def write_lock(
    path: str,
    edits: Mapping[Origin, LockEdit | None],
    digest_of: Callable[[msgspec.Raw], str],
    environ: Mapping[str, str],
    *,
    command: str,
) -> bool:
    """Make edits in the lock at `path`, and return whether the file changed. None removes a server.

    Raises CannotChange if the file cannot be written, LockUnusable if it has a mistake, and ValueError if a
    definition cannot be written as JSON.
    """
    attempts = 0
    while True:
        attempts += 1
        before = read_for_change(path)
        lock = {} if before is None else decode_lock(path, before, digest_of)
        change = FileChange(path, before, encode_lock(edited(lock, edits)))
        try:
            apply(change, environ, subject=CONFIG, command=command, file_mode=SHARED_MODE)
        except CannotChange:
            if attempts == MAX_ATTEMPTS or read_for_change(path) == before:
                raise
        else:
            return change.before != change.after


def edited(lock: Lock, edits: Mapping[Origin, LockEdit | None]) -> Lock:
    """Return a lock with edits made in it."""
    made = dict(lock)
    for origin, edit in edits.items():
        if edit is None:
            made.pop(origin, None)
            continue
        server = made.get(origin)
        if server is None or server.identity != edit.identity:
            # Nothing of another program is approved for this one.
            server = LockedServer(identity=edit.identity, program=edit.program)
        tools = {name: tool for name, tool in {**server.tools, **edit.tools}.items() if tool is not None}
        instructions = server.instructions if edit.instructions is None else edit.instructions
        made[origin] = msgspec.structs.replace(server, tools=tools, instructions=instructions)
    return made


def edit_to(locked: LockedServer | None, wanted: LockedServer) -> LockEdit:
    """Return the edit that makes an entry as it is wanted. What has not changed keeps its spelling."""
    if locked is not None and locked.identity != wanted.identity:
        locked = None
    known = {} if locked is None else locked.tools
    tools: dict[str, LockedTool | None] = dict.fromkeys(known.keys() - wanted.tools.keys())
    for name, tool in wanted.tools.items():
        old = known.get(name)
        if old is None or (old.digest, old.hints) != (tool.digest, tool.hints):
            tools[name] = tool
    is_same = locked is not None and locked.instructions.split() == wanted.instructions.split()
    return LockEdit(
        identity=wanted.identity,
        program=wanted.program,
        tools=tools,
        instructions=None if is_same else wanted.instructions,
    )
