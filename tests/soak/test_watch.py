"""A leak of descriptors, threads, processes or memory is seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from soak import processes
from soak.processes import Held
from soak.watch import MIB, judge_held, judge_memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the soak is for Linux")

BEFORE = Held(50 * MIB, 40, 1, frozenset({11, 12}), frozenset({10}), {"pipe": 40})


def test_what_holds_the_same_is_passed() -> None:
    assert judge_held(BEFORE, BEFORE._replace(rss=90 * MIB), frozenset({11, 12})) == []
    restarted = BEFORE._replace(children=frozenset({13, 14}))
    assert judge_held(BEFORE, restarted, frozenset({13, 14})) == []


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        (
            BEFORE._replace(descriptors=41, kinds={"pipe": 41}),
            "descriptors leaked: 40 at first, 41 at the end",
        ),
        (BEFORE._replace(threads=2), "threads leaked"),
        (BEFORE._replace(children=frozenset({11, 12, 2**30})), "processes leaked"),
        (BEFORE._replace(children=frozenset({11})), "running servers that are no children"),
        (BEFORE._replace(guards=frozenset({9, 10})), "2 guards"),
    ],
)
def test_whatever_is_held_beyond_that_is_reported(after: Held, complaint: str) -> None:
    (problem,) = judge_held(BEFORE, after, frozenset({11, 12}))
    assert problem.startswith(complaint)


def samples(*mebibytes: float) -> list[tuple[float, int]]:
    """Ten samples of each, one a minute."""
    sizes = [size for size in mebibytes for _ in range(10)]
    return [(60.0 * minute, int(size * MIB)) for minute, size in enumerate(sizes)]


def test_memory_that_rises_and_stays_is_passed() -> None:
    assert judge_memory(samples(30, 45, 50, 51, 50, 52)) == []
    assert judge_memory([]) == []


def test_a_peak_is_no_growth() -> None:
    assert judge_memory([*samples(30, 30, 30, 30, 30, 30)[:-1], (3600.0, 300 * MIB)]) == []


def test_too_much_growth_is_reported() -> None:
    assert judge_memory(samples(30, 70, 70, 70, 70, 70)) == [
        "memory grew by 40 MiB from the first part to the last"
    ]


def test_growth_without_an_end_is_reported() -> None:
    assert judge_memory(samples(30, 34, 38, 42, 46, 50)) == [
        "memory goes on growing: 30, 34, 38, 42, 46, 50 MiB in the parts of the run"
    ]
    short = [(seconds / 60, rss) for seconds, rss in samples(30, 34, 38, 42, 46, 50)]
    assert judge_memory(short) == []


def test_what_a_process_holds_is_read_from_the_system() -> None:
    before = processes.look_at(os.getpid())
    stamp = "SOAK_TEST=" + str(os.getpid())
    name, _, value = stamp.partition("=")
    with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], name: value}) as child:
        try:
            held = processes.look_at(os.getpid())
            assert held.children - before.children == {child.pid}
            assert held.threads >= 1
            assert held.rss > MIB
            assert processes.is_running(child.pid, stamp)
            assert not processes.is_running(child.pid, stamp + "x")
            assert processes.marked(stamp) == {child.pid: "sleep 60"}
        finally:
            processes.kill(child.pid, stamp)
    assert not processes.is_running(child.pid, stamp)
    reading, writing = os.pipe()
    try:
        assert processes.look_at(os.getpid()).descriptors == before.descriptors + 2
    finally:
        os.close(reading)
        os.close(writing)
