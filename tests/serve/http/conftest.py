"""A shared workbench for all tests of a module, with a conversing server of each era behind it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
import pytest_asyncio

from tests.grid.benches import ERAS, conversing_server
from tests.serve.admission.shared import sharing
from tests.serve.http.visitors import Legacy, Modern, Visitor
from tests.support.configs import toolboxes
from tests.support.journal import Journal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.sessions import Era

V = TypeVar("V", bound=Visitor)


class House:
    """A workbench that serves, what its servers wrote down, and whoever visits it."""

    def __init__(self, home: Path, stack: contextlib.AsyncExitStack) -> None:
        self.home = home
        self._stack = stack
        self.journals: dict[Era, Journal] = {era: Journal(home / f"{era}.journal") for era in ERAS}
        self.url = ""
        self.process: Any = None
        self.shared: Any = None

    def config(self, entry: Json | None = None) -> Json:
        servers: dict[str, Json] = {
            era: conversing_server(era, journal, entry) for era, journal in self.journals.items()
        }
        return toolboxes(dev=servers)

    async def open(self, config: Json, *args: str, **options: Any) -> None:
        self.shared = await self._stack.enter_async_context(sharing(self.home, config, *args, **options))
        self.url, self.process = self.shared.url, self.shared.process

    async def _visit(self, visitor: V) -> V:
        return await self._stack.enter_async_context(visitor)

    async def legacy(self, token: str | None = None, **greeting: Any) -> Legacy:
        """One that has greeted."""
        visitor = await self._visit(Legacy(self.url, token))
        await visitor.greet(**greeting)
        return visitor

    async def modern(self, token: str | None = None) -> Modern:
        return await self._visit(Modern(self.url, token))

    async def stranger(self) -> Visitor:
        """One that has not said anything yet."""
        return await self._visit(Visitor(self.url))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with contextlib.AsyncExitStack() as stack:
        house = House(tmp_path_factory.mktemp("house"), stack)
        await house.open(house.config())
        yield house


@pytest_asyncio.fixture(loop_scope="module")
async def house(standing_house: House) -> AsyncIterator[House]:
    """The module's, with visitors of the test's own. Nothing may be in flight when it ends."""
    async with contextlib.AsyncExitStack() as stack:
        visited = House(standing_house.home, stack)
        visited.url, visited.process, visited.shared = (
            standing_house.url,
            standing_house.process,
            standing_house.shared,
        )
        yield visited


@pytest_asyncio.fixture
async def build(tmp_path: Path) -> AsyncIterator[Callable[[], House]]:
    """Houses of the test's own."""
    async with contextlib.AsyncExitStack() as stack:
        homes = iter(range(10))

        def build() -> House:
            (home := tmp_path / f"house-{next(homes)}").mkdir()
            return House(home, stack)

        yield build


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """A file that a server waits for."""
    return tmp_path / "flag"
