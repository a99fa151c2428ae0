"""A directory for caches that a workbench in the test's own process may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.client import clean_environment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return clean_environment(tmp_path)
