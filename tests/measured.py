"""Saves what coverage has measured when the tests end: `make coverage` uses it.

The exit of a worker of pytest-xdist, where coverage would save it otherwise, is cut off after ten seconds.
"""

from __future__ import annotations

import coverage
import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Saves it in each worker, and in the process that started them."""
    if (measuring := coverage.Coverage.current()) is not None:
        measuring.save()
