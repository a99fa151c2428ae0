"""The system's keyring, if there is a usable one.

Every function here may wait for a person (a locked keyring asks for its password) or for a bus that never
responds: call them in a thread, with a timeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "mcp-workbench"


class NoKeychain(Exception):
    """The system has no keyring, or none that is safer than a file."""


def get(key: str) -> str | None:
    """Return the text that is stored under the key, if any. Raises NoKeychain and the keyring's errors."""
    return _backend().get_password(SERVICE, key)


def put(key: str, text: str) -> None:
    """Store a text under the key. Raises NoKeychain and the keyring's own errors."""
    backend = _backend()
    backend.set_password(SERVICE, key, text)
    if backend.get_password(SERVICE, key) != text:
        raise NoKeychain("the keyring did not keep what it was given")


def forget(key: str) -> None:
    """Delete the text under the key. Raises NoKeychain and the keyring's own errors."""
    _backend().delete_password(SERVICE, key)


def _backend() -> KeyringBackend:
    import keyring.core  # noqa: PLC0415 - it looks for its backends in all that is installed

    backend = keyring.core.get_keyring()
    # Backends that fail, store nothing, or write plain text are not recommended ones.
    if not keyring.core.recommended(backend):
        raise NoKeychain("there is no usable keyring on this system")
    return backend
