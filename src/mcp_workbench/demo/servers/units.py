"""A demo server that converts between units of measure. Speaks 2025-11-25."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from mcp_workbench.demo.serving import LEGACY, DemoServer, serve
from mcp_workbench.demo.tools import DemoTool, ToolError, an_object


class Unit(NamedTuple):
    """A unit of measure: value * factor + offset is the value in the base unit of its quantity."""

    quantity: str
    factor: float
    offset: float = 0.0


UNITS: Final = {
    "millimetre": Unit("length", 0.001),
    "metre": Unit("length", 1),
    "kilometre": Unit("length", 1000),
    "inch": Unit("length", 0.0254),
    "foot": Unit("length", 0.3048),
    "mile": Unit("length", 1609.344),
    "gram": Unit("mass", 0.001),
    "kilogram": Unit("mass", 1),
    "ounce": Unit("mass", 0.028349523125),
    "pound": Unit("mass", 0.45359237),
    "second": Unit("time", 1),
    "minute": Unit("time", 60),
    "hour": Unit("time", 3600),
    "day": Unit("time", 86400),
    "kelvin": Unit("temperature", 1),
    "celsius": Unit("temperature", 1, 273.15),
    "fahrenheit": Unit("temperature", 5 / 9, 459.67 * 5 / 9),
}


def convert(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a value in another unit of the same quantity, to ten significant digits. Raises ToolError."""
    source, target = UNITS[arguments["from"]], UNITS[arguments["to"]]
    if source.quantity != target.quantity:
        raise ToolError(
            f"{arguments['from']} measures {source.quantity} but {arguments['to']} measures "
            f"{target.quantity}. list_units shows which units go together."
        )
    value = (arguments["value"] * source.factor + source.offset - target.offset) / target.factor
    return {"value": float(f"{value:.10g}"), "unit": arguments["to"]}


def list_units(_arguments: dict[str, Any]) -> str:
    """Return the units by quantity, a line for each quantity."""
    quantities = dict.fromkeys(unit.quantity for unit in UNITS.values())
    return "\n".join(
        f"{quantity}: {', '.join(name for name, unit in UNITS.items() if unit.quantity == quantity)}"
        for quantity in quantities
    )


_UNIT: Final = {"type": "string", "enum": list(UNITS)}

SERVER: Final = DemoServer(
    name="units",
    version=LEGACY,
    tools=(
        DemoTool(
            name="convert",
            title="Convert units",
            description="Convert a value between units of length, mass, time or temperature.",
            run=convert,
            takes=an_object(
                {"value": {"type": "number", "minimum": -1e15, "maximum": 1e15}, "from": _UNIT, "to": _UNIT}
            ),
            gives=an_object({"value": {"type": "number"}, "unit": _UNIT}),
        ),
        DemoTool(
            name="list_units",
            title="List units",
            description="List the units that convert knows, by what they measure.",
            run=list_units,
            takes=an_object({}),
        ),
    ),
)

if __name__ == "__main__":
    serve(SERVER)
