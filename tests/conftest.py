"""Fixtures of the black-box tests: the workbench as a child process, in both eras."""

from __future__ import annotations

import contextlib
import gc
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import settings

from mcp_workbench.serve.logs.log_times import local_parts
from tests.support.authorizing import running_authority
from tests.support.client import Json, RawClient, clean_environment, serve_command, write_config
from tests.support.journal import Journal
from tests.support.sessions import Era, Session, session_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from tests.support.authorizing import Authority


# A machine may be busy for a while, and what one run has found must not decide the next.
settings.register_profile("workbench", deadline=None, database=None, print_blob=True)
settings.load_profile("workbench")


class Start(Protocol):
    """Starts the workbench on a configuration; the test's end closes it."""

    async def __call__(self, config: Json, *args: str, env: Mapping[str, str] | None = None) -> RawClient: ...


class Connect(Protocol):
    """The same, with a session of the client's era open on it."""

    async def __call__(self, config: Json, *args: str, env: Mapping[str, str] | None = None) -> Session: ...


def pytest_configure() -> None:
    """Take interrupts, even if the shell has started the tests in the background, where it ignores them.

    Child processes would inherit that, and could not be interrupted by tests either.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the tests themselves out of garbage collections: with thousands, each one takes half a second."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _home_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what runs in this process away from the home and the settings of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        # Its settings may be what allows git to read this clone.
        patch.setenv("GIT_CONFIG_GLOBAL", str(Path.home() / ".gitconfig"))
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("WORKBENCH_CONFIG", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def local_time_zone() -> Iterator[Callable[[str], None]]:
    """Sets the time zone of this process, as POSIX writes it, until the test ends."""
    with pytest.MonkeyPatch.context() as patch:

        def set_zone(zone: str) -> None:
            patch.setenv("TZ", zone)
            time.tzset()
            local_parts.cache_clear()

        yield set_zone
    time.tzset()
    local_parts.cache_clear()


@pytest.fixture(params=["legacy", "modern"])
def client_era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era


@pytest.fixture(params=["legacy", "modern"])
def server_era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era


@pytest.fixture(scope="session")
def authority() -> Iterator[Authority]:
    """A remote server with its authorization servers, for tests that reset it before they begin."""
    with running_authority() as running:
        yield running


@pytest.fixture
def make_journal(tmp_path: Path) -> Callable[[str], Journal]:
    return lambda name: Journal(tmp_path / f"{name}.journal")


@pytest.fixture
def journal(make_journal: Callable[[str], Journal]) -> Journal:
    return make_journal("server")


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    async with contextlib.AsyncExitStack() as stack:

        async def start(config: Json, *args: str, env: Mapping[str, str] | None = None) -> RawClient:
            command = serve_command(write_config(tmp_path, config), *args)
            return await stack.enter_async_context(RawClient(command, clean_environment(tmp_path, env)))

        yield start


@pytest.fixture
def connect(start: Start, client_era: Era) -> Connect:
    """A client of either era: the test runs once with each."""
    return _connecting(start, client_era)


@pytest.fixture
def connect_modern(start: Start) -> Connect:
    """A modern client alone, for what does not depend on the client."""
    return _connecting(start, "modern")


def _connecting(start: Start, era: Era) -> Connect:
    async def connect(config: Json, *args: str, env: Mapping[str, str] | None = None) -> Session:
        session = session_of(era, await start(config, *args, env=env))
        await session.greet()
        return session

    return connect
