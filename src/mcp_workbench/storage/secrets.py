"""The secrets that a configuration refers to by name: in the system's keyring, or in an owner-only file.

Owns the file `secrets.json` in the data directory. It says for each secret where the value is kept, and holds
the values that no keyring keeps. A keyring may wait for a person for as long as it takes, so that each call
of it runs in a daemon thread and is given up after a while.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.errors import StoreError
from mcp_workbench.storage import keychain
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.private_files import POLL_SECONDS, PrivateDirectory, try_lock
from mcp_workbench.storage.secret_lookup import FILE_NAME, KEYRING_TIMEOUT_SECONDS, secrets_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeVar

    T = TypeVar("T")

SecretPlace = Literal["keyring", "file"]
"""The place where the value of a secret is kept."""

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Size above which the file is not read."""
MAX_VALUE_BYTES: Final = 64 * 1024
"""Size of the longest value that is stored."""
LOCK_TIMEOUT_SECONDS: Final = 60.0
"""Time to wait for another process that changes secrets: more than its keyring can take."""


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    kept: SecretPlace
    value: str | None = None
    """The value itself, if it is kept in the file."""


class _File(msgspec.Struct):
    format: Literal[1]
    secrets: dict[str, _Kept]


_decode = msgspec.json.Decoder(_File).decode


class SecretStore:
    """The secrets of the current user. Every method blocks, for a limited time, and can raise StoreError."""

    def __init__(self, environ: Mapping[str, str], *, limit: float = KEYRING_TIMEOUT_SECONDS) -> None:
        """Take the environment that says where the data directory is.

        `limit` is the time in seconds that the keyring has for an answer.
        """
        self._directory = PrivateDirectory(data_directory(environ))
        self._limit = limit
        self.path = secrets_path(environ)
        """Path of the file that says where the secrets are, and holds those that no keyring keeps."""
        self.keyring_error = ""
        """Why a value that was put was not kept in the keyring, the last one of them; empty if all were."""
        self._silence = ""
        """What is said about a keyring that did not answer: it is not waited for with every value."""

    def places(self) -> dict[str, SecretPlace]:
        """Return the names of all secrets, each with the place where its value is kept."""
        return {name: entry.kept for name, entry in self._read().items()}

    def get(self, name: str) -> str | None:
        """Return the value of a secret; None if there is none of that name."""
        entry = self._read().get(name)
        if entry is None or entry.kept == "file":
            return None if entry is None else entry.value
        return self._in_keyring(lambda: keychain.get(_key(name)))

    def put(self, name: str, value: str, *, may_replace: bool = True) -> SecretPlace:
        """Store a secret, or replace it, and return where it is kept: in the keyring if there is one.

        Without `may_replace`, another value under the name is an error.
        """
        from mcp_workbench.config.source.references import is_secret_name  # noqa: PLC0415 - not for a lookup

        if not is_secret_name(name):
            raise StoreError("a name is made of letters, digits and . _ - and begins with a letter or _")
        if len(value.encode(errors="surrogatepass")) > MAX_VALUE_BYTES:
            raise StoreError(f"the value is longer than {MAX_VALUE_BYTES:,} bytes")
        with self._locked():
            entries = self._read()
            if not may_replace and name in entries and self.get(name) not in (None, value):
                what = f"another secret {name} was stored meanwhile. Nothing was written"
                raise StoreError(f"{what}. Run the command again.")
            entry = self._kept(name, value)
            try:
                self._write({**entries, name: entry})
            except StoreError:
                if entry.kept == "keyring" and name not in entries:
                    with suppress(StoreError):  # the first error says more
                        self._in_keyring(lambda: _forget(_key(name)))
                raise
        return entry.kept

    def _kept(self, name: str, value: str) -> _Kept:
        """Try to put a value into the keyring, and return how it is kept."""
        error = self._silence
        if not error:
            try:
                self._in_keyring(lambda: keychain.put(_key(name), value))
                return _Kept("keyring")
            except StoreError as failure:
                error = str(failure)
        # A keyring may quote what it cannot store.
        self.keyring_error = error.replace(value, "<secret>") if value else error
        return _Kept("file", value)

    def remove(self, name: str) -> bool:
        """Delete a secret from the keyring and from the file, and return whether there was one."""
        with self._locked():
            entries = self._read()
            entry = entries.pop(name, None)
            if entry is None:
                return False
            try:
                self._in_keyring(lambda: _forget(_key(name)))
            except StoreError:
                # A keyring that failed when the value was stored may have it nevertheless.
                if entry.kept == "keyring":
                    raise
            self._write(entries)
        return True

    def _read(self) -> dict[str, _Kept]:
        try:
            found = self._directory.read(FILE_NAME, max_bytes=MAX_FILE_BYTES, is_secret=True)
            return {} if found is None else _decode(found[0]).secrets
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            what = f"{self.path} is damaged, or of a later version"
            raise StoreError(f"{what}: move it away, and set the secrets again") from None

    def _write(self, entries: dict[str, _Kept]) -> None:
        try:
            self._directory.remove_drafts(of=FILE_NAME)
            self._directory.replace(FILE_NAME, [msgspec.json.encode(_File(1, entries))], durable=True)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror or error}") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock without which no process changes the secrets."""
        lock = f"{FILE_NAME}.lock"
        try:
            descriptor = self._directory.open_lock(lock)
        except OSError as error:
            raise StoreError(f"{self.path}.lock cannot be written: {error.strerror or error}") from None
        try:
            latest = time.monotonic() + LOCK_TIMEOUT_SECONDS
            # Windows has no such locks: there the last of two processes wins.
            while sys.platform != "win32" and not try_lock(descriptor):
                if time.monotonic() > latest:
                    held = f"another process has held {self.path}.lock for {LOCK_TIMEOUT_SECONDS:g} s"
                    raise StoreError(held)
                time.sleep(POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def _in_keyring(self, work: Callable[[], T]) -> T:
        try:
            return _within(work, self._limit)
        except TimeoutError:
            what = self._silence = (
                f"the system's keyring did not answer within {self._limit:g} s: is it locked?"
            )
        except keychain.NoKeychain as error:
            what = str(error)
        except Exception as error:  # noqa: BLE001 - every keyring has errors of its own
            what = f"the system's keyring failed: {str(error) or type(error).__name__}"
        raise StoreError(what)


def _key(name: str) -> str:
    return f"secret {name}"


def _forget(key: str) -> None:
    """Delete a value from the keyring, if there is a keyring and the value is in it."""
    with suppress(keychain.NoKeychain):
        if keychain.get(key) is not None:
            keychain.forget(key)


def _within(work: Callable[[], T], seconds: float) -> T:
    """Run the work in a daemon thread, and return its result. Raises TimeoutError after `seconds`."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]
