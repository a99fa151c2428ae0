"""The headers of a modern HTTP request that repeat parts of its body, so that proxies need not parse it.

Owns the `x-mcp-header` keyword, by which a tool's schema asks for a parameter in a header, as the
specification of Streamable HTTP defines it. How values are encoded is in `protocol.headers`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.protocol.headers import NAMED_BY, encode_value
from mcp_workbench.protocol.lists import is_plain_name, unused_tool
from mcp_workbench.protocol.names import MODERN
from mcp_workbench.wire.message import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Headers = list[tuple[bytes, bytes]]
    Path = tuple[str, ...]

VERSION: Final = b"MCP-Protocol-Version"
SCHEMA_KEY: Final = "x-mcp-header"

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

_SCHEMAS: Final = frozenset(
    (
        *("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames"),
        *("unevaluatedProperties", "not", "if", "then", "else", "contentSchema"),
    )
)
"""Keywords of a JSON schema whose value is a schema."""
_SCHEMA_LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_SCHEMA_MAPS: Final = frozenset(("patternProperties", "dependentSchemas", "$defs", "definitions"))


class BadHeaderParam(Exception):
    """A tool's schema uses `x-mcp-header` in a way that the specification does not allow."""


class HeaderParams(msgspec.Struct, frozen=True):
    """The parameters of a tool that are repeated in headers: the path to each, and its header."""

    headers: Mapping[Path, bytes]


class _Tool(msgspec.Struct):
    name: str
    schema: Any = msgspec.field(default=None, name="inputSchema")


class _Params(msgspec.Struct):
    name: str = ""
    uri: str = ""
    arguments: msgspec.Raw = ABSENT


_decode_tool = msgspec.json.Decoder(_Tool).decode
_decode_params = msgspec.json.Decoder(_Params).decode


def modern_headers(method: str, params: msgspec.Raw, header_params: Mapping[str, HeaderParams]) -> Headers:
    """Return the headers of a request, given the header parameters of the tools that have some."""
    headers = [(VERSION, MODERN.encode()), (b"Mcp-Method", method.encode())]
    if method not in NAMED_BY:
        return headers
    named = _decode_params(params)
    name = named.uri if NAMED_BY[method] == "uri" else named.name
    headers.append((b"Mcp-Name", encode_value(name)))
    if method == "tools/call" and (marks := header_params.get(name)) is not None:
        headers += _param_headers(marks, named.arguments)
    return headers


def _param_headers(marks: HeaderParams, raw: msgspec.Raw) -> Headers:
    arguments = msgspec.json.decode(raw or b"{}")
    found = ((header, _written(_value_at(arguments, path))) for path, header in marks.headers.items())
    return [(header, encode_value(value)) for header, value in found if value is not None]


def _value_at(value: Any, path: Path) -> object:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _written(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if not isinstance(value, (str, int, float)):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return None


def read_header_params(tool: msgspec.Raw) -> tuple[str, HeaderParams | None]:
    """Return the name of a tool and its header parameters, if it has any. Raises BadHeaderParam."""
    if SCHEMA_KEY.encode() not in bytes(tool):
        return "", None
    try:
        found = _decode_tool(tool)
    except (msgspec.DecodeError, RecursionError):
        return "", None  # the listing reports what is wrong with it
    headers: dict[Path, bytes] = {}
    seen: set[str] = set()
    for path, schema in _positions(found.schema):
        if SCHEMA_KEY not in schema:
            continue
        if not path:
            what = f"{SCHEMA_KEY} stands where no plain parameter is"
            raise BadHeaderParam(f"{unused_tool(found.name)}: {what}")
        token = schema[SCHEMA_KEY]
        parameter = ".".join(path)
        named = f"parameter '{parameter}'" if is_plain_name(parameter) else "a parameter"
        where = f"{unused_tool(found.name)}, {named}: {SCHEMA_KEY}"
        if not (isinstance(token, str) and _TOKEN.fullmatch(token)):
            raise BadHeaderParam(f"{where} is not the name of a header")
        if schema.get("type") not in ("string", "integer", "boolean"):
            raise BadHeaderParam(f"{where} is for strings, integers and booleans only")
        if token.lower() in seen:
            raise BadHeaderParam(f"{where} names a header that another parameter has")
        seen.add(token.lower())
        headers[path] = f"Mcp-Param-{token}".encode()
    return found.name, HeaderParams(headers) if headers else None


def _positions(root: object) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Yield every schema inside a schema, with the path to it if that leads through `properties` only."""
    stack: list[tuple[Path | None, object]] = [((), root)]
    while stack:
        path, schema = stack.pop()
        if not isinstance(schema, dict):
            continue
        yield path, schema
        for keyword, value in schema.items():
            if keyword == "properties" and isinstance(value, dict):
                stack += [(None if path is None else (*path, key), part) for key, part in value.items()]
            elif keyword in _SCHEMAS:
                stack.append((None, value))
            elif keyword in _SCHEMA_LISTS and isinstance(value, list):
                stack += [(None, part) for part in value]
            elif keyword in _SCHEMA_MAPS and isinstance(value, dict):
                stack += [(None, part) for part in value.values()]
