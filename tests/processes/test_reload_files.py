"""How a configuration file may change: well or badly, all at once or piece by piece, or go away."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.processes.reloading import REFUSED, changing, versatile
from tests.support.client import write_config
from tests.support.configs import toolboxes
from tests.support.sessions import text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.processes.reloading import Changing
    from tests.support.client import Json

BEFORE = toolboxes(dev={"a": versatile()})
AFTER = toolboxes(dev={"a": versatile()}, ops={"b": versatile()})


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Changing]:
    async with changing(tmp_path, "modern", BEFORE) as it:
        yield it


async def serves_as_after(it: Changing) -> bool:
    return bool(json.loads(text_of(await it.session.open_toolbox("ops")))["tools"])


async def test_an_invalid_file_changes_nothing_and_is_reported_in_one_line(it: Changing) -> None:
    pid = await it.pid("dev", "a")
    flawed = {"toolboxes": {"dev": {"mcpServers": {"a": {"command": 5}}}, "ops": 7}}
    said = await it.refused_by(lambda: it.replace(json.dumps(flawed)))
    assert said.split("; ") == [
        "toolboxes.dev.description: is missing",
        "toolboxes.dev.mcpServers.a.command: should be a string that is not empty, not a number",
        "toolboxes.ops: should be an object, not a number",
    ]
    assert f"mcp-workbench: {it.path} {REFUSED}" in it.client.stderr
    assert await it.pid("dev", "a") == pid
    await it.change(AFTER)
    assert await serves_as_after(it)
    assert await it.pid("dev", "a") == pid


@pytest.mark.parametrize("content", ["", "{", '{"toolboxes": ', "\x00\xff", "[]"])
async def test_what_is_no_configuration_at_all_changes_nothing(it: Changing, content: str) -> None:
    pid = await it.pid("dev", "a")
    assert await it.refused_by(lambda: it.replace(content))
    assert await it.pid("dev", "a") == pid


async def test_a_deleted_file_changes_nothing_and_is_reported_once(it: Changing) -> None:
    pid = await it.pid("dev", "a")
    said = await it.refused_by(it.path.unlink)
    assert said == f"there is no such file: {it.path}"
    assert await it.pid("dev", "a") == pid
    await it.change(AFTER)
    assert await serves_as_after(it)
    assert await it.pid("dev", "a") == pid
    assert it.client.stderr.count(REFUSED) == 1


async def test_a_file_that_is_written_in_place_is_taken_over(it: Changing) -> None:
    await it.reloaded_by(lambda: it.path.write_text(json.dumps(AFTER), encoding="utf-8"))
    assert await serves_as_after(it)


async def test_a_file_that_is_only_touched_changes_nothing(it: Changing) -> None:
    pid = await it.pid("dev", "a")
    await it.reloaded_by(lambda: os.utime(it.path))
    assert await it.pid("dev", "a") == pid


async def test_a_swapped_link_is_followed(tmp_path: Path) -> None:
    """As a ConfigMap is mounted: the path leads through a link to a directory, which is replaced."""
    for name, config in (("1", BEFORE), ("2", AFTER)):
        (tmp_path / name).mkdir()
        write_config(tmp_path / name, config)
    (tmp_path / "data").symlink_to("1")
    path = tmp_path / "config.json"
    path.symlink_to("data/workbench-config.json")
    async with changing(tmp_path, "modern", BEFORE, path=path) as it:
        (tmp_path / "fresh").symlink_to("2")
        await it.reloaded_by(lambda: (tmp_path / "fresh").rename(tmp_path / "data"))
        assert await serves_as_after(it)


async def test_warnings_about_a_changed_file_are_given_as_at_the_start(it: Changing) -> None:
    await it.change({**AFTER, "colour": "red"})
    assert (
        f"warning: {it.path}:1: colour: the workbench does not know this key and ignores it"
        in it.client.stderr
    )


@pytest.mark.parametrize("entry", [{"envFile": "late.env"}, {"env": {"KEY": "${file:late.env}"}}])
async def test_a_refused_file_is_used_when_the_other_file_that_it_needs_is_there(
    it: Changing, tmp_path: Path, entry: Json
) -> None:
    needy = toolboxes(dev={"a": versatile()}, ops={"b": versatile(entry=entry)})
    assert "there is no such file" in await it.refused_by(lambda: it.replace(json.dumps(needy)))
    await it.reloaded_by(lambda: (tmp_path / "late.env").write_text("KEY=value\n", encoding="utf-8"))
    assert await serves_as_after(it)
