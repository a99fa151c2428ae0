"""Writes a tool as one line from which a model can call it.

`read_file(path: string, head?: integer) — Read a file`. Owns what the line says about a tool, and how long it
is. `schema_types` writes the types; hidden characters are removed before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members, decode_text
from mcp_workbench.workbench.text.schema_texts import texts_of
from mcp_workbench.workbench.text.schema_types import Inexpressible, SchemaTypes, display_name
from mcp_workbench.workbench.text.shortening import MORE, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.workbench.text.schema_texts import SchemaText

__all__ = ["display_name", "leading", "signature", "summary"]

PARAMETERS_CHARACTERS: Final = 3000
"""Length of all parameters with their types. A tool with more has no signature."""
TOOL_TEXT_CHARACTERS: Final = 160
PARAMETER_TEXT_CHARACTERS: Final = 80
PARAMETER_VALUES_CHARACTERS: Final = 320
"""Length of the text about a parameter whose values are named only there."""
PARAMETER_TEXTS_CHARACTERS: Final = 1000
READ_CHARACTERS: Final = 2000
"""How much of a description is read: its topic stands at its beginning."""

_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?![a-z])"  # small letters after it: an abbreviation
    r"|(?<=[\u3002\uff01\uff1f])"  # the same in Chinese and Japanese, where no space follows
    r"|\n\s*\n"
)
_NAMES_VALUES: Final = re.compile(
    r"\b(?:valid|allowed|supported|possible|accepted|permitted)\b.{0,30}\b(?:values?|options)\b"
    r"|\bvalues (?:are|include|supported)\b|\bone of:|\b(?:must|should) be in\b"
    r"|(['\"`])[^'\"`\s]{1,30}\1(?: \(.{0,80}\))?,? or (['\"`])[^'\"`\s]{1,30}\2",
    re.IGNORECASE,
)
"""How a sentence says which values a parameter takes, so that a call without it would be a guess."""
_ENDS: Final = ".!?:\u2026\u3002\uff01\uff1f"
_NOT_ALPHANUMERIC: Final = re.compile(r"[\W_]+")


def signature(name: str, definition: bytes | msgspec.Raw) -> str | None:
    """Return the line about a tool: name, parameters with types, and what its definition says about each.

    Return None if the line could not say what the schema says: alternatives of objects, conditions, deep
    nesting, references to itself, long patterns. Texts are shortened, and marked with an ellipsis.
    """
    members = _members(definition)
    description = decode_text(members.get("description", ABSENT)) or ""
    try:
        schema = _decoded(members.get("inputSchema", ABSENT))
        parameters = _parameters(schema)
    except Inexpressible:
        return None
    about, about_parameters = (
        leading(description, TOOL_TEXT_CHARACTERS),
        "; ".join(_about_parameters(schema)),
    )
    if about and about_parameters and about[-1] not in _ENDS:
        about += "."
    words = " ".join(filter(None, (about, about_parameters)))
    return f"{display_name(name)}({parameters})" + (f" — {words}" if words else "")


def summary(description: str, width: int) -> str:
    """Return the first sentence on one line, cut after a word if it has more than `width` characters."""
    first, *_ = _SENTENCE_END.split(description[:READ_CHARACTERS].strip(), maxsplit=1)
    return shorten(first, width)


def leading(text: str, width: int) -> str:
    """Return as many sentences as fit on one line, or else the beginning of the first.

    An ellipsis says that there is more.
    """
    shown, *others = _sentences(text)
    for sentence in others:
        if len(shown) + 1 + len(sentence) > width:
            # A short sentence alone ("Optional.") says too little.
            is_telling = len(shown) > width // 3
            return shorten(f"{shown} {MORE if is_telling else sentence}", width)
        shown += f" {sentence}"
    return shorten(shown if len(text) <= READ_CHARACTERS else f"{shown} {MORE}", width)


def _sentences(text: str) -> list[str]:
    return [" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text[:READ_CHARACTERS].strip())]


def _bare(text: str) -> str:
    """Return the letters and digits of a text in lower case, to see whether two texts say the same."""
    return _NOT_ALPHANUMERIC.sub("", text).casefold()


def _members(definition: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        return decode_members(definition)
    except (msgspec.DecodeError, RecursionError):
        return {}


def _decoded(schema: msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(schema) if schema else {}
    except (msgspec.DecodeError, RecursionError):
        raise Inexpressible from None


def _parameters(schema: object) -> str:
    types = SchemaTypes(schema)
    fields = types.fields(schema)
    if not fields:
        # No parameters, or arbitrary names.
        whole = types.write(schema)
        return "" if whole in ("object", "any") else whole
    shown: list[str] = []
    space = PARAMETERS_CHARACTERS
    for name, is_required, inner in fields:
        mark = "" if is_required else "?"
        shown.append(f"{display_name(name)}{mark}: {types.write(inner)}")
        space -= len(shown[-1]) + 2
        if space < 0:
            raise Inexpressible
    return ", ".join(shown)


def _about_parameters(schema: object) -> Iterator[str]:
    space = PARAMETER_TEXTS_CHARACTERS
    for said in texts_of(schema):
        if not said.is_first and not _NAMES_VALUES.search(said.text[:READ_CHARACTERS]):
            continue  # what is said about a list says enough about its items
        if _bare(said.text) in ("", _bare(said.path.rpartition(".")[2])):
            continue  # it says nothing beyond the name
        about = f"{said.path}: {_about_parameter(said).rstrip('.')}"
        space -= len(about) + 2
        if space < 0:
            yield MORE
            return
        yield about


def _about_parameter(said: SchemaText) -> str:
    """Return the beginning of a description, and the sentences that name values which the schema does not."""
    shown = leading(said.text, PARAMETER_TEXT_CHARACTERS)
    if said.has_values or not shown.endswith(MORE):
        return shown
    first, *others = _sentences(said.text)
    if any(named.end() >= len(shown) for named in _NAMES_VALUES.finditer(first)):
        return leading(said.text, PARAMETER_VALUES_CHARACTERS)
    naming = [sentence for sentence in others if _NAMES_VALUES.search(sentence)]
    if not naming or all(sentence in shown for sentence in naming):
        return shown
    return shorten(" ".join([first, *naming]), PARAMETER_VALUES_CHARACTERS)
