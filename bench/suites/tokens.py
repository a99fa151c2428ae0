"""What toolboxes of real servers cost a model in tokens: natively, and behind the workbench.

The servers are published ones, with fixed versions, and the figures are those of `mcp-workbench tokens`.
native: what clients pass on to a model without a workbench. start: what the workbench shows in its place.
opened: every toolbox opened once. of native: start and opened together, in percent of native. search: a
search and the call of what it found. One by one, each server is the only one of its workbench. In mixes,
toolboxes have four to six servers, alone and in pairs; then there are the ten servers of the example, and
all servers together. Servers whose tools take less than the start are not judged: nothing could make them
pay.
"""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.pricing import servers
from bench.process import TargetFailed
from bench.results import Measurement, median
from bench.targets import WORKBENCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.measure import Plan
    from bench.targets import Setting

    Json = dict[str, Any]
    Boxes = Mapping[str, Sequence[str]]

SUITE = "tokens"
ONE_BY_ONE = "one by one"
IN_MIXES = "in mixes"
IN_ALL = "in all"
MEDIAN_OPENED = "opened once, of native: median"
MOST_OF_MANY = "opened once, of native: most, from 20 tools on"
MOST_OF_FEW = "opened once, of native: most, fewer tools"
MEDIAN_SEARCH = "search and call: median"
QUICK_SERVERS = ("memory", "filesystem", "everything")
MANY_TOOLS = 20
LEAST_NATIVE_TOKENS = 350
"""What the tools of a server take natively, from which on a workbench for it alone is judged. The start takes
300."""
COMMAND_SECONDS = 600.0
AT_ONCE = 4
"""Servers that are started together."""


class Price(NamedTuple):
    """What one configuration costs."""

    tools: int
    native: int
    start: int
    opened: int
    search: int

    @property
    def percent(self) -> float:
        """The start and everything opened once, in percent of native."""
        return 100 * (self.start + self.opened) / self.native


def run(plan: Plan) -> list[Measurement]:
    """Counts once: the same tools always cost the same."""
    names = [name for name in servers.SERVERS if not plan.quick or name in QUICK_SERVERS]
    servers.install(names)
    single, _ = _prices(plan.setting, {name: [name] for name in names})
    mixed = dict(_mixes(plan.setting, names))
    return [
        *_rows(ONE_BY_ONE, single),
        *_rows(IN_MIXES, mixed),
        *_over_all([*single.values(), *mixed.values()]),
    ]


def _mixes(setting: Setting, names: Sequence[str]) -> Iterator[tuple[str, Price]]:
    themes = {
        theme: [name for name in of_theme if name in names]
        for theme, of_theme in servers.by_theme().items()
        if any(name in names for name in of_theme)
    }
    rows, total = _prices(setting, themes)
    yield from rows.items()
    for one, other in pairwise(themes):
        yield f"{one} and {other}", _prices(setting, {one: themes[one], other: themes[other]})[1]
    ten = {box: list(of_box["mcpServers"]) for box, of_box in servers.TEN["toolboxes"].items()}
    if all(name in names for of_box in ten.values() for name in of_box):
        yield "the ten of the example", _prices(setting, ten)[1]
    yield "all of these", total


def _prices(setting: Setting, boxes: Boxes) -> tuple[dict[str, Price], Price]:
    """The price of each toolbox alone, and of all together. Lists the tools that are not in the catalogue."""
    config = {
        name: {
            "description": f"Tools of {', '.join(of_box)}",
            "mcpServers": {server: servers.entry(server, setting.directory) for server in of_box},
        }
        for name, of_box in boxes.items()
    }
    path = setting.directory / "workbench-config.json"
    path.write_text(json.dumps({"toolboxes": config}), encoding="utf-8")
    missing = [f"{it['toolbox']}/{it['server']}" for it in _command(setting, "tokens")["missing"]]
    for start in range(0, len(missing), AT_ONCE):
        _command(setting, "index", *missing[start : start + AT_ONCE])
    account = _command(setting, "tokens")
    if account["missing"]:
        raise TargetFailed(f"these servers do not list their tools: {account['missing']}")
    rows = {row["toolbox"]: _price(row) for row in account["toolboxes"]}
    return rows, _price(account["total"])


def _command(setting: Setting, *arguments: str) -> Any:
    # The command runs in another directory, and the path of its interpreter may be relative to this one.
    command = [str(Path(setting.python).absolute()), "-m", "mcp_workbench", *arguments, "--json"]
    done = subprocess.run(
        command,
        cwd=setting.directory,
        env=setting.environment(),
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    if not done.stdout:
        raise TargetFailed(f"{' '.join(command)} ended with code {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def _price(row: Json) -> Price:
    search = row["search"] + row["call"]
    return Price(row["tools"], row["native"], row["start"], row["opened"]["auto"], search)


def _rows(case: str, prices: Mapping[str, Price]) -> Iterator[Measurement]:
    for name, price in prices.items():
        figures = price._asdict() | {"of native": price.percent}
        for figure, number in figures.items():
            yield Measurement(SUITE, case, name, figure, "%" if figure == "of native" else "1", (number,))


def _over_all(prices: Sequence[Price]) -> Iterator[Measurement]:
    many = [price.percent for price in prices if price.tools >= MANY_TOOLS]
    few = [
        price.percent for price in prices if price.tools < MANY_TOOLS and price.native >= LEAST_NATIVE_TOKENS
    ]
    figures = {
        MEDIAN_OPENED: ("%", median([price.percent for price in prices])),
        MOST_OF_MANY: ("%", max(many, default=0.0)),
        MOST_OF_FEW: ("%", max(few, default=0.0)),
        MEDIAN_SEARCH: ("1", median([price.search for price in prices])),
    }
    for figure, (unit, number) in figures.items():
        yield Measurement(SUITE, IN_ALL, WORKBENCH.key, figure, unit, (number,))
