"""The home of a person with MCP clients, whose secrets are kept in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.setup.importing.homes import Home
from tests.support.keyrings import use_no_keyring

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    use_no_keyring(monkeypatch)
    return Home(tmp_path)
