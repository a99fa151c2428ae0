"""The stored login to one server, for code on the event loop.

Owns the timeouts: disk and keyring are used in threads, because both may block for ever. What is stored and
where is in `storage.logins`.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import StoreError
from mcp_workbench.storage.logins import LoginFile
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from typing import TypeVar

    from mcp_workbench.config import Stamp
    from mcp_workbench.storage.login_record import Login
    from mcp_workbench.storage.logins import LoginPlace

    T = TypeVar("T")

DISK_TIMEOUT_SECONDS = 10.0
"""Timeout for a disk, which may be a network drive."""
KEYRING_TIMEOUT_SECONDS = 10.0
"""Timeout for a keyring while no person is there to unlock it."""
LOCK_TIMEOUT_SECONDS = 60.0
"""Timeout for the lock of a login: more than a renewal in another process can take."""

log = logging.getLogger(__name__)


class LoginStore:
    """Loads and saves the login to one server."""

    def __init__(self, environ: Mapping[str, str], origin: tuple[str, str], url: str) -> None:
        self._file = LoginFile(environ, origin, url)
        self.path = self._file.path
        """Path of the file that holds the login, or that says that it is in the keyring."""
        self._place: LoginPlace | None = None

    def stamp(self) -> Stamp | None:
        """Return a value that differs after every change of the login; None if there is no login."""
        return self._file.stamp()

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Hold the lock without which no process changes the login. Raises StoreError."""
        try:
            lock = self._file.locked(LOCK_TIMEOUT_SECONDS)
            await lock.__aenter__()
        except TimeoutError:
            held = f"another process has held {self.path}.lock for {LOCK_TIMEOUT_SECONDS:g} s"
            raise StoreError(held) from None
        except OSError as error:
            raise StoreError(f"{self.path}.lock cannot be written: {error.strerror}") from None
        try:
            yield
        finally:
            await lock.__aexit__(None, None, None)

    async def load(self) -> Login | None:
        """Return the login, if there is one. Raises StoreError."""
        try:
            entry = await self._on_disk(self._file.read, "read")
            if entry is None:
                return None
            self._place = entry.kept
            if entry.kept == "file":
                return entry.login
            return await self._in_keyring(self._file.read_keyring, KEYRING_TIMEOUT_SECONDS)
        except msgspec.DecodeError:
            raise StoreError(f"{self.path} leads to no login that this version can read") from None

    async def save(self, login: Login, *, limit: float = KEYRING_TIMEOUT_SECONDS) -> LoginPlace:
        """Replace the login, and return where the new one is. The caller holds the lock. Raises StoreError.

        A login that was in a file stays in a file: every process that could read it can read the new one.
        """
        place: LoginPlace = "file"
        if self._place != "file":
            try:
                await self._in_keyring(partial(self._file.write_keyring, login), limit)
                place = "keyring"
            except StoreError as error:
                log.debug("kept in a file: %s", error)
        await self._on_disk(partial(self._file.write, login if place == "file" else None), "written")
        self._place = place
        return place

    async def forget(self) -> bool:
        """Delete the login; return whether there was one. The caller holds the lock. Raises StoreError."""
        was_there = await self._on_disk(self._file.remove, "removed")
        if was_there:
            with suppress(StoreError):  # a keyring that holds no such login fails
                await self._in_keyring(self._file.remove_keyring, KEYRING_TIMEOUT_SECONDS)
        return was_there

    async def _on_disk(self, work: Callable[[], T], done: str) -> T:
        try:
            return await in_thread(work, DISK_TIMEOUT_SECONDS)
        except TimeoutError:
            raise StoreError(f"{self.path} cannot be {done}: the disk does not answer") from None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be {done}: {error.strerror or error}") from None

    async def _in_keyring(self, work: Callable[[], T], limit: float) -> T:
        try:
            return await in_thread(work, limit)
        except TimeoutError:
            what = f"the system's keyring did not answer within {limit:g} s: is it locked?"
        except msgspec.DecodeError:
            raise
        except Exception as error:  # noqa: BLE001 - every keyring has errors of its own
            what = f"the system's keyring failed: {str(error) or type(error).__name__}"
        raise StoreError(what)
