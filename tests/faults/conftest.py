"""The fixtures of trials, in a table or not. All of them look into /proc, so they are for Linux alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial, conduct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]


@pytest.fixture(scope="module")
def verdicts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """What there is to complain of each fault in the table of a module, after meeting them all."""
    return conduct(request, tmp_path_factory, request.module.meet)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """A trial that nobody may complain of."""
    trial = Trial(tmp_path)
    yield trial
    assert trial.complaints == []
