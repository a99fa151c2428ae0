"""The suites: one module each, with one function `run` that returns its measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.suites import (
    blocking,
    cold,
    growth,
    http,
    latency,
    memory,
    opening,
    recovery,
    search,
    size,
    throughput,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Plan
    from bench.results import Measurement

__all__ = ["DESCRIPTIONS", "SUITES"]

_MODULES = (cold, latency, throughput, opening, growth, memory, blocking, size, recovery, search, tokens)

SUITES: dict[str, Callable[[Plan], list[Measurement]]] = {module.SUITE: module.run for module in _MODULES}
"""All but the one over HTTP by name, in the order of a whole run."""

DESCRIPTIONS: dict[str, str] = {module.SUITE: module.__doc__ or "" for module in (*_MODULES, http)}
"""Of all, the one over HTTP last: it has targets of its own."""
