"""A shared workbench for all tests of a module, with a conversing server of each era behind it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
import pytest_asyncio

from tests.grid.benches import ERAS, conversing_server
from tests.serve.admission.shared import sharing
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.serve.http.visitors import Legacy, Modern, Visitor
from tests.support.configs import toolboxes
from tests.support.journal import Journal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.serve.admission.shared import Shared
    from tests.support.client import Json
    from tests.support.sessions import Era

V = TypeVar("V", bound=Visitor)


class Flag:
    """A file that a server waits for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def up(self) -> None:
        self._path.touch()

    def beside(self, name: str) -> Flag:
        """Another one."""
        return Flag(self._path.with_name(name))


class House:
    """A workbench that serves, what its servers wrote down, and whoever visits it."""

    def __init__(self, home: Path, stack: contextlib.AsyncExitStack) -> None:
        self.home = home
        self._stack = stack
        self.journals: dict[Era, Journal] = {era: Journal(home / f"{era}.journal") for era in ERAS}
        self._shared: Shared | None = None

    @property
    def shared(self) -> Shared:
        assert self._shared is not None, "the house is not open"
        return self._shared

    @property
    def url(self) -> str:
        return self.shared.url

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.shared.process

    def config(self, entry: Json | None = None) -> Json:
        servers: dict[str, Json] = {
            era: conversing_server(era, journal, entry) for era, journal in self.journals.items()
        }
        return toolboxes(dev=servers)

    async def open(self, config: Json, *args: str, **options: Any) -> None:
        self._shared = await self._stack.enter_async_context(sharing(self.home, config, *args, **options))

    def with_visitors_of(self, stack: contextlib.AsyncExitStack) -> House:
        """The same, for others, who leave earlier."""
        same = House(self.home, stack)
        same._shared = self._shared
        return same

    async def _exchange(self, visitor: V) -> V:
        await self._stack.enter_async_context(visitor)
        return visitor

    async def legacy(self, token: str | None = None, **greeting: Any) -> Legacy:
        """One that has greeted."""
        visitor = await self._exchange(Legacy(self.url, token))
        await visitor.greet(**greeting)
        return visitor

    async def modern(self, token: str | None = None) -> Modern:
        return await self._exchange(Modern(self.url, token))

    async def stranger(self) -> Visitor:
        """One that has not said anything yet."""
        return await self._exchange(Visitor(self.url))


async def open_to_two(house: House) -> House:
    """Opens a house whose visitors are Alice and Bob, each with a token for everything."""
    tokens = write_tokens(house.home, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    await house.open(house.config(), "--token-file", str(tokens))
    return house


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
        yield standing_house.with_visitors_of(stack)


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
def flag(tmp_path: Path) -> Flag:
    return Flag(tmp_path / "flag")
