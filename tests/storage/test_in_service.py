"""A workbench whose cache cannot be used safely serves all the same, and says so once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.storage.stores import ROOT, make_victim, snapshot
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import server, toolboxes
from tests.support.sessions import ModernSession
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about links")


async def test_a_cache_that_is_a_link_is_left_alone_and_the_tools_work(tmp_path: Path) -> None:
    victim = make_victim(tmp_path / "victim")
    before = snapshot(victim)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / ROOT).symlink_to(victim)
    config = write_config(tmp_path, toolboxes(dev={"one": server(), "two": server()}))
    async with RawClient(serve_command(config), clean_environment(tmp_path)) as client:
        session = ModernSession(client)
        for name in ("one", "two"):
            await session.use_tool("dev", name, "echo", {"a": 1})
        await poll(lambda: "symbolic link" in client.stderr)
        await client.close()
    assert client.stderr.count("is a symbolic link, which is not followed here") == 1
    assert snapshot(victim) == before


async def test_a_workbench_without_a_umask_makes_private_directories(tmp_path: Path) -> None:
    config = write_config(tmp_path, toolboxes(dev={"one": server()}))
    command = ["/bin/sh", "-c", 'umask 000; exec "$@"', "sh", *serve_command(config)]
    async with RawClient(command, clean_environment(tmp_path)) as client:
        await ModernSession(client).use_tool("dev", "one", "echo", {"a": 1})
        await client.close()
    made = {
        path: path.stat().st_mode & 0o777 for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]
    }
    assert len(made) > 3
    assert {mode & 0o077 for mode in made.values()} == {0}
