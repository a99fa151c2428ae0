"""The login to one server, in the system's keyring or in a file that only the current user can read.

Owns the format of a login on disk. Each server has one small file. The file changes with every new login, so
that all processes notice; if the login is in the keyring, the file only says so. A server is identified by
toolbox, name and address: a token is never sent to another one.

Everything but the lock blocks, and a keyring may block for as long as a person takes to unlock it.
`downstream.oauth.login_store` calls it in threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.config import stamp_of
from mcp_workbench.storage import keychain
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.login_record import Login
from mcp_workbench.storage.private_files import PrivateDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from mcp_workbench.config import Stamp

LoginPlace = Literal["keyring", "file"]
"""The place where a login is stored."""


class LoginEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a login file."""

    server: str
    url: str
    kept: LoginPlace
    login: Login | None = None
    """The login itself, if it is kept in the file and not in the keyring."""


class LoginFile:
    """The file of one server's login, and its entry in the keyring."""

    def __init__(self, environ: Mapping[str, str], origin: tuple[str, str], url: str) -> None:
        import hashlib  # noqa: PLC0415 - it loads OpenSSL

        self._server = "/".join(origin)
        self._url = url
        identity = hashlib.sha256(msgspec.json.encode([*origin, url])).hexdigest()[:32]
        self._key = f"{self._server} {identity}"
        self._directory = PrivateDirectory(data_directory(environ), "logins")
        self._name = f"{identity}.json"
        self.path = os.path.join(self._directory.path, self._name)
        """Path of the file with the login."""

    def stamp(self) -> Stamp | None:
        """Return a value that differs after every change of the login; None if there is no login."""
        try:
            return stamp_of(os.lstat(self.path))
        except OSError:
            return None

    def locked(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Hold the lock that excludes other processes and tasks. Raises TimeoutError or OSError."""
        return self._directory.locked(f"{self._name}.lock", seconds)

    def read(self) -> LoginEntry | None:
        """Return the content of the file; None if there is no file. Raises OSError or msgspec.DecodeError."""
        found = self._directory.read(self._name, is_secret=True)
        return None if found is None else msgspec.json.decode(found[0], type=LoginEntry)

    def write(self, login: Login | None) -> None:
        """Replace the file, with the login, or with a note that it is in the keyring. Raises OSError.

        The caller holds the lock, so no other process has a draft of the file.
        """
        kept: LoginPlace = "keyring" if login is None else "file"
        entry = LoginEntry(server=self._server, url=self._url, kept=kept, login=login)
        self._directory.remove_drafts(of=self._name)
        self._directory.replace(self._name, [msgspec.json.encode(entry)], durable=True)

    def remove(self) -> bool:
        """Delete the file, and return whether there was one. Raises OSError."""
        return self._directory.remove(self._name)

    def read_keyring(self) -> Login | None:
        """Return the login in the keyring, if any. Raises msgspec.DecodeError and the keyring's errors."""
        text = keychain.get(self._key)
        return None if text is None else msgspec.json.decode(text, type=Login)

    def write_keyring(self, login: Login) -> None:
        """Put a login into the keyring. Raises the keyring's errors."""
        keychain.put(self._key, msgspec.json.encode(login).decode())

    def remove_keyring(self) -> None:
        """Delete the login from the keyring. Raises the keyring's errors."""
        keychain.forget(self._key)
