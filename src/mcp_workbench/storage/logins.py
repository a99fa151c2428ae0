"""The login to one server, in the system's keyring or in a file that its owner alone can read.

Owns where a login is kept, and that processes neither mix nor lose what they write. Each server has one
small file, whose change tells everybody of a new login; where there is a keyring, the file only says so. A
server is known by toolbox, name and address: a token never goes to another one.
"""

from __future__ import annotations

import logging
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.config import stamp_of
from mcp_workbench.storage import keychain
from mcp_workbench.storage.login_record import Login, data_directory
from mcp_workbench.storage.private_files import PrivateDirectory
from mcp_workbench.wire.message import encode
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from typing import TypeVar

    from mcp_workbench.config import Stamp

    T = TypeVar("T")

Place = Literal["keyring", "file"]

FILE_LIMIT = 10.0
"""Seconds for a disk, which may be on the network."""
KEYCHAIN_LIMIT = 10.0
"""Seconds for a keyring, when nobody sits in front of it."""
LOCK_LIMIT = 60.0
"""Seconds for others to finish with the login: more than a renewal can take."""

log = logging.getLogger(__name__)


class StoreError(Exception):
    """What is kept cannot be had, or nothing can be kept; the message says why."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the file holds."""

    server: str
    url: str
    kept: Place
    login: Login | None = None
    """Only if it is kept in the file itself."""


class LoginStore:
    """Where the login to one server is."""

    def __init__(self, environ: Mapping[str, str], origin: tuple[str, str], url: str) -> None:
        import hashlib  # noqa: PLC0415 - it loads OpenSSL

        self._server = "/".join(origin)
        self._url = url
        identity = hashlib.sha256(encode([*origin, url])).hexdigest()[:32]
        self._key = f"{self._server} {identity}"
        self._directory = PrivateDirectory(data_directory(environ), "logins")
        self._name = f"{identity}.json"
        self.path = os.path.join(self._directory.path, self._name)
        """The file."""
        self._place: Place | None = None

    def stamp(self) -> Stamp | None:
        """Differs after every change; None if there is no login."""
        try:
            return stamp_of(os.lstat(self.path))
        except OSError:
            return None

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """While this is held, nobody else changes the login. Raises StoreError."""
        try:
            lock = self._directory.locked(f"{self._name}.lock", LOCK_LIMIT)
            await lock.__aenter__()
        except TimeoutError:
            raise StoreError(f"another process has held {self.path}.lock for {LOCK_LIMIT:g} s") from None
        except OSError as error:
            raise StoreError(f"{self.path}.lock cannot be written: {error.strerror}") from None
        try:
            yield
        finally:
            await lock.__aexit__(None, None, None)

    async def load(self) -> Login | None:
        """The login, if there is one. Raises StoreError."""
        found = await self._on_disk(lambda: self._directory.read(self._name, is_secret=True), "read")
        if found is None:
            return None
        try:
            entry = msgspec.json.decode(found[0], type=_Entry)
            self._place = entry.kept
            if entry.kept == "file":
                return entry.login
            text = await self._ask_keychain(lambda: keychain.get(self._key), KEYCHAIN_LIMIT)
            return None if text is None else msgspec.json.decode(text, type=Login)
        except msgspec.DecodeError:
            raise StoreError(f"what {self.path} leads to is no login of this version") from None

    async def save(self, login: Login, *, limit: float = KEYCHAIN_LIMIT) -> Place:
        """Keeps a login in place of the one before, and says where. Under the lock. Raises StoreError.

        It stays where the one before was: whoever read that can read this.
        """
        text = encode(login)
        entry = _Entry(server=self._server, url=self._url, kept="file", login=login)
        if self._place != "file":
            try:
                await self._ask_keychain(lambda: keychain.put(self._key, text.decode()), limit)
                entry = _Entry(server=self._server, url=self._url, kept="keyring")
            except StoreError as error:
                log.debug("kept in a file: %s", error)
        await self._on_disk(lambda: self._replace(encode(entry)), "written")
        self._place = entry.kept
        return entry.kept

    async def forget(self) -> bool:
        """Drops the login, and says whether there was one. Under the lock. Raises StoreError."""
        was_there = await self._on_disk(lambda: self._directory.remove(self._name), "removed")
        if was_there:
            with suppress(StoreError):  # which has nothing to drop, if it was never asked to keep anything
                await self._ask_keychain(lambda: keychain.forget(self._key), KEYCHAIN_LIMIT)
        return was_there

    def _replace(self, data: bytes) -> None:
        """Write the file. Nobody else has a draft of it, because the lock is held."""
        self._directory.remove_drafts(of=self._name)
        self._directory.replace(self._name, [data], durable=True)

    async def _on_disk(self, work: Callable[[], T], done: str) -> T:
        try:
            return await in_thread(work, FILE_LIMIT)
        except TimeoutError:
            raise StoreError(f"{self.path} cannot be {done}: the disk does not answer") from None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be {done}: {error.strerror or error}") from None

    async def _ask_keychain(self, work: Callable[[], T], limit: float) -> T:
        try:
            return await in_thread(work, limit)
        except TimeoutError:
            what = f"the system's keyring did not answer within {limit:g} s: is it locked?"
        except Exception as error:  # noqa: BLE001 - every keyring has errors of its own
            what = f"the system's keyring failed: {str(error) or type(error).__name__}"
        raise StoreError(what)
