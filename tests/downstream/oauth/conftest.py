"""A server with its authorization server, and the logins to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.downstream.oauth.logins import Site
from tests.support.keyrings import use_no_keyring

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.authorizing import Authority


@pytest.fixture(autouse=True)
def _no_keyring_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_keyring(monkeypatch)


@pytest.fixture
async def server(authority: Authority) -> Authority:
    await authority.reset()
    return authority


@pytest.fixture
def site(tmp_path: Path, server: Authority) -> Site:
    return Site(tmp_path, server)
