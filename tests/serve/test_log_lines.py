"""A record becomes one line, for people or for machines, that hides no character and shows no secret."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import Secrets
from mcp_workbench.serve.logs.log_lines import MAX_LINE_BYTES, to_json, to_text, to_untimed_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.serve.logs.log_lines import ToLine

SECRET = "hunter2-and-some-more"  # noqa: S105 - made up for these tests
MULTILINE = "-----BEGIN KEY-----\nmiddle-of-it\n-----END KEY-----"
MASK = Secrets({SECRET: "<env TOKEN>", MULTILINE: "<env PEM>"}).mask

both_formats = pytest.mark.parametrize("to_line", [to_text, to_json])


@pytest.fixture(autouse=True)
def in_nepal(local_time_zone: Callable[[str], None]) -> None:
    local_time_zone("<+0545>-05:45")


def record(message: str, *args: object, server: str | None = None, fault: str | None = None) -> Any:
    made = logging.LogRecord("mcp_workbench.x", logging.WARNING, __file__, 1, message, args, None)
    made.created = 1785196800.0426
    if server is not None:
        made.server = server
    if fault is not None:
        try:
            raise ValueError(fault)  # noqa: TRY301 - for its traceback
        except ValueError:
            made.exc_info = sys.exc_info()
    return made


def text(message: str, *args: object, server: str | None = None, fault: str | None = None) -> str:
    line = to_untimed_text(record(message, *args, server=server, fault=fault), MASK).decode()
    assert line.endswith("\n")
    return line[:-1].removeprefix("mcp-workbench: ")


def members(message: str, *args: object, server: str | None = None, fault: str | None = None) -> Any:
    line = to_json(record(message, *args, server=server, fault=fault), MASK).decode()
    assert len(line.splitlines()) == 1
    return json.loads(line)


def test_a_line_for_people_begins_with_the_server_that_it_is_about() -> None:
    assert text("hello %d", 1) == "hello 1"
    assert text("hello", server="dev/files") == "[dev/files] hello"


def test_a_line_for_people_has_the_local_time_unless_the_journal_adds_it() -> None:
    assert to_text(record("hello"), MASK) == b"2026-07-28T05:45:00+05:45 mcp-workbench: hello\n"
    assert to_untimed_text(record("hello"), MASK) == b"mcp-workbench: hello\n"


def test_an_object_for_machines_has_the_time_the_level_the_logger_and_the_server() -> None:
    common = {"time": "2026-07-28T05:45:00.042+05:45", "level": "warning", "logger": "mcp_workbench.x"}
    assert members("hello %d", 1) == {**common, "message": "hello 1"}
    assert members("", server="dev/files é") == {**common, "server": "dev/files é", "message": ""}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n  ", "\u2028", "\u2029", " \n"])
def test_a_message_of_several_lines_stays_one_line(end: str) -> None:
    assert text(f"  first{end}second{end}") == "  first ⏎ second"
    assert members(f"first{end}second")["message"].split() == ["first", "second"]


def test_what_a_server_says_cannot_move_the_cursor_or_fake_a_line() -> None:
    said = "\x1b[2J\x1b]0;title\x07hi\rmcp-workbench: all is well\u202e"
    assert text(said, server="dev/s") == "[dev/s] hi ⏎ mcp-workbench: all is well"
    assert members(said)["message"] == "hi\nmcp-workbench: all is well"


def test_the_name_of_a_server_cannot_either() -> None:
    assert text("hi", server="a\nb\x1b[2J") == r"[a\nb\x1b[2J] hi"
    assert members("hi", server="a\nb\x1b[2J")["server"] == r"a\nb\x1b[2J"


def test_a_traceback_follows_on_lines_of_its_own_that_look_like_no_record() -> None:
    first, *others = text("broken", server="dev/s", fault="first\nmcp-workbench: fake").splitlines()
    assert first == "[dev/s] broken"
    assert others[0] == "  Traceback (most recent call last):"
    assert others[-2:] == ["  ValueError: first", "  mcp-workbench: fake"]
    assert all(line.startswith("  ") for line in others)


def test_a_traceback_is_a_member_for_machines() -> None:
    it = members("broken", fault="so it was")
    assert it["message"] == "broken"
    assert it["traceback"].startswith("Traceback (most recent call last):\n")
    assert it["traceback"].endswith("\nValueError: so it was")


@both_formats
@pytest.mark.parametrize("character", ["x", "é", "😀", '"', "\\", "\t", "\n", "x\u200b"])
@pytest.mark.parametrize("count", [4000, 5000, 70_000, 1_000_000])
def test_what_is_too_long_to_be_written_at_once_is_cut(to_line: ToLine, character: str, count: int) -> None:
    line = to_line(record("begin" + character * count + "end", server="dev/files"), MASK)
    assert len(line) <= MAX_LINE_BYTES
    assert line.count(b"\n") == 1
    if to_line is to_json:
        message = json.loads(line)["message"]
        begin, _, note = message.partition("… (")
        assert begin.startswith("begin")
        assert not note or note.endswith(" characters left out)")


@pytest.mark.parametrize("count", [5000, 70_000, 1_000_000])
def test_what_is_left_out_is_counted(count: int) -> None:
    for shown in (text("x" * count), members("x" * count)["message"]):
        kept, _, note = shown.partition("… (")
        assert set(kept) == {"x"}
        assert len(kept) > MAX_LINE_BYTES * 0.9
        assert note == f"{count - len(kept)} characters left out)"


@both_formats
def test_a_long_traceback_keeps_its_end_and_the_message_its_beginning(to_line: ToLine) -> None:
    line = to_line(record("begin" + "x" * 5000, fault="y" * 100_000 + " the very end"), MASK)
    assert MAX_LINE_BYTES * 0.9 < len(line) <= MAX_LINE_BYTES
    shown = line.decode()
    for expected in ("begin", "the very end", "characters left out) …y"):
        assert expected in shown


@both_formats
def test_a_name_without_end_leaves_room_for_the_message(to_line: ToLine) -> None:
    line = to_line(record("the message", server="😀" * 5000), MASK)
    assert len(line) <= MAX_LINE_BYTES
    assert b"the message" in line


@both_formats
@pytest.mark.parametrize(
    ("said", "masked"),
    [
        (f"my token is {SECRET}!", "my token is <env TOKEN>!"),
        (SECRET.replace("-", "\u200b-", 1), "<env TOKEN>"),
        ("\x1b[1m".join(SECRET), "<env TOKEN>"),
        (f"a{MULTILINE}b", "a<env PEM>b"),
        ("got middle-of-it", "got <env PEM>"),
        (json.dumps({"pem": MULTILINE, "token": SECRET}), '{"pem": "<env PEM>", "token": "<env TOKEN>"}'),
    ],
)
def test_a_secret_is_masked_in_the_message_and_in_the_traceback(
    to_line: ToLine, said: str, masked: str
) -> None:
    shown = to_line(record("%s", said, fault=said), MASK).decode()
    assert shown.count(masked if to_line is to_text else json.dumps(masked)[1:-1]) == 2
    for secret in (SECRET, "middle-of-it", "-----BEGIN KEY-----"):
        assert secret not in shown


@both_formats
def test_no_part_of_a_secret_is_left_where_a_line_is_cut(to_line: ToLine) -> None:
    for before in range(MAX_LINE_BYTES - 200, MAX_LINE_BYTES):
        shown = to_line(record("x" * before + SECRET + "y" * 100), MASK).decode()
        assert "hun" not in shown, before
