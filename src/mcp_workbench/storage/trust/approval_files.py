"""Calls that wait for an approval in a terminal, and the answers: small files in the data directory.

Owns the files, for all workbenches of the current user. A file is named by a keyed digest of who calls what
with which arguments. So the same call finds its answer in whichever process it is made, and nobody can guess
arguments from a name: the key is in the cache directory, which backups leave out. An answer is used up by
deleting its file, which succeeds in one process only. Everything here expires by the age of its file.

The methods block, and may raise OSError.
"""

from __future__ import annotations

import hmac
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.storage.directories import cache_directory, data_directory
from mcp_workbench.storage.private_files import PrivateDirectory, is_hexadecimal, try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

EXPIRY_SECONDS: Final = 600.0
"""How long a call waits for an answer after it was made last, and how long an answer is good."""
MAX_PENDING: Final = 100
"""Calls that wait for an answer at once, of all workbenches of the user."""
MAX_PENDING_OF_ONE: Final = 20
"""Calls that wait for an answer at once, of one principal."""
MAX_FILE_BYTES: Final = 65536

DIRECTORY: Final = "approvals"
KEY: Final = "key"
TERMINAL_LOCK: Final = "terminal.lock"
"""Locked by a command that shows calls to a person as they arrive."""
ANSWER_LOCK: Final = "answer.lock"

_KEY_BYTES: Final = 32
_ID_DIGITS: Final = 32
_PENDING, _ALLOWED, _DENIED = ".json", ".allowed", ".denied"

ApprovalState = Literal["open", "allowed", "denied", "gone", "full"]
"""What is known of a call: it waits; it was allowed, which is used up by this; it was denied; or nothing, for
which there may be a reason: too many others wait.
"""


class PendingApproval(msgspec.Struct, frozen=True):
    """A call that waits for an approval, as a person is shown it. Secrets in it are masked."""

    id: str
    asked_at: float
    """When the call was made, in seconds since 1970."""
    config: str
    """The path of the configuration file."""
    principal: str
    client: str
    method: str
    toolbox: str
    server: str
    name: str
    rule: str
    lines: list[str]
    """The description of the call for people, arguments included."""


_decode = msgspec.json.Decoder(PendingApproval).decode


class ApprovalFiles:
    """The pending approvals of the current user, and their answers."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._files = PrivateDirectory(data_directory(environ), DIRECTORY)
        self._keys = PrivateDirectory(cache_directory(environ), DIRECTORY)
        self.path = self._files.path

    def id_of(self, *parts: bytes) -> str:
        """Return the id of a call, from what it is bound to. Without the key it says nothing about that."""
        # With their lengths: no other parts can be joined to the same bytes.
        joined = b"".join(b"%d:%b" % (len(part), part) for part in parts)
        return hmac.digest(self._key(), joined, "sha256").hex()[:_ID_DIGITS]

    def ask(self, pending: PendingApproval) -> ApprovalState:
        """Use up the answer to a call if there is one; else let the call wait for one from now on."""
        state = self.state(pending.id)
        if state in ("allowed", "denied"):
            return state
        others = [each for each in self.pending() if each.id != pending.id]
        of_one = sum(each.principal == pending.principal for each in others)
        if len(others) >= MAX_PENDING or of_one >= MAX_PENDING_OF_ONE:
            return "full"
        self._files.replace(f"{pending.id}{_PENDING}", (msgspec.json.encode(pending),))
        return "open"

    def state(self, call_id: str) -> ApprovalState:
        """Return what is known of a call. An approval is used up by this."""
        if self._is_there(f"{call_id}{_DENIED}"):
            return "denied"
        allowed = f"{call_id}{_ALLOWED}"
        # Only one process deletes the file, however many look for it.
        if self._is_there(allowed) and self._files.remove(allowed):
            self.withdraw(call_id)
            return "allowed"
        return "open" if self._is_there(f"{call_id}{_PENDING}") else "gone"

    def withdraw(self, call_id: str) -> None:
        """Let a call wait no longer: nothing would be done with an answer."""
        self._files.remove(f"{call_id}{_PENDING}")

    def pending(self) -> list[PendingApproval]:
        """Return the calls that wait for an answer, the oldest first. What has expired is deleted."""
        found = []
        oldest = time.time() - EXPIRY_SECONDS
        for name, status in self._files.scan():
            call_id, dot, _ = name.partition(".")
            if not is_hexadecimal(call_id, _ID_DIGITS) or not dot:
                continue
            if status.st_mtime < oldest:
                with suppress(OSError):
                    self._files.remove(name)
            elif name.endswith(_PENDING) and (pending := self._read(call_id)) is not None:
                found.append(pending)
        return sorted(found, key=lambda pending: pending.asked_at)

    def answer(self, pending: PendingApproval, *, allow: bool) -> bool:
        """Allow or deny a call that a person was shown. Return False if it waits no more, or has changed."""
        lock = self._files.open_lock(ANSWER_LOCK)
        try:
            try_lock(lock, wait=True)  # of two answers at the same time, one counts
            found = self._read(pending.id)
            # The same call may have been made again meanwhile.
            if found is None or msgspec.structs.replace(found, asked_at=pending.asked_at) != pending:
                return False
            self._files.replace(f"{pending.id}{_ALLOWED if allow else _DENIED}", (b"{}",))
            # Afterwards: there is no moment in which nothing is known of the call.
            self._files.remove(f"{pending.id}{_PENDING}")
            return True
        finally:
            os.close(lock)

    def has_terminal(self) -> bool:
        """Whether a command shows calls to a person as they arrive."""
        if sys.platform == "win32":
            return False  # without locks nobody can tell
        try:
            descriptor = self._files.open_lock(TERMINAL_LOCK, make=False)
        except FileNotFoundError:
            return False
        try:
            return not try_lock(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def terminal(self) -> Iterator[Callable[[], bool]]:
        """Show others that a person is at a terminal, once the function that this yields was called.

        The function returns whether this terminal counts: with several, one does. Call it now and then.
        """
        descriptor = self._files.open_lock(TERMINAL_LOCK)
        try:
            yield lambda: try_lock(descriptor)
        finally:
            os.close(descriptor)

    def _is_there(self, name: str) -> bool:
        found = self._files.read(name, max_bytes=MAX_FILE_BYTES)
        return found is not None and found[1].st_mtime >= time.time() - EXPIRY_SECONDS

    def _read(self, call_id: str) -> PendingApproval | None:
        with suppress(OSError, msgspec.MsgspecError):
            found = self._files.read(f"{call_id}{_PENDING}", max_bytes=MAX_FILE_BYTES)
            pending = None if found is None else _decode(found[0])
            if pending is not None and pending.id == call_id:
                return pending
        return None

    def _key(self) -> bytes:
        """Return the key of the current user's approvals, which the first process makes."""
        lock = self._keys.open_lock(f"{KEY}.lock")
        try:
            try_lock(lock, wait=True)
            found = self._keys.read(KEY, max_bytes=MAX_FILE_BYTES, is_secret=True)
            if found is not None and len(found[0]) == _KEY_BYTES:
                return found[0]
            key = os.urandom(_KEY_BYTES)
            self._keys.replace(KEY, (key,))
            return key
        finally:
            os.close(lock)
