"""The desk at which a person sets up the workbench."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.setup.clients.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)
