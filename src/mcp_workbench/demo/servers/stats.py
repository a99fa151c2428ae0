"""A demo server that describes lists of numbers. Speaks 2026-07-28."""

from __future__ import annotations

from math import floor, fsum, sqrt
from typing import Any, Final

from mcp_workbench.demo.serving import DemoServer, serve
from mcp_workbench.demo.tools import DemoTool, an_object
from mcp_workbench.protocol import names


def summarise(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return mean, median, extremes and standard deviation of the numbers."""
    numbers: list[float] = arguments["numbers"]
    mean = fsum(numbers) / len(numbers)
    variance = fsum((number - mean) ** 2 for number in numbers) / len(numbers)
    return {
        "count": len(numbers),
        "mean": mean,
        "median": _at_share(numbers, 0.5),
        "minimum": min(numbers),
        "maximum": max(numbers),
        "standard_deviation": sqrt(variance),
    }


def percentile(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the value below which a given percentage of the numbers lies."""
    return {"value": _at_share(arguments["numbers"], arguments["percent"] / 100)}


def trend(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return start and slope of the least-squares line through the numbers, taken at 0, 1, 2, …"""
    numbers: list[float] = arguments["numbers"]
    mean, centre = fsum(numbers) / len(numbers), (len(numbers) - 1) / 2
    spread = fsum((place - centre) ** 2 for place in range(len(numbers)))
    shared = fsum((place - centre) * (number - mean) for place, number in enumerate(numbers))
    slope = shared / spread if spread else 0.0
    return {"slope": slope, "start": mean - slope * centre}


def _at_share(numbers: list[float], share: float) -> float:
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below, above = floor(place), min(floor(place) + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


_NUMBER: Final = {"type": "number"}
_NUMBERS: Final = {
    "type": "array",
    "description": "The numbers, in any order",
    "items": {"type": "number", "minimum": -1e15, "maximum": 1e15},
    "minItems": 1,
    "maxItems": 10_000,
}

SERVER: Final = DemoServer(
    name="stats",
    version=names.MODERN,
    tools=(
        DemoTool(
            name="summarise",
            title="Summarise numbers",
            description="Mean, median, extremes and (population) standard deviation of a list of numbers.",
            run=summarise,
            takes=an_object({"numbers": _NUMBERS}),
            gives=an_object(
                {
                    "count": {"type": "integer"},
                    "mean": _NUMBER,
                    "median": _NUMBER,
                    "minimum": _NUMBER,
                    "maximum": _NUMBER,
                    "standard_deviation": _NUMBER,
                }
            ),
        ),
        DemoTool(
            name="percentile",
            title="Percentile",
            description="The value below which a given per cent of the numbers lie, interpolated.",
            run=percentile,
            takes=an_object(
                {"numbers": _NUMBERS, "percent": {"type": "number", "minimum": 0, "maximum": 100}}
            ),
            gives=an_object({"value": _NUMBER}),
        ),
        DemoTool(
            name="trend",
            title="Trend",
            description="The straight line that fits a series best: its start and its slope per step.",
            run=trend,
            takes=an_object({"numbers": {**_NUMBERS, "description": "The series, in order"}}),
            gives=an_object({"slope": _NUMBER, "start": _NUMBER}),
        ),
    ),
)

if __name__ == "__main__":
    serve(SERVER)
