"""Rounds: all targets are up together and take short turns in shuffled order, so that a busy moment of the
machine falls on all of them alike.

Each round has processes of its own. Two processes of the same program were seen to differ by a tenth in the
time of a small call, for as long as they lived, and more turns of the same two would only repeat that
difference, with quartiles that look sure of it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from bench.results import REFERENCE, compare, median, percentile
from bench.targets import Target

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.client import Call, Client
    from bench.results import Measurement
    from bench.targets import Server, Setting

CPU_PER_CALL = "CPU per call"
TURN_LIMIT = 0.4
"""Seconds that one target's turn may take."""
SLOW_SHARE = 4
"""Of so many rounds slow targets take part in one."""
WARM_UP_CALLS = 200
WARM_UP_LIMIT = 0.1
"""Seconds. So many calls, or for so long, are made at the beginning of a turn and not counted: the process is
new, its interpreter has yet to specialise what it runs, and the others' turns left the caches cold. With a
tenth of this the first case of a process came out a sixth slower than the same work in its third."""


class Competitor(Protocol):
    """A target, over whatever it is spoken with."""

    @property
    def key(self) -> str:
        """What it is called on the command line."""

    @property
    def slow(self) -> bool:
        """Whether it takes part in fewer rounds."""


AnyTarget = TypeVar("AnyTarget", bound=Competitor)


class Schedule(NamedTuple, Generic[AnyTarget]):
    """How much to measure, and in which order."""

    setting: Setting
    targets: tuple[AnyTarget, ...]
    rounds: int
    shuffle: random.Random
    quick: bool = False

    def chosen(self, *targets: AnyTarget) -> tuple[AnyTarget, ...]:
        """Those of the targets asked for that a suite can use."""
        return tuple(target for target in self.targets if target in targets)

    def fewer_rounds(self, share: int) -> Schedule[AnyTarget]:
        """The same with one round of so many: for what takes long or varies little."""
        return self._replace(rounds=max(2, self.rounds // share))

    def scaled(self, count: int) -> int:
        """A number of calls: fewer in a quick run."""
        return max(2, count // 20) if self.quick else count

    def in_round(self, number: int) -> tuple[AnyTarget, ...]:
        """Who takes part in a round: slow targets only in the first ones."""
        return tuple(
            target for target in self.targets if not target.slow or number * SLOW_SHARE < self.rounds
        )

    def shuffled(self, keys: Iterable[str]) -> list[str]:
        """An order of turns."""
        once = list(keys)
        return self.shuffle.sample(once, len(once))


Plan = Schedule[Target]


class Timed(Protocol):
    """A client of a target."""

    @property
    def cpu(self) -> float:
        """Seconds of CPU time that the target has used."""

    def time_call(self, call: Call) -> float:
        """Makes a call; the seconds that it takes."""


class Turn(NamedTuple):
    """What one target did in its turn of a round."""

    seconds: tuple[float, ...]
    """Of each call."""
    cpu: float
    """Seconds, of the target's process, for all of them."""


@contextmanager
def all_ready(
    setting: Setting, targets: Sequence[Target], servers: Sequence[Server]
) -> Iterator[dict[str, Client]]:
    """All targets, started and with their servers open, by key."""
    with ExitStack() as stack:
        yield {target.key: stack.enter_context(target.ready(setting, servers)) for target in targets}


def in_turns(plan: Plan, keys: Iterable[str]) -> Iterator[str]:
    """Each target once per round, for suites whose turns are starts."""
    every = list(keys)
    for number in range(plan.rounds):
        resting = {target.key for target in plan.targets} - {target.key for target in plan.in_round(number)}
        yield from plan.shuffled(key for key in every if key not in resting)


def sequential_turn(client: Timed, call: Call, count: int) -> Turn:
    """Calls one after the other."""
    started = time.perf_counter()
    for _ in range(min(WARM_UP_CALLS, 2 * count)):
        client.time_call(call)
        if time.perf_counter() - started > WARM_UP_LIMIT:
            break
    seconds: list[float] = []
    cpu_before = client.cpu
    deadline = time.perf_counter() + TURN_LIMIT
    while len(seconds) < count and (not seconds or time.perf_counter() < deadline):
        seconds.append(client.time_call(call))
    return Turn(tuple(seconds), client.cpu - cpu_before)


def summarise(
    suite: str,
    case: str,
    turns: Mapping[str, Sequence[Turn]],
    *,
    reference: str = REFERENCE,
    tail: float = 0.99,
) -> list[Measurement]:
    """Median, pooled tail and CPU per call, of each target and against the reference's same round."""
    medians = {key: [median(turn.seconds) for turn in taken] for key, taken in turns.items()}
    pooled = {
        key: [percentile([second for turn in taken for second in turn.seconds], tail)]
        for key, taken in turns.items()
    }
    cpu = {key: [turn.cpu / len(turn.seconds) for turn in taken] for key, taken in turns.items()}
    return [
        *compare(suite, case, "p50", "s", medians, reference=reference),
        *compare(suite, case, f"p{tail * 100:.0f}", "s", pooled, reference=reference),
        *compare(suite, case, CPU_PER_CALL, "s", cpu, reference=reference),
    ]
