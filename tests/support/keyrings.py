"""Keeps tests away from the keyring of the machine that they run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def use_no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has logins kept in files, by this process and by those that it starts."""
    from keyring.backends import null

    monkeypatch.setattr("keyring.core._keyring_backend", null.Keyring())  # type: ignore[no-untyped-call] # keyring's
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
