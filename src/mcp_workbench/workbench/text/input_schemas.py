"""Writes an input schema as short as it can be, with all that it says about arguments.

Left out are the dialect, comments, titles that repeat a name, and that no other properties are allowed. White
space goes too. Everything else stays byte for byte, numbers and the order of members included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.wire.message import decode_members, decode_text, encode, starts_with
from mcp_workbench.workbench.text.signatures import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["short_schema"]

_SILENT: Final = frozenset({"$schema", "$comment"})
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
"""Keywords that hold schemas under names."""
_IN_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords that hold schemas in a list."""
_SINGLE: Final = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains"})
"""Keywords that hold a schema."""
_FALSE: Final = msgspec.Raw(b"false")

_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


def short_schema(schema: msgspec.Raw) -> bytes:
    """Return an input schema without what says nothing about arguments."""
    return _short(schema, None)


def _short(schema: msgspec.Raw, name: str | None) -> bytes:
    """Return the schema of a property with this name, or of all arguments."""
    if not starts_with(schema, b"{"):
        return _compact(schema)
    return b"{%b}" % b",".join(_members(decode_members(schema), name))


def _members(members: dict[str, msgspec.Raw], name: str | None) -> Iterator[bytes]:
    for key, value in members.items():
        if key in _SILENT or (key == "title" and _is_repeated(value, name)):
            continue
        if key == "additionalProperties" and value == _FALSE:
            continue
        yield b"%b:%b" % (encode(key), _value(key, value, name))


def _value(key: str, value: msgspec.Raw, name: str | None) -> bytes:
    if key in _BY_NAME and starts_with(value, b"{"):
        inner = decode_members(value).items()
        return b"{%b}" % b",".join(b"%b:%b" % (encode(each), _short(schema, each)) for each, schema in inner)
    if key in _IN_LISTS and starts_with(value, b"["):
        return b"[%b]" % b",".join(_short(schema, name) for schema in _decode_list(value))
    return _short(value, name) if key in _SINGLE else _compact(value)


def _is_repeated(title: msgspec.Raw, name: str | None) -> bool:
    """Whether a title says what the name of the property says. That of all arguments repeats the tool's."""
    return name is None or bare(decode_text(title) or "") == bare(name)


def _compact(value: msgspec.Raw) -> bytes:
    return msgspec.json.format(bytes(value), indent=-1)
