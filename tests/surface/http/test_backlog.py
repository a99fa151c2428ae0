"""What is given up first when clients do not read what waits for them."""

from __future__ import annotations

import json

import pytest

from mcp_workbench.surface.http import backlog as module
from mcp_workbench.surface.http.backlog import SMALL_BYTES, Backlog
from mcp_workbench.surface.http.stream import ResponseStream

MEGABYTE = 1_000_000
TOTAL = 10 * MEGABYTE
EACH = 6 * MEGABYTE


class Reader:
    """Follows a stream, and remembers whether it was cut off."""

    def __init__(self) -> None:
        self.is_disconnected = False

    def disconnect(self) -> None:
        self.is_disconnected = True


class Waiting(ResponseStream):
    """A stream with one answer, read by a slow client, or kept for one that left."""

    def __init__(self, backlog: Backlog, principal: str, size: int, *, is_read: bool) -> None:
        super().__init__(backlog.account(principal), "1", [1])
        self.reader = Reader()
        self.consumer = self.reader if is_read else None
        self.answer(1, b"x" * size)

    @property
    def error(self) -> str | None:
        """The message of the error that took the place of the answer, if one did."""
        (line,) = self._messages
        assert isinstance(line, bytes)
        if line.startswith(b"x"):
            return None
        message: str = json.loads(line)["error"]["message"]
        return message


@pytest.fixture
def backlog() -> Backlog:
    return Backlog(TOTAL, EACH)


def test_what_is_kept_for_clients_that_left_goes_first_and_the_oldest_of_it(backlog: Backlog) -> None:
    left = [Waiting(backlog, "ann", 2 * MEGABYTE, is_read=False) for _ in range(2)]
    read = Waiting(backlog, "ann", 2 * MEGABYTE, is_read=True)
    Waiting(backlog, "ann", MEGABYTE, is_read=True)
    assert [it.held_bytes for it in (*left, read)] == [0, 2 * MEGABYTE, 2 * MEGABYTE]
    assert left[0].has_lost(0)
    assert not left[1].has_lost(0)


def test_a_large_answer_beyond_the_limit_of_its_principal_becomes_an_error_that_says_why(
    backlog: Backlog,
) -> None:
    first = Waiting(backlog, "ann", 5 * MEGABYTE, is_read=True)
    second = Waiting(backlog, "ann", 2 * MEGABYTE, is_read=True)
    assert (first.error, first.reader.is_disconnected) == (None, False)
    assert second.error is not None
    assert "1.90735 MiB" in second.error
    assert "4.76837 MiB" in second.error
    assert "send the request again" in second.error
    assert json.loads(second._messages[0])["id"] == 1  # type: ignore[arg-type] # of one piece
    assert Waiting(backlog, "bob", 2 * MEGABYTE, is_read=True).error is None


def test_small_answers_are_not_held_up_by_large_ones(backlog: Backlog) -> None:
    Waiting(backlog, "ann", EACH, is_read=True)
    assert Waiting(backlog, "ann", SMALL_BYTES, is_read=True).error is None


def test_small_answers_have_a_limit_too_and_the_slowest_reader_goes_for_them(
    backlog: Backlog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESERVE_BYTES", 0)
    slow = Waiting(backlog, "ann", EACH, is_read=True)
    assert Waiting(backlog, "ann", SMALL_BYTES, is_read=True).error is not None  # it has had no time to read
    monkeypatch.setattr(module, "GRACE_SECONDS", -1.0)
    assert Waiting(backlog, "ann", SMALL_BYTES, is_read=True).error is None
    assert (slow.reader.is_disconnected, slow.held_bytes) == (True, 0)


def test_where_others_use_up_the_total_the_one_who_holds_most_goes(
    backlog: Backlog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", -1.0)
    most = Waiting(backlog, "ann", EACH, is_read=True)
    less = Waiting(backlog, "bob", 4 * MEGABYTE, is_read=True)
    assert Waiting(backlog, "eve", 3 * MEGABYTE, is_read=True).error is None
    assert (most.reader.is_disconnected, less.reader.is_disconnected) == (True, False)


def test_a_reader_that_has_just_begun_is_not_cut_off_for_another(backlog: Backlog) -> None:
    readers = [Waiting(backlog, name, 5 * MEGABYTE, is_read=True) for name in ("ann", "bob")]
    late = Waiting(backlog, "eve", 3 * MEGABYTE, is_read=True)
    assert late.error is not None
    assert not any(it.reader.is_disconnected for it in readers)


def test_small_answers_of_others_are_never_dropped(backlog: Backlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESERVE_BYTES", 0)
    # Kept: an account ends with its streams, whenever the garbage collector finds them.
    large = [Waiting(backlog, name, 5 * MEGABYTE, is_read=True) for name in ("ann", "bob")]
    small = [Waiting(backlog, "eve", 1000, is_read=is_read) for is_read in (True, False)]
    Waiting(backlog, "ann", MEGABYTE // 2, is_read=True)
    assert [(it.error, it.held_bytes) for it in small] == [(None, 1000)] * 2
    assert [it.held_bytes for it in large] == [5 * MEGABYTE] * 2


def test_what_is_read_left_or_closed_is_counted_no_longer(backlog: Backlog) -> None:
    named = ResponseStream(backlog.account("ann"), "1", [1])
    unnamed = ResponseStream(backlog.account("ann"), unanswered=[1])
    for stream in (named, unnamed):
        for number in range(200):
            stream.write(b"%d" % number * 10_000)
        while stream.next() is not None:
            pass
        stream.write(b"x" * MEGABYTE)
        stream.answer(1, b"y" * MEGABYTE)
    assert backlog.bytes == named.held_bytes + unnamed.held_bytes
    assert named.held_bytes == sum(map(len, named._messages))
    for stream in (named, unnamed):
        stream.close()
        stream.write(b"late")
        stream.answer(1, b"late")
    assert (backlog.bytes, backlog.account("ann").bytes, [*backlog.account("ann")._streams]) == (0, 0, [])


def test_a_message_that_is_being_sent_counts_until_the_next_is_asked_for(backlog: Backlog) -> None:
    stream = ResponseStream(backlog.account("ann"), unanswered=[1])
    stream.write(b"x" * MEGABYTE)
    assert stream.next() == ("", b"x" * MEGABYTE)
    assert backlog.bytes == MEGABYTE
    assert stream.next() is None
    assert backlog.bytes == 0
