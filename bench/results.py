"""What a suite returns: figures per round, their ratios to a reference's, and the arithmetic of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REFERENCE = "relay"
"""The key of the target that ratios are to, where a suite has none of its own."""


class Quartiles(NamedTuple):
    """The middle of some numbers, and the range of the middle half."""

    low: float
    median: float
    high: float


class Measurement(NamedTuple):
    """One figure of one target in one case: a number per round."""

    suite: str
    case: str
    target: str
    figure: str
    unit: str
    rounds: tuple[float, ...]
    ratios: tuple[float, ...] = ()
    """To the reference's figure of the same round; none where it has no such figure."""

    @property
    def value(self) -> Quartiles:
        """Of the figure itself."""
        return quartiles(self.rounds)

    @property
    def ratio(self) -> Quartiles | None:
        """Of the ratios to the reference."""
        return quartiles(self.ratios) if self.ratios else None


def percentile(numbers: Sequence[float], share: float) -> float:
    """The number that `share` of the numbers do not exceed, between two of them if need be."""
    if not numbers:
        raise ValueError("there are no numbers")
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median(numbers: Sequence[float]) -> float:
    """The number in the middle."""
    return percentile(numbers, 0.5)


def quartiles(numbers: Sequence[float]) -> Quartiles:
    """The median with the quartiles around it."""
    return Quartiles(percentile(numbers, 0.25), median(numbers), percentile(numbers, 0.75))


def compare(
    suite: str,
    case: str,
    figure: str,
    unit: str,
    rounds: Mapping[str, Sequence[float]],
    *,
    reference: str = REFERENCE,
) -> list[Measurement]:
    """The measurements of one figure: by target its rounds, with the ratios to the reference's same round."""
    bases = rounds.get(reference, ())
    found = []
    for target, numbers in rounds.items():
        paired = zip(numbers, bases, strict=False)
        ratios = tuple(number / base for number, base in paired if base)
        found.append(Measurement(suite, case, target, figure, unit, tuple(numbers), ratios))
    return found
