"""Prints tools for people: lists of them, and one with all that its definition says.

On a terminal, lines are cut to its width. In a pipe each tool is one line with tabs, and nothing is cut.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.cli.shell.page import BOLD, DIM
from mcp_workbench.cli.shell.schema_reading import SchemaReader, allowed_values, kind_in
from mcp_workbench.workbench.text.sanitise import clean_definition, show_name
from mcp_workbench.workbench.text.schema_types import literal
from mcp_workbench.workbench.text.signatures import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_workbench.cli.shell.page import Page
    from mcp_workbench.config import Origin
    from mcp_workbench.surface.listing.open_request import Detail

    Json = dict[str, Any]

SUMMARY_CHARACTERS: Final = 100
"""Length of the summary of a tool in a list."""

HINTS: Final = {
    "readOnlyHint": ("only reads", "may change something"),
    "destructiveHint": ("may destroy something", "destroys nothing"),
    "idempotentHint": ("a second call changes nothing more", "a second call does it again"),
    "openWorldHint": ("reaches other systems", "reaches no other systems"),
}
"""What annotations mean, if they are true and if they are false."""

EXAMPLES: Final = {
    "integer": "1",
    "number": "1.5",
    "boolean": "true",
    "array": "[]",
    "object": "{}",
    "null": "null",
}
"""An argument of each type, for an example; a text is named by its argument."""


class ShownTool(msgspec.Struct, frozen=True):
    """A tool to be shown to a person."""

    origin: Origin
    name: str
    definition: msgspec.Raw
    """The tool's definition, as its server lists it."""
    listed: str
    """How long ago the server listed the tool; empty if it is connected."""

    @property
    def full_name(self) -> str:
        """The names of the toolbox, the server and the tool, with slashes between them."""
        return "/".join([*self.origin, self.name])

    def read(self) -> Json:
        """Return the definition without hidden characters; empty if it cannot be read."""
        try:
            return _object(msgspec.json.decode(clean_definition(bytes(self.definition))[0]))
        except (msgspec.DecodeError, RecursionError):
            return {}


def show_tools(page: Page, tools: Sequence[ShownTool], detail: Detail, *, are_mixed: bool = False) -> None:
    """Print a list of tools at a level of detail. Tools of mixed servers are shown with their full names."""
    if detail == "full":
        for number, tool in enumerate(tools):
            if number:
                page.line()
            show_tool(page, tool)
    elif detail == "signatures":
        for tool in tools:
            _show_signature(page, tool, are_mixed=are_mixed)
    else:
        has_full_names = are_mixed or not page.is_terminal
        rows = [(tool.full_name if has_full_names else tool.name, _summary(tool)) for tool in tools]
        page.rows(rows, "" if are_mixed else "    ")


def _summary(tool: ShownTool) -> str:
    description = tool.read().get("description")
    return summary(description, SUMMARY_CHARACTERS) if isinstance(description, str) else ""


def _show_signature(page: Page, tool: ShownTool, *, are_mixed: bool) -> None:
    """Print a tool with its parameters and their types, and what it does."""
    schema = tool.read().get("inputSchema")
    schemas = SchemaReader(schema)
    parameters = ", ".join(
        f"{name}{'' if is_required else '?'}: {schemas.kind_of(inner)}"
        for name, is_required, inner in schemas.fields(schema)
    )
    if not page.is_terminal:
        page.rows([(tool.full_name, f"({parameters})", _summary(tool))])
        return
    name = tool.full_name if are_mixed else tool.name
    page.paragraph(f"{show_name(name)}({parameters})", "    ", "      ")
    page.paragraph(_summary(tool), "        ")


def show_tool(page: Page, tool: ShownTool) -> None:
    """Print all that a tool's definition says, and how to call it."""
    definition = tool.read()
    annotations = _object(definition.get("annotations"))
    title = definition.get("title") or annotations.get("title")
    named = f"  ({title})" if isinstance(title, str) and title != tool.name else ""
    page.line(f"{tool.full_name}{named}", BOLD)
    if tool.listed:
        page.line(f"listed {tool.listed}", DIM)
    if isinstance(description := definition.get("description"), str) and description.strip():
        page.line()
        page.paragraph(description.strip())
    schema = definition.get("inputSchema")
    _show_fields(page, "Arguments", schema, "  none", "required")
    if isinstance(output := definition.get("outputSchema"), dict):
        _show_fields(page, "Result", output, f"  {SchemaReader(output).kind_of(output)}", "")
    if hints := "; ".join(_hints(annotations)):
        page.line()
        page.line("What the server says about it", BOLD)
        page.paragraph(f"{hints}.", "  ")
    page.line()
    page.line("Example", BOLD)
    page.whole(f"  {example_call(tool, schema)}")


def example_call(tool: ShownTool, schema: object) -> str:
    """Return a command line that calls a tool with its required arguments."""
    schemas = SchemaReader(schema)
    words = [
        shlex.quote(f"{name}={_example(schemas, name, inner)}")
        for name, is_required, inner in schemas.fields(schema)
        if is_required
    ]
    return " ".join(["mcp-workbench", "call", shlex.quote(tool.full_name), *words])


def _show_fields(page: Page, heading: str, schema: object, otherwise: str, required: str) -> None:
    """Print the fields of an object: name, type, whether it is required, default and description."""
    schemas = SchemaReader(schema)
    fields = list(schemas.fields(schema))
    page.line()
    page.line(heading, BOLD)
    if not fields:
        page.paragraph(otherwise)
    for name, is_required, inner in fields:
        found = schemas.resolved(inner)
        default = f"default {literal(found['default'])}" if "default" in found else ""
        facts = [schemas.kind_of(inner), required if is_required else "optional", default]
        page.paragraph(f"{show_name(name)}  {', '.join(filter(None, facts))}", "  ", "    ")
        if isinstance(about := found.get("description"), str) and about.strip():
            page.paragraph(about.strip(), "      ")


def _hints(annotations: Json) -> Iterator[str]:
    for name, (if_true, if_false) in HINTS.items():
        if isinstance(value := annotations.get(name), bool):
            yield if_true if value else if_false


def _example(schemas: SchemaReader, name: str, schema: object) -> str:
    found = schemas.alternatives(schema)[0]
    values = found.get("examples")
    known = [found.get("default"), *(values if isinstance(values, list) else ()), *allowed_values(found)]
    for value in known:
        if value is not None:
            return value if isinstance(value, str) else literal(value)
    return EXAMPLES.get(kind_in(found) or "", name.upper())


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
