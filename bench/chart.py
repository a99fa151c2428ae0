"""The chart of a whole run: ratios to the bare relays, with their quartiles, on one logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.bodies import STRUCTURED, TEXT
from bench.over_http import targets as over_http
from bench.results import Quartiles
from bench.suites import cold, growth, http, latency, memory, throughput
from bench.targets import FASTMCP_MOUNT, LEAN_RELAY, WORKBENCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.results import Measurement

SERIES = (
    ("workbench", {WORKBENCH.key, over_http.WORKBENCH.key}, "#1f5fbf", "o"),
    ("workbench, 2026-07-28 over HTTP", {over_http.WORKBENCH_MODERN.key}, "#7a4fbf", "v"),
    (LEAN_RELAY.title, {LEAN_RELAY.key}, "#2e9960", "s"),
    ("FastMCP", {FASTMCP_MOUNT.key, over_http.FASTMCP.key}, "#c25a1c", "D"),
    (over_http.MCP_PROXY_PEER.title, {over_http.MCP_PROXY_PEER.key}, "#a08a1c", "^"),
)
"""As named in the legend, the keys of the targets, colour and mark."""
INK = "#333333"
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)


class Row(NamedTuple):
    """A line of the chart."""

    label: str
    suite: str
    case: str
    figure: str
    inverted: bool = False
    """Whether more is better, so that the inverse has to be shown."""


ROWS = (
    Row("start to first tools/list, CPU", cold.SUITE, cold.CASE, "CPU"),
    *(
        Row(f"call, {kind} of {shown}", latency.SUITE, latency.case_name(kind, shown), "p50")
        for kind in (TEXT, STRUCTURED)
        for shown, _, _ in latency.SIZES
    ),
    Row("call, text of 100 B, CPU", latency.SUITE, latency.case_name(TEXT, "100 B"), "CPU per call"),
    Row(
        "64 in flight, time per call",
        throughput.SUITE,
        throughput.case_name(64),
        throughput.RATE,
        inverted=True,
    ),
    Row(
        "256 in flight, time per call",
        throughput.SUITE,
        throughput.case_name(256),
        throughput.RATE,
        inverted=True,
    ),
    Row("10 servers open, memory", memory.SUITE, memory.AFTER_OPENING, "RSS"),
    Row("opening 5,000 tools, CPU", growth.SUITE, growth.MOST_TOOLS_OPENING, "CPU"),
    *(
        Row(f"over HTTP, call, text of {shown}", http.SUITE, http.case_name(shown), "p50")
        for shown, _, _ in http.SIZES
    ),
    Row(
        "over HTTP, 64 connections, time per call",
        http.SUITE,
        http.parallel_case_name(64),
        http.RATE,
        inverted=True,
    ),
)


def draw(measurements: Sequence[Measurement], path: Path) -> None:
    """Draws the chart into an SVG file."""
    found = {(one.suite, one.case, one.figure, one.target): one.ratio for one in measurements}
    # The same figures give the same file: no date in it, no random ids.
    mpl.rcParams.update({"svg.hashsalt": "mcp-workbench", "font.size": 10, "svg.fonttype": "none"})
    figure = Figure(figsize=(8.8, 6.8), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for title, keys, colour, marker in SERIES:
        points = [
            (place, _inverse(ratio) if row.inverted else ratio)
            for place, row in enumerate(ROWS)
            for key in keys
            if (ratio := found.get((row.suite, row.case, row.figure, key)))
        ]
        if points:
            axes.errorbar(
                [ratio.median for _, ratio in points],
                [place for place, _ in points],
                xerr=[
                    [ratio.median - ratio.low for _, ratio in points],
                    [ratio.high - ratio.median for _, ratio in points],
                ],
                fmt=marker,
                color=colour,
                label=title,
                markersize=6,
                capsize=3,
            )
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(ROWS)), [row.label for row in ROWS])
    axes.invert_yaxis()
    axes.grid(axis="x", color="#dddddd")
    axes.grid(axis="y", color="#f0f0f0")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        "ratio to the bare relay of the same kind (1×), less is better; bars are quartiles", color=INK
    )
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _inverse(ratio: Quartiles) -> Quartiles:
    return Quartiles(1 / ratio.high, 1 / ratio.median, 1 / ratio.low)
