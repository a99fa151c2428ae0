"""Our log on stderr: a line for each record, and never a wait for whoever reads it."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve.logs import PIPE_ATOM, StderrHandler, set_up

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pipe:
    """A pipe with the log at one end and the test at the other."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.handler = StderrHandler(self.writer)

    def log(self, *texts: str) -> None:
        for text in texts:
            self.handler.handle(logging.LogRecord("x", logging.INFO, __file__, 1, text, None, None))

    def fill(self) -> None:
        """Nobody reads, and there is no room for another byte."""
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
    assert pipe.read() == "one\ntwo é\nthree \n"


def test_what_a_server_says_cannot_move_the_cursor_or_fake_a_line(pipe: Pipe) -> None:
    pipe.log("[dev/s] \x1b[2J\x1b]0;title\x07hi\rmcp-workbench: all is well")
    assert pipe.read() == "[dev/s] hi mcp-workbench: all is well\n"


def test_a_full_pipe_is_not_waited_for_and_what_was_dropped_is_counted(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log("lost", "lost", "lost")
    assert set(pipe.read()) == {"x"}
    pipe.log("after", "and on")
    assert pipe.read() == "mcp-workbench: log lines dropped: 3\nafter\nand on\n"


def test_what_is_dropped_later_is_counted_anew(pipe: Pipe) -> None:
    for _ in range(2):
        pipe.fill()
        pipe.log("lost", "lost")
        pipe.read()
        pipe.log("after")
        assert pipe.read() == "mcp-workbench: log lines dropped: 2\nafter\n"


def test_a_pipe_is_filled_to_the_brim_without_waiting(pipe: Pipe) -> None:
    # Every write must fit at once: a reader that is merely slow would stop us otherwise.
    pipe.log(*["x" * 3000] * 1000)
    lines = pipe.read().splitlines()
    assert set(lines) == {"x" * 3000}
    assert len(lines) > 10


def test_a_record_too_long_to_be_written_at_once_is_cut(pipe: Pipe) -> None:
    pipe.log("x" * 100_000, "next")
    cut, following = pipe.read().splitlines()
    assert (cut.rstrip("…").strip("x"), cut[-1], following) == ("", "…", "next")
    assert PIPE_ATOM // 2 < len(cut.encode()) < PIPE_ATOM


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
    loggers = [logging.getLogger("mcp_workbench"), logging.getLogger("asyncio")]
    before = [(it.handlers[:], it.level, it.propagate) for it in loggers]
    yield loggers[0]
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
    set_up(level)
    for name in ("debug", "info", "warning", "error", "critical"):
        getattr(logger.getChild("downstream.server"), name)("this is %s", name)
    assert capfd.readouterr() == ("", "".join(f"mcp-workbench: this is {name}\n" for name in shown))


def test_setting_up_twice_does_not_say_things_twice(
    logger: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    set_up("info")
    set_up("info")
    logger.info("once")
    assert capfd.readouterr().err == "mcp-workbench: once\n"


@pytest.mark.parametrize(("level", "shown"), [("debug", ["error"]), ("error", ["error"]), ("off", [])])
@pytest.mark.usefixtures("logger")
def test_of_the_loop_only_errors_are_shown(
    capfd: pytest.CaptureFixture[str], level: str, shown: list[str]
) -> None:
    set_up(level)
    for name in ("debug", "warning", "error"):
        getattr(logging.getLogger("asyncio"), name)("this is %s", name)
    assert capfd.readouterr() == ("", "".join(f"mcp-workbench: this is {name}\n" for name in shown))
