"""A child that writes to stderr without end is logged in part, and its last lines are never lost."""

from __future__ import annotations

import asyncio

from mcp_workbench.wire.processes.stderr import KEPT_LINES, MAX_LINES_PER_SECOND, Stderr
from tests.wire.loops import IN_JUMPING_TIME

pytestmark = IN_JUMPING_TIME

BEYOND = 10_000


def note(left_out: int) -> str:
    return f"(too much for the log: {left_out} lines of its stderr are left out here)"


def numbered(start: int, end: int) -> list[str]:
    return [f"line {number}" for number in range(start, end)]


def flooded(heard: list[str]) -> Stderr:
    """More than is passed on in a second, at once."""
    it = Stderr(str, heard.append)
    say(it, numbered(0, MAX_LINES_PER_SECOND + BEYOND))
    return it


def say(it: Stderr, lines: list[str]) -> None:
    for line in lines:
        it.receive(line.encode())


async def test_what_is_too_much_for_a_second_is_counted_and_its_end_shown_after_it() -> None:
    heard: list[str] = []
    it = flooded(heard)
    assert heard == numbered(0, MAX_LINES_PER_SECOND)
    await asyncio.sleep(1)
    end = numbered(0, MAX_LINES_PER_SECOND + BEYOND)[-KEPT_LINES:]
    assert heard[MAX_LINES_PER_SECOND:] == [note(BEYOND - KEPT_LINES), *end]
    assert list(it.lines) == end


async def test_a_little_too_much_is_only_late() -> None:
    heard: list[str] = []
    it = Stderr(str, heard.append)
    lines = numbered(0, MAX_LINES_PER_SECOND + KEPT_LINES)
    say(it, lines)
    await asyncio.sleep(1)
    assert heard == lines


async def test_the_next_second_is_heard_again() -> None:
    heard: list[str] = []
    it = flooded(heard)
    await asyncio.sleep(1)
    heard.clear()
    say(it, ["calm", "again"])
    assert heard == ["calm", "again"]
    await asyncio.sleep(2)
    assert heard == ["calm", "again"]


async def test_the_last_lines_of_stderr_are_there_as_soon_as_the_child_ends() -> None:
    heard: list[str] = []
    it = flooded(heard)
    it.close()
    assert it.lines[-1] == f"line {MAX_LINES_PER_SECOND + BEYOND - 1}"
    assert heard[-KEPT_LINES - 1] == note(BEYOND - KEPT_LINES)
    heard.clear()
    await asyncio.sleep(2)
    assert heard == []


async def test_what_is_held_back_is_masked_when_it_is_shown() -> None:
    heard: list[str] = []
    it = Stderr(lambda text: text.replace("hunter2", "<env TOKEN>"), heard.append)
    say(it, ["x"] * MAX_LINES_PER_SECOND + ["my token is hunter2"])
    it.close()
    assert heard[-1] == it.lines[-1] == "my token is <env TOKEN>"
