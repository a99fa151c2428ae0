"""Fixtures for the tests of serving and of the log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve.logs.log_times import _parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def local_time_zone() -> Iterator[Callable[[str], None]]:
    """Sets the time zone of this process, as POSIX writes it, until the test ends."""
    with pytest.MonkeyPatch.context() as patch:

        def set_zone(zone: str) -> None:
            patch.setenv("TZ", zone)
            time.tzset()
            _parts.cache_clear()

        yield set_zone
    time.tzset()
    _parts.cache_clear()
