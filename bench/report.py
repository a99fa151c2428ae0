"""Figures as people read them, and tables of them: Markdown, lined up so that a terminal shows it well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import targets
from bench.over_http import targets as http_targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.goals import Goal, Verdict
    from bench.results import Measurement, Quartiles

TITLES = {target.key: target.title for target in (*targets.ALL, *http_targets.ALL)}


def tables(measurements: Sequence[Measurement], heading: str = "") -> str:
    """One table for each case of each suite."""
    parts = []
    for suite, case in dict.fromkeys((one.suite, one.case) for one in measurements):
        chosen = [one for one in measurements if (one.suite, one.case) == (suite, case)]
        parts.append(f"{heading}{case[0].upper()}{case[1:]}\n\n{_table(chosen)}")
    return "\n\n".join(parts)


def verdicts_table(verdicts: Sequence[Verdict]) -> str:
    """The figures to meet."""
    rows = [
        (
            verdict.goal.what,
            _bound(verdict.goal),
            _spread(verdict.measured, verdict.goal.unit),
            ("met" if verdict.is_met else "**not met**") + (", narrowly" if verdict.is_close else ""),
            "" if verdict.copying is None else show(verdict.copying.median, verdict.goal.unit),
        )
        for verdict in verdicts
    ]
    return markdown(("", "to meet", "measured", "verdict", "checked and copied"), rows)


def _bound(goal: Goal) -> str:
    limits = (("at least", goal.least), ("at most", goal.most))
    if goal.least is not None and goal.most is not None:
        limits = (("", goal.least), ("to", goal.most))
    return " ".join(
        f"{word} {show(number, goal.unit)}" for word, number in limits if number is not None
    ).strip()


def _table(measurements: Sequence[Measurement]) -> str:
    found = {(one.target, one.figure): one for one in measurements}
    figures = list(dict.fromkeys(one.figure for one in measurements))
    compared = {one.figure for one in measurements if one.ratios}
    order = {target: place for place, target in enumerate(TITLES)}
    shown = sorted(
        dict.fromkeys(one.target for one in measurements), key=lambda target: order.get(target, -1)
    )
    header = [""]
    for figure in figures:
        header += (figure, "ratio") if figure in compared else (figure,)
    rows = []
    for target in shown:
        row = [TITLES.get(target, target)]
        for figure in figures:
            cells = _cells(found.get((target, figure)))
            row += cells if figure in compared else cells[:1]
        rows.append(row)
    return markdown(header, rows)


def _cells(one: Measurement | None) -> tuple[str, str]:
    if one is None:
        return "", ""
    if one.unit == "×":
        return _spread(one.value, one.unit), ""
    return show(one.value.median, one.unit), "" if one.ratio is None else _spread(one.ratio, "×")


def _spread(numbers: Quartiles, unit: str) -> str:
    """The median, and the quartiles where they differ from it."""
    middle, low, high = (show(number, unit) for number in (numbers.median, numbers.low, numbers.high))
    return middle if low == high else f"{middle} ({low.removesuffix('×')} to {high.removesuffix('×')})"


def show(number: float, unit: str) -> str:
    """A figure, in a unit that suits its size."""
    if number < 0:
        return f"-{show(-number, unit)}"
    if unit == "×":
        return f"{number:,.0f}×" if number >= 100 else f"{number:.1f}×" if number >= 10 else f"{number:.2f}×"
    if unit == "s":
        factor, name = next(((f, n) for f, n in ((1, "s"), (1e3, "ms")) if number * f >= 1), (1e6, "µs"))
        return f"{_digits(number * factor)} {name}"
    if unit == "mean":
        return f"{number:.1f}"
    if unit == "share":
        return f"{number:.3f}"
    if unit == "B":
        return f"{_digits(number / 1e6)} MB"
    return f"{number:,.0f}{unit.removeprefix('1')}"


def _digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with its columns lined up: text to the left, figures to the right."""
    body = [list(row) for row in rows]
    widths = [max(3, *(len(line[column]) for line in (header, *body))) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for line in (header, rule, *body):
        cells = [f"{line[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
