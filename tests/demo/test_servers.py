"""What the demo's tools do, and that their schemas tell the truth about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from mcp_workbench.demo.servers import notes, stats, text, units

if TYPE_CHECKING:
    from mcp_workbench.demo.tools import DemoTool

TOOLS = {
    tool.name: tool
    for server in (text.SERVER, notes.server(), stats.SERVER, units.SERVER)
    for tool in server.tools
}

UNITS = """\
length: millimetre, metre, kilometre, inch, foot, mile
mass: gram, kilogram, ounce, pound
time: second, minute, hour, day
temperature: kelvin, celsius, fahrenheit"""


def structured(result: dict[str, Any], tool: DemoTool) -> dict[str, Any]:
    """The object a tool gave, once it is known to be what the schema promises and the text says."""
    content: dict[str, Any] = result["structuredContent"]
    jsonschema.validate(content, tool.gives or {})
    assert result == {
        "content": [{"type": "text", "text": json.dumps(content)}],
        "structuredContent": content,
    }
    return content


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_tool_describes_itself_with_sound_schemas(tool: DemoTool) -> None:
    definition = tool.definition()

    jsonschema.Draft202012Validator.check_schema(definition["inputSchema"])
    jsonschema.Draft202012Validator.check_schema(definition.get("outputSchema", {}))
    assert all(definition[field] for field in ("name", "title", "description", "annotations"))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("count_words", {"text": "one two\nthree"}, {"words": 3, "characters": 13, "lines": 2}),
        ("count_words", {"text": ""}, {"words": 0, "characters": 0, "lines": 0}),
        (
            "outline",
            {"markdown": "# One\ntext\n### Two ###\n#no heading"},
            {"headings": [{"level": 1, "title": "One"}, {"level": 3, "title": "Two"}]},
        ),
        (
            "summarise",
            {"numbers": [2, 4, 4, 4, 5, 5, 7, 9]},
            {"count": 8, "mean": 5, "median": 4.5, "minimum": 2, "maximum": 9, "standard_deviation": 2},
        ),
        ("percentile", {"numbers": [10, 30, 20], "percent": 75}, {"value": 25}),
        ("percentile", {"numbers": [10, 30, 20], "percent": 100}, {"value": 30}),
        ("trend", {"numbers": [1, 3, 5]}, {"slope": 2, "start": 1}),
        ("trend", {"numbers": [7]}, {"slope": 0, "start": 7}),
        (
            "convert",
            {"value": 1, "from": "mile", "to": "kilometre"},
            {"value": 1.609344, "unit": "kilometre"},
        ),
        ("convert", {"value": 212, "from": "fahrenheit", "to": "celsius"}, {"value": 100, "unit": "celsius"}),
    ],
)
def test_a_tool_gives_the_object_its_schema_promises(
    name: str, arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert structured(TOOLS[name].call(arguments), TOOLS[name]) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("slugify", {"text": "  Crème brûlée: a recipe, No. 7!  "}, "creme-brulee-a-recipe-no-7"),
        (
            "list_units",
            {},
            UNITS,
        ),
    ],
)
def test_a_tool_without_an_output_schema_gives_text(
    name: str, arguments: dict[str, Any], expected: str
) -> None:
    assert TOOLS[name].call(arguments) == {"content": [{"type": "text", "text": expected}]}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("count_words", {}, "arguments.text is missing"),
        ("count_words", ["text"], "arguments must be of type object"),
        (
            "count_words",
            {"text": 1, "txt": ""},
            "arguments.text must be of type string; arguments.txt is not known here",
        ),
        ("summarise", {"numbers": []}, "arguments.numbers must have 1 to 10000 items"),
        ("summarise", {"numbers": [1, True]}, "arguments.numbers[1] must be of type number"),
        ("summarise", {"numbers": [float("inf")]}, "arguments.numbers[0] must be from -1e+15 to 1e+15"),
        (
            "convert",
            {"value": 1, "from": "day", "to": "x"},
            f"arguments.to must be one of: {', '.join(units.UNITS)}",
        ),
        (
            "convert",
            {"value": 1, "from": "day", "to": "gram"},
            "day measures time but gram measures mass. list_units shows which units go together.",
        ),
        (
            "slugify",
            {"text": "!"},
            "Nothing is left of this text as a slug: it has no letters a-z and no digits.",
        ),
        ("delete_note", {"id": 7}, "There is no note 7. find_notes without words lists all of them."),
    ],
)
def test_what_a_tool_cannot_do_comes_back_as_words_for_the_model(
    name: str, arguments: Any, expected: str
) -> None:
    assert TOOLS[name].call(arguments) == {"content": [{"type": "text", "text": expected}], "isError": True}


def test_notes_are_kept_found_and_deleted() -> None:
    add, find, delete = notes.server().tools

    added = [structured(add.call({"text": words}), add) for words in ("Buy milk", "Call Ada", "Milk the cow")]
    found = structured(find.call({"words": "milk"}), find)
    delete.call({"id": 1})
    left = structured(find.call({}), find)

    assert added == [{"id": number, "notes_kept": number} for number in (1, 2, 3)]
    assert found == {"notes": [{"id": 1, "text": "Buy milk"}, {"id": 3, "text": "Milk the cow"}]}
    assert left == {"notes": [{"id": 2, "text": "Call Ada"}, {"id": 3, "text": "Milk the cow"}]}
