"""The desk at which a person sets up the workbench."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.setup.clients.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _wait_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only matters when the power fails: on a busy disk it takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)
