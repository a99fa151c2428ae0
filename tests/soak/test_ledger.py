"""The soak's accountant finds what is wrong in doctored books, and nothing in right ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_workbench.errors import CallDenied, CallRefused, LimitReached
from mcp_workbench.workbench.policy.console import PENDING, TOO_MANY
from soak.ledger import (
    AMBIGUOUS,
    BACK_OFF,
    DENIED,
    EXIT,
    EXPIRED,
    LIMITED,
    NOT_FOUND,
    OK,
    REMOTE,
    START,
    TIMEOUT,
    UNANSWERED,
    UNAPPROVED,
    UNREADABLE,
    USED,
    WRONG,
    Entry,
    Fault,
    Ledger,
    judge_calls,
    judge_lives,
    kind_of_error,
    kind_of_refusal,
)

SERVER = "box0.alpha"
BOUND = 10.0
NAME = "t1"


def entry(*answers: tuple[float, str], server: str = SERVER, **details: Any) -> Entry:
    """A call that was sent in the hundredth second."""
    made = Entry(1, "echo", frozenset({server}), 100.0, BOUND, NAME)
    return replace(made, answers=list(answers), **details)


def kill(server: str | None = SERVER, start: float = 100.5, end: float = 102.0) -> Fault:
    return Fault("kill", server, start, frozenset({EXIT, START, BACK_OFF}), end, ends_life=True)


def verdict(one: Entry, *faults: Fault) -> list[str]:
    ledger = Ledger()
    ledger.request(one)
    for fault in faults:
        ledger.fault(fault)
    return ledger.judge()


RIGHT = {
    "an answer": [entry((101.0, OK))],
    "a cancelled request without one": [entry(cancelled=100.2, fence=100.3)],
    "a cancelled request that was answered before": [entry((100.1, OK), cancelled=100.2, fence=100.3)],
    "an error after a fault": [entry((101.0, EXIT)), kill()],
    "an error after a fault of everything": [entry((101.0, EXIT)), kill(None)],
    "an error that the call is for": [entry((101.0, REMOTE), own_fault=frozenset({REMOTE}))],
    "an end that may be": [entry((101.0, AMBIGUOUS), possible=frozenset({AMBIGUOUS}))],
    "an answer of the client that is late by then": [entry((103.5, EXPIRED), lapses=103.0)],
    "a back-off after a fault long ago": [entry((100.1, BACK_OFF)), kill(start=50.0, end=60.0)],
    "a late answer, with the client not reading": [
        entry((115.0, OK)),
        Fault("slow client", None, 101.0, end=110.0, slows=True),
    ],
}

WRONG_BOOKS = {
    "no answer": [entry()],
    "2 answers to one request": [entry((101.0, OK), (101.1, OK))],
    "2 answers": [entry((101.0, EXIT), (101.1, OK)), kill()],
    "wrong: the text of another call": [entry((101.0, f"{WRONG}: the text of another call"))],
    "later than 10 s": [entry((111.0, OK))],
    "an answer after the cancellation": [entry((100.5, OK), cancelled=100.2, fence=100.3)],
    "no fault explains": [entry((101.0, EXIT))],
    "no fault explains (the server": [entry((101.0, EXIT)), kill("box0.beta")],
    "no fault explains (no answer": [entry((101.0, TIMEOUT)), kill()],
    "no fault explains (": [entry((100.4, EXIT)), kill()],
    "explains (the server went away)": [entry((100.4, EXIT)), kill(start=50.0, end=60.0)],
    "no fault explains (came back too late": [entry((102.5, EXPIRED), lapses=103.0)],
    "no fault explains (came back twice": [entry((103.5, USED), lapses=103.0)],
    "no fault explains (asked while several": [entry((101.0, AMBIGUOUS))],
    "a success where only": [entry((101.0, OK), own_fault=frozenset({TIMEOUT}))],
    "explains (? something else)": [entry((101.0, kind_of_error("something else"))), kill()],
}


@pytest.mark.parametrize("books", RIGHT.values(), ids=RIGHT)
def test_right_books_are_passed(books: list[Entry | Fault]) -> None:
    (one,) = (item for item in books if isinstance(item, Entry))
    assert verdict(one, *(item for item in books if isinstance(item, Fault))) == []


@pytest.mark.parametrize(("complaint", "books"), WRONG_BOOKS.items(), ids=WRONG_BOOKS)
def test_what_is_wrong_is_said_with_the_request(complaint: str, books: list[Entry | Fault]) -> None:
    (one,) = (item for item in books if isinstance(item, Entry))
    (found,) = verdict(one, *(item for item in books if isinstance(item, Fault)))
    assert complaint in found
    assert "first: request 1, echo to box0.alpha" in found


def test_the_same_problem_is_counted_on_one_line() -> None:
    ledger = Ledger()
    for _ in range(3):
        ledger.request(entry())
    assert [problem.split()[:3] for problem in ledger.judge()] == [["no", "answer:", "3"]]


def test_a_call_that_was_made_twice_or_never_is_reported() -> None:
    answered = entry((101.0, OK))
    assert judge_calls([answered], {"t1": 1}) == []
    assert judge_calls([answered], {"t1": 2}) == ["calls made twice: 1"]
    assert [problem.partition(":")[0] for problem in judge_calls([answered], {})] == [
        "answers to calls that no server has seen"
    ]
    assert judge_calls([entry((101.0, EXIT)), entry(cancelled=100.1)], {}) == []


def test_a_restart_without_a_reason_is_reported() -> None:
    assert judge_lives({SERVER: [10, 11], "box0.beta": [12]}, [kill()]) == []
    assert judge_lives({SERVER: [10, 11, 13], "box0.beta": [12]}, [kill()]) == [
        "box0.alpha was started 3 times, with only 1 reasons to be restarted"
    ]


def test_only_what_nothing_was_wrong_around_counts_as_healthy() -> None:
    ledger = Ledger()
    assert ledger.is_healthy(entry((101.0, OK)))
    ledger.fault(kill())
    assert not ledger.is_healthy(entry((101.0, OK)))
    assert ledger.is_healthy(entry((101.0, OK), server="box0.beta"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "Error executing tool …: the server exited with code 3 during the call",
            EXIT,
        ),
        ("… the server was ended by SIGKILL during the call. The call was not repeated", EXIT),
        ("… no answer within 3 s and no progress was reported. The call was cancelled", TIMEOUT),
        (
            "… Failed to connect to MCP server 'a': the server exited with code 7 before it could be used",
            START,
        ),
        ("… its answer could not be read: invalid JSON", UNREADABLE),
        ("… it has failed 3 times in a row, and the next try is in 0.5 s at the earliest.", BACK_OFF),
        ("… JSON-RPC error -32050: t1; data: {}", REMOTE),
        ("Toolbox 'x' not found. Available toolboxes: a", NOT_FOUND),
        (str(CallDenied("erase", "fs", "dev", '"erase": "deny" of server dev/fs')), DENIED),
        (str(CallRefused("publish", "fs", "dev", f"this client cannot ask its user. {PENDING}")), UNAPPROVED),
        (
            str(CallRefused("publish", "fs", "dev", f"this client cannot ask its user. {TOO_MANY}")),
            UNAPPROVED,
        ),
        (str(LimitReached("scarce", "fs", "dev", {'"callsPerMinute": 5': 7.0}, {})), LIMITED),
        (
            "… it asked for input, and got none: roots/list: the client gave no answer: no answer within 3 s",
            UNANSWERED,
        ),
    ],
)
def test_errors_are_told_apart_by_what_they_say(text: str, kind: str) -> None:
    assert kind_of_error(text) == kind


def test_only_what_refuses_a_state_is_a_refusal() -> None:
    refused = (
        "Invalid params: `requestState` is refused: it has already been used, and is valid for one retry"
    )
    assert kind_of_refusal(refused) == USED
    assert kind_of_refusal("no answer within 3 s") is None
