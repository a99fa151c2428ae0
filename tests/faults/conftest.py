"""The fixture of trials that are not in a table. All of them look into /proc, so they are for Linux alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """A trial that nobody may complain of."""
    trial = Trial(tmp_path)
    yield trial
    assert trial.complaints == []
