"""What a server lists is in the catalogue soon after, and no caller waits for that."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.downstream import recorder
from mcp_workbench.errors import StartError
from mcp_workbench.storage.catalogue import Catalogue
from tests.downstream.servers import call_tool, server
from tests.support.configs import acting, tool
from tests.support.configs import server as scripted
from tests.support.waiting import PATIENCE, poll
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = ON_BOTH_LOOPS

A, B = tool("a"), tool("b")
ERAS = {"legacy": "legacy", "modern": "2026-07-28"}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write records without delay."""
    monkeypatch.setattr(recorder, "DELAY_SECONDS", 0.0)


def in_memory(directory: Path) -> list[Json]:
    """The records, as a person would read them, without the drafts of those that are being written."""
    files = (directory / "cache" / "catalogue").glob("*.json")
    return [json.loads(file.read_bytes()) for file in files]


def names(directory: Path) -> list[str]:
    return [tool["name"] for record in in_memory(directory) for tool in record["tools"]]


async def test_what_a_server_lists_is_there_once_it_has_ended(tmp_path: Path, server_era: Era) -> None:
    entry = scripted(era=server_era, tools=[A, B], entry={"tool_filters": ["a"]})
    before = time.time()
    async with server(entry, tmp_path) as it:
        assert it.recalled() is None
        listed = (await it.connect(modern=True)).listed
    record = it.recalled()
    assert record is not None
    assert (record.tools, record.protocol) == (listed, ERAS[server_era])
    assert json.loads(bytes(record.server_info)) == {"name": "scripted", "version": "1.0"}
    assert before <= record.listed_at <= time.time()
    (kept,) = in_memory(tmp_path)
    assert kept["tools"] == [json.loads(A), json.loads(B)]


@pytest.mark.usefixtures("at_once")
async def test_it_is_there_soon_while_the_server_runs(tmp_path: Path) -> None:
    async with server(scripted(tools=[A]), tmp_path) as it:
        listed = (await it.connect(modern=True)).listed
        await poll(it.recalled)
        record = it.recalled()
        assert record is not None
        assert record.tools == listed


async def test_another_process_finds_it_by_the_same_configuration(tmp_path: Path) -> None:
    entry = scripted(tools=[A])
    async with server(entry, tmp_path) as it:
        await it.connect(modern=True)
    async with server(entry | {"timeout": 5, "disabled": True}, tmp_path) as same:
        assert same.recalled() == it.recalled()
        assert same.recalled() is same.recalled()
    async with server(scripted(tools=[B]), tmp_path) as other:
        assert other.recalled() is None


@pytest.mark.usefixtures("at_once")
async def test_a_changed_list_takes_the_place_of_the_last(tmp_path: Path, server_era: Era) -> None:
    changing = acting("change", "change_tools", era=server_era, tools=[A, B])
    async with server(changing, tmp_path) as it:
        await it.connect(modern=True)
        assert it.up
        await call_tool(it.up[0].session, "change", PATIENCE).result
        await poll(lambda: names(tmp_path) == ["a", "b"])


async def test_a_change_just_before_the_end_is_kept_too(tmp_path: Path) -> None:
    changing = acting("change", "change_tools", era="legacy", tools=[A, B])
    async with server(changing, tmp_path) as it:
        await it.connect(modern=True)
        assert it.up
        await call_tool(it.up[0].session, "change", PATIENCE).result
        await poll(lambda: it.up and len(it.up[0].listed) == 2)
        await it.connect(modern=True)
    assert names(tmp_path) == ["a", "b"]


async def test_a_server_that_fails_leaves_the_record_of_when_it_did_not(tmp_path: Path) -> None:
    condition = tmp_path / "there"
    entry = scripted(tools=[A], exit_unless=str(condition))
    async with server(entry, tmp_path) as it:
        with pytest.raises(StartError):
            await it.connect(modern=True)
    assert in_memory(tmp_path) == []
    condition.touch()
    async with server(entry, tmp_path) as it:
        await it.connect(modern=True)
    condition.unlink()
    async with server(entry, tmp_path) as it:
        with pytest.raises(StartError):
            await it.connect(modern=True)
    assert names(tmp_path) == ["a"]


async def test_a_server_without_tools_has_a_record_without_tools(tmp_path: Path) -> None:
    nothing: dict[str, object] = {"capabilities": {}}
    entry = scripted(toolless=True, greeting=nothing, discovery=nothing)
    async with server(entry, tmp_path) as it:
        await it.connect(modern=True)
    (record,) = in_memory(tmp_path)
    assert record["tools"] == []


async def test_a_server_may_say_anything_about_itself(tmp_path: Path) -> None:
    for greeting in ({"serverInfo": None}, {"serverInfo": {"name": "x" * 20_000}}):
        async with server(scripted(tools=[A], greeting=greeting), tmp_path) as it:
            await it.connect(modern=True)
        record = it.recalled()
        assert record is not None
        assert bytes(record.server_info) in (b"null", b"")


async def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    telling = tool("tell", description='Uses "hunter2-and-more" at https://x.example')
    greeting = {"serverInfo": {"name": "hunter2-and-more"}}
    entry = scripted(tools=[telling, B], greeting=greeting)
    async with server(entry, tmp_path, {"hunter2-and-more": "<env TOKEN>"}) as it:
        await it.connect(modern=True)
    (record,) = in_memory(tmp_path)
    assert "hunter2" not in json.dumps(record)
    assert record["tools"][0]["description"] == 'Uses "<env TOKEN>" at https://x.example'
    assert record["server_info"] == {"name": "<env TOKEN>"}


async def test_an_unwritable_cache_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file", "ascii")
    async with server(scripted(tools=[A]), tmp_path) as it:
        assert len((await it.connect(modern=True)).listed) == 1
    assert it.recalled() is None


async def test_a_disk_that_hangs_delays_neither_the_tools_nor_the_end_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, may_go_on = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> None:
        hangs.set()
        may_go_on.wait(PATIENCE)

    monkeypatch.setattr(os, "replace", hang)
    monkeypatch.setattr(recorder, "WRITE_TIMEOUT_SECONDS", 0.05)
    entry = scripted(tools=[A], entry={"protocol": "legacy"})
    try:
        async with asyncio.timeout(PATIENCE / 2), server(entry, tmp_path) as it:
            assert len((await it.connect(modern=True)).listed) == 1
        assert hangs.is_set()
    finally:
        may_go_on.set()


async def test_a_list_that_changes_all_the_time_is_not_written_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    monkeypatch.setattr(Catalogue, "keep", lambda _, __, record: written.append(len(record.tools)))
    monkeypatch.setattr(recorder, "DELAY_SECONDS", PATIENCE)
    changing = acting("change", "change_tools", era="legacy", tools=[A, B])
    async with server(changing, tmp_path) as it:
        await it.connect(modern=True)
        assert it.up
        for _ in range(5):
            await call_tool(it.up[0].session, "change", PATIENCE).result
            await it.connect(modern=True)
        assert written == []
    assert written == [2]
