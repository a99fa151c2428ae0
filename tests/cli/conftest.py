"""The bench that commands are run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.commands import Bench

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
