"""Logins are kept in files by these tests."""

from __future__ import annotations

import pytest

from tests.support.keyrings import use_no_keyring


@pytest.fixture(autouse=True)
def _no_keyring_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_keyring(monkeypatch)
