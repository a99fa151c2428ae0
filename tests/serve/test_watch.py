"""When a change of a file counts. Each test moves the clock itself, from one look to the next."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import stamp_of
from mcp_workbench.serve.watch import LOOKS_WHEN_GONE, Watcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Timer:
    """What a clock has been asked to call."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """Stands in for the running event loop: time passes when the test says so."""

    def __init__(self) -> None:
        self._timer: Timer | None = None

    def call_later(self, _delay: float, callback: Callable[[], None]) -> Timer:
        self._timer = Timer(callback)
        return self._timer

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            assert self._timer is not None
            if not self._timer.cancelled:
                self._timer.callback()


class Watched:
    """A watched file, and how often its watcher has called back."""

    def __init__(self, path: Path, clock: Clock) -> None:
        path.write_text("old")
        self.path = path
        self.changes = 0
        self.look = clock.look
        self.watcher = Watcher(str(path), stamp_of(path.stat()), self._on_change)
        self.watcher.start()

    def _on_change(self) -> None:
        self.changes += 1

    def replace(self, text: str) -> None:
        """As editors do it: a new file takes the name of the old one."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.path)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    clock = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return Watched(tmp_path / "file", clock)


def test_a_file_that_stays_as_it_was_is_no_change(file: Watched) -> None:
    file.look(10)
    assert file.changes == 0


def test_a_change_counts_once_when_it_is_seen_a_second_time(file: Watched) -> None:
    file.path.write_text("something new")
    file.look()
    assert file.changes == 0
    file.look(10)
    assert file.changes == 1


def test_a_file_that_is_still_being_written_is_left_alone(file: Watched) -> None:
    for length in range(5):
        file.path.write_text("something new"[:length])
        file.look()
    assert file.changes == 0
    file.look()
    assert file.changes == 1


def test_a_file_replaced_by_one_of_the_same_size_is_a_change(file: Watched) -> None:
    file.replace("new")
    file.look(2)
    assert file.changes == 1


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_a_change(file: Watched) -> None:
    before = file.path.stat()
    file.replace("new")
    os.utime(file.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    file.look(2)
    assert file.changes == 1


def test_a_swapped_link_is_a_change(file: Watched, tmp_path: Path) -> None:
    """As it comes about in Kubernetes: the path leads through a link to a directory, which is replaced."""
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "real").write_text("old")
    (tmp_path / "data").symlink_to("1")
    file.path.unlink()
    file.path.symlink_to("data/real")
    file.look(2)
    assert file.changes == 1
    (tmp_path / "fresh").symlink_to("2")
    (tmp_path / "fresh").rename(tmp_path / "data")
    file.look(2)
    assert file.changes == 2


def test_a_file_that_may_be_read_only_now_is_a_change(file: Watched) -> None:
    file.path.chmod(0o600)
    file.look(2)
    assert file.changes == 1


def test_a_file_that_is_soon_replaced_was_never_gone(file: Watched) -> None:
    file.path.unlink()
    file.look(LOOKS_WHEN_GONE - 1)
    assert file.changes == 0
    file.path.write_text("something new")
    file.look(10)
    assert file.changes == 1


def test_a_file_that_stays_away_counts_once_and_its_return_counts_again(file: Watched) -> None:
    file.path.unlink()
    file.look(LOOKS_WHEN_GONE - 1)
    assert file.changes == 0
    file.look(10)
    assert file.changes == 1
    file.path.write_text("old")
    file.look(10)
    assert file.changes == 2


def test_a_pipe_in_its_place_is_a_file_that_is_gone(file: Watched) -> None:
    file.path.unlink()
    os.mkfifo(file.path)
    file.look(LOOKS_WHEN_GONE - 1)
    assert file.changes == 0
    file.look(10)
    assert file.changes == 1


def test_a_pipe_from_the_start_is_left_alone_because_it_can_be_read_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, path, changes = Clock(), tmp_path / "pipe", list[str]()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    os.mkfifo(path)
    Watcher(str(path), stamp_of(path.stat()), lambda: changes.append("changed")).start()
    clock.look(10)
    assert not changes


def test_a_closed_watcher_looks_no_more(file: Watched) -> None:
    file.path.write_text("something new")
    file.look()
    file.watcher.close()
    file.look(10)
    assert file.changes == 0


def test_a_callback_that_fails_does_not_end_the_watch(file: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(file.watcher, "_on_change", fail)
        file.path.write_text("something new")
        with pytest.raises(OSError):  # noqa: PT011 - whichever
            file.look(2)
    file.replace("newer")
    file.look(2)
    assert file.changes == 1
