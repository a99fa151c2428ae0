"""Writes the lock: a change of the latest content, which no other process's change gets lost in.

Owns how the file is replaced. `storage/trust/lock_file.py` owns its format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import SHARED_MODE, FileChange, apply, read_for_change
from mcp_workbench.storage.backups import CONFIG
from mcp_workbench.storage.trust.lock_file import decode_lock, encode_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import msgspec

    from mcp_workbench.storage.trust.lock_file import Lock

MAX_ATTEMPTS: Final = 20
"""Number of times that a change is made anew because another process wrote the file meanwhile."""


def change_lock(
    path: str,
    change: Callable[[Lock | None], Lock],
    digest_of: Callable[[msgspec.Raw], str],
    environ: Mapping[str, str],
    *,
    command: str,
) -> bool:
    """Write what `change` makes of the lock at `path`, and return whether the file changed.

    `change` gets None if there is no file, and is called again with what another process wrote meanwhile.
    Raises CannotChange if the file cannot be written, LockUnusable if the present one has a mistake, and
    ValueError if a definition is not JSON.
    """
    attempts = 0
    while True:
        attempts += 1
        before = read_for_change(path)
        lock = None if before is None else decode_lock(path, before, digest_of)
        after = encode_lock(change(lock))
        written = FileChange(path, before, after)
        try:
            apply(written, environ, subject=CONFIG, command=command, file_mode=SHARED_MODE)
        except CannotChange:
            if attempts == MAX_ATTEMPTS or read_for_change(path) == before:
                raise
        else:
            return before != after
