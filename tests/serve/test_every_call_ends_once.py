"""Whatever the order of things, every call that begins ends once, and as its client was told."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.workbench.door import CallDecision, Door
from tests.serve.histories import ERRORS, INPUT_TIMEOUT, RESULTS, SAID, TIMEOUT, House
from tests.storage.audit.lines import read
from tests.wire.loops import JumpingLoop
from tests.workbench.test_door import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.histories import ClientKind

    Step = tuple[str, int, str]

KINDS: Final[list[ClientKind]] = ["legacy", "modern", "modern over HTTP"]
CALLS: Final = ["tool"] * 6 + ["no tool", "no server", "built-in", "read", "prompt", "complete"]
ANSWERS: Final = [*RESULTS, *RESULTS, *ERRORS, "garbage", "no object", "odd type"]
WAYS: Final[dict[str, tuple[int, list[str]]]] = {
    "call": (10, CALLS),
    "finish": (8, ANSWERS),
    "ask": (6, [""]),
    "answer": (6, ["accept"]),
    "start": (4, [""]),
    "cancel": (3, [""]),
    "release": (3, ["pass", "pass", "refuse", "fail", "cancel"]),
    "decide": (2, ["pass", "pass", "pass", "hold", "hold", "refuse", "fail"]),
    "wait": (2, ["1", str(TIMEOUT + 1), str(INPUT_TIMEOUT + 1)]),
    "leave": (2, [""]),
    "reload": (1, ["a", "b", "slower", "none"]),
    "fail_to_start": (1, [""]),
    "die": (1, [""]),
    "die_unread": (1, [""]),
}
"""The steps of a history: how often each is taken beside the others, and in which ways."""

ASKING_WAYS: Final[dict[str, tuple[int, list[str]]]] = {
    **WAYS,
    "answer": (10, [*SAID, "accept", "accept", "error"]),
    "decide": (3, ["ask", "ask", "ask", "ask", "pass", "hold"]),
}
"""The steps of a history in which users are asked about calls."""

HASTY: Final = 5
"""One step in so many is followed by the next in the same turn of the loop."""


def steps(ways: dict[str, tuple[int, list[str]]]) -> st.SearchStrategy[Step]:
    return st.sampled_from([step for step, (weight, _) in ways.items() for _ in range(weight)]).flatmap(
        lambda step: st.tuples(st.just(step), st.integers(0, 9), st.sampled_from(ways[step][1]))
    )


@pytest.fixture(autouse=True, scope="module")
def _without_log() -> Iterator[None]:
    """Each fault of a decider is logged with a traceback, and there are thousands."""
    logger = logging.getLogger("mcp_workbench")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


async def take(house: House, step: Step) -> None:
    name, at, way = step
    if name == "wait":
        await house.wait(float(way))
    elif name in ("decide", "reload"):
        getattr(house, name)(way)
    elif way:
        getattr(house, name)(at, way)
    else:
        getattr(house, name)(at)
    if at % HASTY:
        await house.settle()


async def live(
    kinds: list[ClientKind],
    what: list[Step],
    home: Path,
    *,
    ends_by_itself: bool,
    servers_first: bool,
    asks: bool,
) -> House:
    house = House(kinds, home, asks=asks)
    for step in what:
        await take(house, step)
        assert set(house.notes.ends.values()) <= {1}, "a call has ended twice"
    if ends_by_itself:
        await house.let_all_end()
        assert house.notes.open == []
        assert [client.in_flight for client in house.clients if client.in_flight] == []
    await house.close(servers_first=servers_first)
    assert house.notes.ends == {record.number: 1 for record in house.notes.begun}
    house.limiting.limit_to(1)
    house.limiting.decide(Door().begin(Asked()))  # raises if another call is thought to be in flight
    ends = [record.end for record in house.notes.begun if record.end is not None]
    assert [end for end in ends if end.error == "InternalError"] == []
    told = [told for client in house.clients for told in client.told]
    assert [it for it in told if not it.is_true] == []
    return house


def run(
    kinds: list[ClientKind],
    what: list[Step],
    *,
    ends_by_itself: bool = True,
    servers_first: bool = False,
    asks: bool = False,
) -> House:
    with TemporaryDirectory() as directory:
        home = Path(directory)
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            house = runner.run(
                live(kinds, what, home, ends_by_itself=ends_by_itself, servers_first=servers_first, asks=asks)
            )
        # Not while time jumps: a thread writes it.
        asyncio.run(house.audit.close())
        assert recorded(home) == ended(house)
    return house


def ended(house: House) -> list[tuple[object, ...]]:
    """What is known of each call, by its number."""
    return [
        (it.number, it.method, *it.origin, it.name, it.end and it.end.outcome, it.parent or 0)
        for it in house.notes.begun
    ]


MEMBERS: Final = ("number", "method", "toolbox", "server", "name", "outcome")


def recorded(home: Path) -> list[tuple[object, ...]]:
    """What the audit has of each call, by its number."""
    return [
        (
            *(it[key] for key in ("number", "method", "toolbox", "server", "name", "outcome")),
            it.get("parent", 0),
        )
        for it in sorted(read(home), key=lambda line: line["number"])
    ]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.lists(steps(WAYS), min_size=4, max_size=40),
    st.booleans(),
    st.booleans(),
)
def test_every_call_that_begins_ends_exactly_once(
    kinds: list[ClientKind], what: list[Step], ends_by_itself: bool, servers_first: bool
) -> None:
    run(kinds, what, ends_by_itself=ends_by_itself, servers_first=servers_first)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.lists(steps(ASKING_WAYS), min_size=8, max_size=40),
    st.booleans(),
)
def test_every_call_that_users_are_asked_about_ends_exactly_once(
    kinds: list[ClientKind], what: list[Step], ends_by_itself: bool
) -> None:
    run(kinds, [("decide", 1, "ask"), *what], ends_by_itself=ends_by_itself, asks=True)


def outcomes(house: House) -> list[tuple[str, int | None]]:
    """How each call ended, and which call it continued."""
    return [(record.end.outcome if record.end else "", record.parent) for record in house.notes.begun]


OLD, NEW = 2, 1
"""Choose the legacy server or the modern one, where a step chooses a server or makes a call."""


def test_a_kept_result_is_read_by_a_call_with_an_end() -> None:
    long: list[Step] = [("start", OLD, ""), ("call", OLD, "tool"), ("finish", 1, "long")]
    assert outcomes(run(["legacy"], [*long, ("call", 1, "built-in")])) == [("answered", None)] * 2


def test_a_modern_clients_retry_is_a_call_that_continues_another() -> None:
    asked: list[Step] = [("start", NEW, ""), ("call", NEW, "tool"), ("ask", 1, "")]
    house = run(["modern"], [*asked, ("answer", 1, "accept"), ("finish", 1, "plain")])
    assert outcomes(house) == [("asked", None), ("answered", 1)]


def test_a_call_that_is_made_again_for_a_legacy_client_stays_one_call() -> None:
    asked: list[Step] = [("start", NEW, ""), ("call", NEW, "tool"), ("ask", 1, "")]
    house = run(["legacy"], [*asked, ("answer", 1, "accept"), ("finish", 1, "plain")])
    assert outcomes(house) == [("answered", None)]


def test_a_call_that_waits_for_its_client_stays_one_call() -> None:
    asked: list[Step] = [("start", OLD, ""), ("call", OLD, "tool"), ("ask", 1, "")]
    house = run(["modern"], [*asked, ("answer", 1, "accept"), ("finish", 1, "plain")])
    assert outcomes(house) == [("answered", None)]


def test_a_client_that_comes_back_to_a_server_which_never_read_the_call_is_told() -> None:
    asked: list[Step] = [("start", OLD, ""), ("call", OLD, "tool"), ("ask", 1, "")]
    house = run(["modern"], [*asked, ("die_unread", 1, ""), ("answer", 1, "accept")])
    assert outcomes(house) == [("failed", None)]


ASKED: Final[list[Step]] = [("decide", 1, "ask")]


@pytest.mark.parametrize("server", [OLD, NEW])
@pytest.mark.parametrize("kind", KINDS)
def test_an_approved_call_is_made_and_its_servers_question_is_not_preceded_by_another(
    kind: ClientKind, server: int
) -> None:
    called: list[Step] = [*ASKED, ("start", server, ""), ("call", server, "tool"), ("answer", 1, "accept")]
    house = run([kind], [*called, ("ask", 1, ""), ("answer", 1, "accept"), ("finish", 1, "plain")], asks=True)
    kept: list[tuple[str, int | None]] = [("answered", None)]
    if kind != "legacy":
        # A modern client comes back with the approval, and to a modern server with the answer too.
        kept = [("asked", None), ("answered", 1)]
        kept = kept if server == OLD else [("asked", None), ("asked", 1), ("answered", 2)]
    assert outcomes(house) == kept
    decisions = [record.decision for record in house.notes.begun]
    assert decisions[-1] == CallDecision("ask", '"*": "ask"', "user")


@pytest.mark.parametrize("what", ["tool", "read", "prompt", "complete"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_the_user_declines_is_refused(kind: ClientKind, what: str) -> None:
    house = run([kind], [*ASKED, ("call", OLD, what), ("answer", 1, "decline")], asks=True)
    asked = [("asked", None), ("refused", 1)]
    # The modern protocol lets no server answer a completion with a question.
    assert outcomes(house) == ([("refused", None)] if kind == "legacy" or what == "complete" else asked)


@pytest.mark.parametrize("what", ["tool", "read", "prompt"])
def test_an_approval_that_comes_when_the_server_is_gone_continues_the_call_that_asked(what: str) -> None:
    called: list[Step] = [*ASKED, ("call", OLD, what), ("reload", 1, "none"), ("answer", 1, "accept")]
    house = run(["modern"], called, asks=True)
    assert outcomes(house) == [("asked", None), ("refused", 1)]


@pytest.mark.parametrize("what", ["tool", "read", "prompt"])
def test_a_call_of_a_server_that_is_gone_ends_with_the_answer_to_its_question(what: str) -> None:
    asked: list[Step] = [("start", OLD, ""), ("call", OLD, what), ("ask", 1, ""), ("reload", 1, "none")]
    house = run(["modern"], [*asked, ("answer", 1, "accept"), ("finish", 1, "plain")])
    assert outcomes(house) == [("answered", None)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_allowed_for_the_session_is_not_asked_about_again(kind: ClientKind) -> None:
    called: list[Step] = [*ASKED, ("start", OLD, ""), ("call", OLD, "tool"), ("answer", 1, "session")]
    house = run([kind], [*called, ("finish", 1, "plain"), ("call", OLD, "tool")], asks=True)
    assert house.notes.begun[-1].decision == CallDecision("ask", '"*": "ask"', "session")
    assert house.notes.begun[-1].is_sent


def test_a_cancelled_call_withdraws_its_question() -> None:
    house = run(["legacy"], [*ASKED, ("call", OLD, "tool"), ("cancel", 1, "")], asks=True)
    assert outcomes(house) == [("cancelled", None)]
    assert [client.questions for client in house.clients] == [[]]


def test_a_question_that_nobody_answers_is_withdrawn_and_the_call_refused() -> None:
    house = run(["legacy"], [*ASKED, ("call", OLD, "tool")], asks=True)
    assert outcomes(house) == [("refused", None)]
    assert [client.questions for client in house.clients] == [[]]
