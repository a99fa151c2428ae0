"""A changed file is loaded in a thread, one load at a time, and the newest outcome counts."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from mcp_workbench.serve import reload
from mcp_workbench.serve.reload import BackgroundLoad
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    import pytest


class Disk:
    """A file whose reading waits until the test lets it go on."""

    def __init__(self) -> None:
        self.content = "first"
        self.reads = 0
        self.at_once = 0
        self.most_at_once = 0
        self.applied: list[str] = []
        self._may_go_on = threading.Semaphore(0)
        self.loading = BackgroundLoad("the file", self._load, self.applied.append)

    def _load(self) -> str:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        content = self.content
        self.reads += 1
        self._may_go_on.acquire(timeout=PATIENCE)
        self.at_once -= 1
        return content

    def go_on(self) -> None:
        self._may_go_on.release()

    async def begin(self, content: str) -> None:
        """Change the file, and wait until it is being read."""
        self.content = content
        self.loading.start()
        await poll(lambda: self.reads > 0)


async def test_the_event_loop_goes_on_while_a_file_is_loaded() -> None:
    disk = Disk()
    await disk.begin("first")
    assert disk.applied == []
    disk.go_on()
    await poll(lambda: disk.applied == ["first"])


async def test_a_change_in_the_meantime_is_loaded_afterwards_and_the_older_outcome_dropped() -> None:
    disk = Disk()
    await disk.begin("first")
    for content in ("second", "third"):
        disk.content = content
        disk.loading.start()
    disk.go_on()
    disk.go_on()
    await poll(lambda: disk.applied == ["third"])
    assert (disk.reads, disk.most_at_once) == (2, 1)


async def test_nothing_is_applied_after_the_end_and_no_task_is_left() -> None:
    disk = Disk()
    await disk.begin("first")
    disk.loading.close()
    disk.go_on()
    await poll(lambda: disk.at_once == 0)
    await poll(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    assert disk.applied == []


async def test_after_a_load_was_dropped_the_next_one_is_applied() -> None:
    disk = Disk()
    await disk.begin("first")
    disk.loading.close()
    disk.content = "second"
    disk.loading.start()
    await poll(lambda: disk.reads == 2)
    disk.go_on()
    disk.go_on()
    await poll(lambda: disk.applied == ["second"])


async def test_a_file_that_cannot_be_read_in_time_is_given_up_and_its_next_change_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reload, "LOAD_TIMEOUT_SECONDS", 0.05)
    disk = Disk()
    await disk.begin("first")
    await poll(lambda: "the file has changed and could not be loaded within 0.05 s" in caplog.text)
    monkeypatch.setattr(reload, "LOAD_TIMEOUT_SECONDS", PATIENCE)
    disk.content = "second"
    disk.loading.start()
    await poll(lambda: disk.reads == 2)
    disk.go_on()
    disk.go_on()
    await poll(lambda: disk.applied == ["second"])
