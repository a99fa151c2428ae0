"""The figures of a run as tables to read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from soak.ledger import OK
from soak.watch import MIB, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from soak.ledger import Entry
    from soak.run import Outcome
    from soak.shared import Shared


def report(outcome: Outcome) -> str:
    """Everything, for a person."""
    return "\n".join(
        (
            *(*_requests(outcome), ""),
            *(*_heard(outcome), ""),
            *(*_errors(outcome), ""),
            *(*_faults(outcome), ""),
            *_resources(outcome),
        )
    )


def report_shared(shared: Shared) -> str:
    """The figures of the part over HTTP."""
    rows: list[tuple[str, ...]] = [("Shared", "answered", "refused", "left")]
    for deed, ends in sorted(shared.deeds.items()):
        rows.append((deed, *(str(ends.get(end, 0)) for end in ("answered", "refused", "left"))))
    before, most = (rss / MIB for rss in shared.rss)
    times, idle, late = shared.times, shared.idle, shared.late
    quantiles = f"p50 {_quantile(times, 0.5)} ms, p99 {_quantile(times, 0.99)} ms"
    return "\n".join(
        (
            f"One principal misbehaved for {shared.seconds:.0f} s over HTTP:",
            "",
            *_table(rows),
            "",
            f"others' calls: {len(times):,}, {quantiles} (idle p99 {_quantile(idle, 0.99)} ms)",
            f"our own sleep was late by {_quantile(late, 0.99)} ms at the p99",
            f"RSS, MiB: {before:.0f} before, {most:.0f} at most",
        )
    )


def _requests(outcome: Outcome) -> list[str]:
    ledger = outcome.ledger
    kinds: dict[str, list[Entry]] = {}
    for entry in ledger.entries:
        kinds.setdefault(entry.what, []).append(entry)
    rows: list[tuple[str, ...]] = [("Requests", "sent", "answered", "errors", "healthy", "p50 ms", "p99 ms")]
    for what, entries in sorted(kinds.items(), key=lambda one: -len(one[1])):
        healthy = [one for one in entries if ledger.is_healthy(one)]
        seconds = sorted(one.answers[0][0] - one.sent - one.delay for one in healthy)
        answered = [one for one in entries if one.answers]
        errors = sum(one.answers[0][1] != OK for one in answered)
        counts = (len(entries), len(answered), errors, len(healthy))
        rows.append((what, *map(str, counts), _quantile(seconds, 0.5), _quantile(seconds, 0.99)))
    cancelled = sum(one.cancelled is not None for one in ledger.entries)
    in_all = f"{len(ledger.entries):,} requests in {outcome.seconds:.0f} s, {cancelled:,} of them cancelled"
    return [in_all, "", *_table(rows)]


def _heard(outcome: Outcome) -> list[str]:
    seen = outcome.ledger.seen.most_common()
    return _table([("Heard", "times"), *((what, str(count)) for what, count in seen)])


def _errors(outcome: Outcome) -> list[str]:
    ends = Counter(one.answers[0][1][:80] for one in outcome.ledger.entries if one.answers)
    del ends[OK]
    return _table([("Errors", "answers"), *((end, str(count)) for end, count in ends.most_common())])


def _faults(outcome: Outcome) -> list[str]:
    faults = Counter(fault.what for fault in outcome.ledger.faults)
    return _table([("Faults", "times"), *((what, str(count)) for what, count in faults.most_common())])


def _resources(outcome: Outcome) -> list[str]:
    before, after = outcome.before, outcome.after
    memory = [f"{one / MIB:.0f}" for one in windows(outcome.rss)]
    peak = max((rss for _, rss in outcome.rss), default=0) / MIB
    restarts = sum(len(pids) - 1 for pids in outcome.lives.values())
    table = _table(
        [
            ("Resources", "before", "after"),
            ("descriptors", str(before.descriptors), str(after.descriptors)),
            ("threads", str(before.threads), str(after.threads)),
            ("running servers", str(len(before.children)), str(len(after.children))),
            ("guards", str(len(before.guards)), str(len(after.guards))),
            ("RSS, MiB", f"{before.rss / MIB:.0f}", f"{after.rss / MIB:.0f}"),
        ]
    )
    return [
        *table,
        "",
        f"RSS under load, mean of each sixth, MiB: {', '.join(memory)}; peak {peak:.0f}",
        f"servers restarted: {restarts}",
        f"CPU when idle: {outcome.idle_cpu:.2%}; exit after the end of input: {outcome.exit_seconds:.2f} s",
    ]


def _quantile(ordered: Sequence[float], share: float) -> str:
    return f"{1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]:.1f}" if ordered else "-"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_cell(cell, i, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
    return [lines[0], "-" * sum(widths, 2 * (len(widths) - 1)), *lines[1:]]


def _cell(text: str, column: int, width: int) -> str:
    return text.rjust(width) if column else text.ljust(width)
