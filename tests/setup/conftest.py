"""Setting up is tested without waiting for the disk."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _wait_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only matters when the power fails: on a busy disk it takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
