"""Our log on stderr: a line for each record, and never a wait for its reader."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import Secrets
from mcp_workbench.serve.logs.log_lines import to_untimed_text
from mcp_workbench.serve.logs.stderr_handler import MAX_WAITING_LINES, StderrHandler, set_up
from mcp_workbench.wire.processes.stderr import LOGGER as SERVERS_STDERR
from tests.support.stderrs import without_times
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines(*messages: str) -> str:
    return "".join(f"mcp-workbench: {message}\n" for message in messages)


class Pipe:
    """A pipe with the log at one end and the test at the other."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.handler = StderrHandler(to_untimed_text, self.writer)

    def log(self, *texts: str, name: str = "mcp_workbench.x") -> None:
        for text in texts:
            self.handler.handle(logging.LogRecord(name, logging.INFO, __file__, 1, text, None, None))

    def log_of_servers(self, *texts: str) -> None:
        self.log(*texts, name=SERVERS_STDERR)

    def fill(self) -> None:
        """Fill the pipe until it takes no other byte; nothing is read from it."""
        os.set_blocking(self.writer, False)
        with suppress(BlockingIOError):
            while True:
                os.write(self.writer, b"x" * 4096)
        os.set_blocking(self.writer, True)

    def read(self) -> str:
        parts = []
        with suppress(BlockingIOError):
            while data := os.read(self.reader, 65536):
                parts.append(data)
        return b"".join(parts).decode()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    it = Pipe()
    yield it
    for descriptor in (it.reader, it.writer):
        with suppress(OSError):  # the test may have done so
            os.close(descriptor)


def test_each_record_is_a_line(pipe: Pipe) -> None:
    pipe.log("one", "two é", "three \ud800")
    assert pipe.read() == lines("one", "two é", "three ")


def test_a_full_pipe_is_not_waited_for_and_what_was_dropped_is_counted(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log_of_servers("lost", "lost", "lost")
    assert set(pipe.read()) == {"x"}
    pipe.log("after", "and on")
    assert pipe.read() == lines("log lines dropped: 3", "after", "and on")


def test_what_is_dropped_later_is_counted_anew(pipe: Pipe) -> None:
    for _ in range(2):
        pipe.fill()
        pipe.log_of_servers("lost", "lost")
        pipe.read()
        pipe.log("after")
        assert pipe.read() == lines("log lines dropped: 2", "after")


def test_a_pipe_is_filled_to_the_brim_without_waiting(pipe: Pipe) -> None:
    # Every write must fit at once: a reader that is merely slow would stop us otherwise.
    pipe.log_of_servers(*["x" * 3000] * 1000)
    shown = pipe.read().splitlines(keepends=True)
    assert set(shown) == {lines("x" * 3000)}
    assert len(shown) > 10


def test_our_own_events_wait_until_there_is_room(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log("first")
    pipe.log_of_servers("lost")
    pipe.log("second")
    pipe.read()
    pipe.log_of_servers("after")
    assert pipe.read() == lines("log lines dropped: 1", "first", "second", "after")


def test_no_more_of_them_wait_than_there_is_memory_for(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log(*map(str, range(MAX_WAITING_LINES + 10)))
    pipe.read()
    pipe.log("after")
    assert pipe.read() == lines("log lines dropped: 10", *map(str, range(MAX_WAITING_LINES)), "after")


def test_what_waits_is_taken_in_the_end_by_a_reader_that_is_late(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log("the last event")
    pipe.log_of_servers("lost")
    pipe.read()
    pipe.handler.flush()
    assert pipe.read() == lines("log lines dropped: 1", "the last event")


def test_a_reader_that_never_comes_is_not_waited_for_in_the_end(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log("the last event")
    started = time.monotonic()
    pipe.handler.flush()
    assert time.monotonic() - started < 1
    assert set(pipe.read()) == {"x"}


def test_a_record_that_cannot_be_read_is_counted_and_stops_nobody(pipe: Pipe) -> None:
    pipe.handler.handle(logging.LogRecord("x", logging.INFO, __file__, 1, "%d and %d", (1,), None))
    pipe.log("after")
    assert pipe.read() == lines("log lines dropped: 1", "after")


def test_secrets_are_masked_and_stay_so_when_there_are_others(pipe: Pipe) -> None:
    pipe.log("first and second")
    pipe.handler.hide(Secrets({"the first": "<one>"}))
    pipe.handler.hide(Secrets({"the second": "<two>"}))
    pipe.log("the first and the second")
    assert pipe.read() == lines("first and second", "<one> and <two>")


def test_a_reader_that_has_gone_is_harmless(pipe: Pipe) -> None:
    os.close(pipe.reader)
    pipe.log("one", "two")


def test_a_descriptor_that_is_closed_is_harmless(pipe: Pipe, capfd: pytest.CaptureFixture[str]) -> None:
    os.close(pipe.writer)
    pipe.log("one", "two")
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """The package's logger; what is set up is put back as it was afterwards."""
    loggers = [logging.getLogger("mcp_workbench"), logging.getLogger()]
    before = [(it.handlers[:], it.level, it.propagate) for it in loggers]
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    yield loggers[0]
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    for it, was in zip(loggers, before, strict=True):
        it.handlers[:], it.level, it.propagate = was
        it.manager._clear_cache()  # type: ignore[attr-defined] # levels are remembered by each logger below


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error", "critical"]),
        ("info", ["info", "warning", "error", "critical"]),
        ("warning", ["warning", "error", "critical"]),
        ("error", ["error", "critical"]),
        ("off", []),
    ],
)
def test_the_level_decides_what_is_shown(
    logger: logging.Logger, capfd: pytest.CaptureFixture[str], level: str, shown: list[str]
) -> None:
    set_up(level, "text")
    for name in ("debug", "info", "warning", "error", "critical"):
        getattr(logger.getChild("downstream.server"), name)("this is %s", name)
    assert printed(capfd) == ("", lines(*(f"this is {name}" for name in shown)))


def test_setting_up_twice_does_not_say_things_twice(
    logger: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    set_up("info", "text")
    set_up("info", "text")
    logger.info("once")
    assert printed(capfd) == ("", lines("once"))


@pytest.mark.parametrize(("level", "shown"), [("debug", ["error"]), ("error", ["error"]), ("off", [])])
@pytest.mark.parametrize("library", ["asyncio", "uvicorn.error", "keyring.backend"])
@pytest.mark.usefixtures("logger")
def test_of_what_it_is_built_on_only_errors_are_shown(
    capfd: pytest.CaptureFixture[str], library: str, level: str, shown: list[str]
) -> None:
    set_up(level, "text")
    for name in ("debug", "warning", "error"):
        getattr(logging.getLogger(library), name)("this is %s", name)
    assert printed(capfd) == ("", lines(*(f"this is {name}" for name in shown)))


@pytest.mark.usefixtures("logger")
def test_faults_that_nobody_has_caught_are_masked_too(capfd: pytest.CaptureFixture[str]) -> None:
    set_up("info", "text").hide(Secrets({"hunter2": "<env TOKEN>"}))
    sys.excepthook(ValueError, ValueError("in the end: hunter2"), None)
    thread = threading.Thread(target=int, args=["in a thread: hunter2"])
    thread.start()
    thread.join(PATIENCE)
    Unreachable()
    shown = capfd.readouterr().err
    for place in ("in the end", "in a thread", "in clean-up"):
        assert f"{place}: <env TOKEN>" in shown
    assert "hunter2" not in shown


def printed(capfd: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What went to stdout and stderr, without the times of the log."""
    stdout, stderr = capfd.readouterr()
    return stdout, without_times(stderr)


class Unreachable:
    """Fails in a destructor, which cannot raise to a caller."""

    def __del__(self) -> None:
        raise ValueError("in clean-up: hunter2")


@pytest.mark.usefixtures("logger")
def test_what_ends_us_is_said_at_any_level(capfd: pytest.CaptureFixture[str]) -> None:
    set_up("off", "text")
    sys.excepthook(ValueError, ValueError("this is why"), None)
    said = lines("ended by an error inside the workbench") + "  ValueError: this is why\n"
    assert printed(capfd) == ("", said)


@pytest.mark.usefixtures("logger")
@pytest.mark.parametrize(("format_", "has_time"), [("text", False), ("json", True)])
def test_the_journal_adds_the_time_to_text_itself(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, format_: str, has_time: bool
) -> None:
    status = os.fstat(2)
    monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
    set_up("info", format_)
    logging.getLogger("mcp_workbench.x").info("hello")
    shown = capfd.readouterr().err
    assert ('"time"' in shown) == has_time
    assert has_time or shown == lines("hello")


@pytest.mark.usefixtures("logger")
@pytest.mark.parametrize("stream", ["", "8:1", "nonsense"])
def test_another_stream_than_that_of_the_journal_has_times(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", stream)
    set_up("info", "text")
    logging.getLogger("mcp_workbench.x").info("hello")
    shown = capfd.readouterr().err
    assert without_times(shown) == lines("hello") != shown
