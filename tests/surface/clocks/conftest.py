"""Offers the loops of `tests.wire.loops`; each module says by a mark which of them its tests run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.wire.loops import FACTORIES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return FACTORIES
