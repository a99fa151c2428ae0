"""The keyring of the system, where there is one of use.

Every function here may wait for a person (a locked keyring asks for its password) or for a bus that never
answers: call them in a thread, and with a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "mcp-workbench"


class NoKeychain(Exception):
    """There is none, or none that is better than a file."""


def get(key: str) -> str | None:
    """What is kept under the key. Raises NoKeychain, or whatever the keyring does."""
    return _backend().get_password(SERVICE, key)


def put(key: str, text: str) -> None:
    """Keeps it. Raises NoKeychain, or whatever the keyring does."""
    backend = _backend()
    backend.set_password(SERVICE, key, text)
    if backend.get_password(SERVICE, key) != text:
        raise NoKeychain("the keyring did not keep what it was given")


def forget(key: str) -> None:
    """Drops what is kept. Raises NoKeychain, or whatever the keyring does."""
    _backend().delete_password(SERVICE, key)


def _backend() -> KeyringBackend:
    import keyring.core  # noqa: PLC0415 - it looks for its backends in all that is installed

    backend = keyring.core.get_keyring()
    # Those that fail, keep nothing, or write plain text have less than what is recommended.
    if not keyring.core.recommended(backend):
        raise NoKeychain("there is no keyring of use on this system")
    return backend
