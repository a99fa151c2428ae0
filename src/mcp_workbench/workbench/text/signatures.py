"""Writes a tool as one line from which a model can call it.

`read_file(path: string, head?: integer) — Read a file`. Owns what the line says about a tool, and how long it
is. `schema_types` writes the types; hidden characters are removed before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members, decode_text
from mcp_workbench.workbench.text.schema_types import SchemaTypes, display_name, literal
from mcp_workbench.workbench.text.shortening import MORE, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["display_name", "signature", "summary"]

PARAMETERS_CHARACTERS: Final = 1000
"""Length of all parameters with their types. If there are more, the last, optional ones are left out."""
TOOL_TEXT_CHARACTERS: Final = 200
PARAMETER_TEXT_CHARACTERS: Final = 100
PARAMETER_TEXTS_CHARACTERS: Final = 700
READ_CHARACTERS: Final = 2000
"""How much of a description is read: its topic stands at its beginning."""
DEFAULT_CHARACTERS: Final = 24
"""Length of a default value; a longer one is not shown."""

_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?![a-z])"  # small letters after it: an abbreviation
    r"|(?<=[\u3002\uff01\uff1f])"  # the same in Chinese and Japanese, where no space follows
    r"|\n\s*\n"
)
_ENDS: Final = ".!?:\u2026\u3002\uff01\uff1f"
_NOT_ALPHANUMERIC: Final = re.compile(r"[\W_]+")


def signature(name: str, definition: bytes | msgspec.Raw) -> str:
    """Return the line about a tool: name, parameters with types, and what its definition says about each."""
    members = _members(definition)
    schema = _decoded(members.get("inputSchema", ABSENT))
    description = decode_text(members.get("description", ABSENT)) or ""
    about, about_parameters = (
        _leading(description, TOOL_TEXT_CHARACTERS),
        "; ".join(_about_parameters(schema)),
    )
    if about and about_parameters and about[-1] not in _ENDS:
        about += "."
    words = " ".join(filter(None, (about, about_parameters)))
    return f"{display_name(name)}({_parameters(schema)})" + (f" — {words}" if words else "")


def summary(description: str, width: int) -> str:
    """Return the first sentence on one line, cut after a word if it has more than `width` characters."""
    first, *_ = _SENTENCE_END.split(description[:READ_CHARACTERS].strip(), maxsplit=1)
    return shorten(first, width)


def _members(definition: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        return decode_members(definition)
    except (msgspec.DecodeError, RecursionError):
        return {}


def _decoded(schema: msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(schema) if schema else {}
    except (msgspec.DecodeError, RecursionError):
        return msgspec.UNSET


def _parameters(schema: object) -> str:
    if schema is msgspec.UNSET:
        return MORE
    types = SchemaTypes(schema)
    fields = types.fields(schema)
    if not fields:
        # Alternatives of whole objects, or an object with arbitrary names.
        whole = types.write(schema)
        return "" if whole in ("object", "any") else whole
    shown: list[str] = []
    space = PARAMETERS_CHARACTERS
    for name, is_required, inner in fields:
        mark = "" if is_required else "?"
        parameter = f"{display_name(name)}{mark}: {types.write(inner)}"
        parameter += _default(inner)
        space -= len(parameter) + 2
        if space < 0:
            shown.append(MORE)
            break
        shown.append(parameter)
    return ", ".join(shown)


def _default(schema: object) -> str:
    value = schema.get("default") if isinstance(schema, dict) else None
    if value is None or not isinstance(value, str | int | float):
        return ""
    text = literal(value)
    return f" = {text}" if len(text) <= DEFAULT_CHARACTERS else ""


def _about_parameters(schema: object) -> Iterator[str]:
    space = PARAMETER_TEXTS_CHARACTERS
    for name, _, inner in SchemaTypes(schema).fields(schema):
        description = inner.get("description") if isinstance(inner, dict) else None
        if not isinstance(description, str) or _bare(description) in ("", _bare(name)):
            continue  # it says nothing beyond the name
        about = f"{display_name(name)}: {_leading(description, PARAMETER_TEXT_CHARACTERS).rstrip('.')}"
        space -= len(about) + 2
        if space < 0:
            yield MORE
            return
        yield about


def _bare(text: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", text).casefold()


def _leading(description: str, width: int) -> str:
    """Return as many sentences as fit, or else the beginning of the first."""
    sentences = [
        " ".join(sentence.split()) for sentence in _SENTENCE_END.split(description[:READ_CHARACTERS].strip())
    ]
    text = sentences[0]
    for sentence in sentences[1:]:
        if len(text) + 1 + len(sentence) > width:
            break
        text += f" {sentence}"
    return shorten(text, width)
