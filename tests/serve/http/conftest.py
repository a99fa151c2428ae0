"""A shared workbench for all tests of a module, with a conversing server of each protocol version behind
it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
import pytest_asyncio

from tests.grid.benches import ERAS, conversing_server
from tests.serve.admission.shared import sharing
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.serve.http.raw_clients import Legacy, Modern, RawHttpClient
from tests.support.configs import WHOLE, toolboxes
from tests.support.journal import Journal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.serve.admission.shared import Shared
    from tests.support.client import Json
    from tests.support.sessions import Era

V = TypeVar("V", bound=RawHttpClient)


class Flag:
    """A file that a server waits for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def up(self) -> None:
        self._path.touch()

    def beside(self, name: str) -> Flag:
        """Another flag, in the same directory."""
        return Flag(self._path.with_name(name))


class SharedWorkbench:
    """A workbench that serves over HTTP, the journals of its servers, and its clients."""

    def __init__(self, home: Path, stack: contextlib.AsyncExitStack) -> None:
        self.home = home
        self._stack = stack
        self.journals: dict[Era, Journal] = {era: Journal(home / f"{era}.journal") for era in ERAS}
        self._shared: Shared | None = None

    @property
    def shared(self) -> Shared:
        assert self._shared is not None, "the workbench is not open"
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
        return {**WHOLE, **toolboxes(dev=servers)}

    async def open(self, config: Json, *args: str, **options: Any) -> None:
        self._shared = await self._stack.enter_async_context(sharing(self.home, config, *args, **options))

    def with_clients_of(self, stack: contextlib.AsyncExitStack) -> SharedWorkbench:
        """This workbench again, with clients that end with another stack."""
        same = SharedWorkbench(self.home, stack)
        same._shared = self._shared
        return same

    async def _exchange(self, client: V) -> V:
        await self._stack.enter_async_context(client)
        return client

    async def legacy(self, token: str | None = None, **greeting: Any) -> Legacy:
        """A legacy client whose handshake is done."""
        client = await self._exchange(Legacy(self.url, token))
        await client.greet(**greeting)
        return client

    async def modern(self, token: str | None = None) -> Modern:
        return await self._exchange(Modern(self.url, token))

    async def new_client(self) -> RawHttpClient:
        """A client that has not sent anything yet."""
        return await self._exchange(RawHttpClient(self.url))


async def open_for_alice_and_bob(shared_workbench: SharedWorkbench) -> SharedWorkbench:
    """Opens a workbench for Alice and Bob, each with a token for all toolboxes."""
    tokens = write_tokens(shared_workbench.home, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    await shared_workbench.open(shared_workbench.config(), "--token-file", str(tokens))
    return shared_workbench


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_workbench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SharedWorkbench]:
    async with contextlib.AsyncExitStack() as stack:
        shared_workbench = SharedWorkbench(tmp_path_factory.mktemp("workbench"), stack)
        await shared_workbench.open(shared_workbench.config())
        yield shared_workbench


@pytest_asyncio.fixture(loop_scope="module")
async def shared_workbench(module_workbench: SharedWorkbench) -> AsyncIterator[SharedWorkbench]:
    """The workbench of the module, with clients of the test's own. No request may be in flight when it
    ends.
    """
    async with contextlib.AsyncExitStack() as stack:
        yield module_workbench.with_clients_of(stack)


@pytest_asyncio.fixture
async def build(tmp_path: Path) -> AsyncIterator[Callable[[], SharedWorkbench]]:
    """Makes workbenches of the test's own."""
    async with contextlib.AsyncExitStack() as stack:
        homes = iter(range(10))

        def build() -> SharedWorkbench:
            (home := tmp_path / f"workbench-{next(homes)}").mkdir()
            return SharedWorkbench(home, stack)

        yield build


@pytest.fixture
def flag(tmp_path: Path) -> Flag:
    return Flag(tmp_path / "flag")
