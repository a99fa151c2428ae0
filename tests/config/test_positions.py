"""The line of a place in our configuration file."""

from __future__ import annotations

import json
import time

import pytest

from mcp_workbench.config.source.positions import Positions

TEXT = """// head
{
  "toolboxes": { // all
    "dev": {
      "description": "x", "mcpServers": {
        "a.b": {
          /* many */ "args": [
            "one",
            "two",
          ],
        }
      }
    }
  }
}
"""
SERVER = ("toolboxes", "dev", "mcpServers", "a.b")


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ((), 2),
        (("toolboxes",), 3),
        (("toolboxes", "dev", "description"), 5),
        ((*SERVER, "args"), 7),
        ((*SERVER, "args", 1), 9),
        ((*SERVER, "args", 2), 7),
        ((*SERVER, "command"), 6),
        (("toolboxes", "dev", "description", "x"), 5),
        (("toolbox",), 2),
    ],
)
def test_a_place_has_the_line_of_its_key_or_of_the_nearest_parent(
    place: tuple[str | int, ...], line: int
) -> None:
    assert Positions(TEXT).line_of(place) == line


def test_of_a_key_that_is_written_twice_the_last_one_counts() -> None:
    assert Positions('{"a": 1,\n"a": 2}').line_of(("a",)) == 2


@pytest.mark.parametrize("text", ["", "  ", "{", '{"a" 1}', '{"a": 1, "b": tru}', "[" * 100_000])
def test_a_text_that_is_not_json_has_no_lines(text: str) -> None:
    assert Positions(text).line_of(("a", "b")) is None


@pytest.mark.untraced
def test_many_places_of_a_large_file_are_found_in_a_fraction_of_a_second() -> None:
    tree = {
        "boxes": {
            f"box {n}": {"servers": {f"s{m}": {"args": ["x"] * 5} for m in range(20)}} for n in range(300)
        }
    }
    text = json.dumps(tree, indent=2)
    started = time.perf_counter()
    positions = Positions(text)
    lines = [
        positions.line_of(("boxes", f"box {n}", "servers", f"s{m}", "args", 4))
        for n in range(300)
        for m in range(20)
    ]
    assert time.perf_counter() - started < 2
    assert lines[0] == 11
    assert lines == sorted(lines, key=lambda line: line or 0)
