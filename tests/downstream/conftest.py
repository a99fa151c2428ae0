"""Offers the loops of `tests.wire.loops`; each module says by a mark which of them its tests run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.downstream import recorder
from tests.support.waiting import PATIENCE
from tests.wire.loops import FACTORIES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return FACTORIES


@pytest.fixture(autouse=True)
def records_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a server waits for its record, however long a busy disk takes to write it."""
    monkeypatch.setattr(recorder, "WRITE_TIMEOUT_SECONDS", PATIENCE)
