"""Digests of what is approved: definitions of tools, instructions, and which program a server is.

Owns the canonical form of a definition: all members but icons and hints, with sorted keys, white space in
texts reduced to single spaces, and the values of `required`, `enum` and `type` sorted where they are schema
keywords. Two definitions have the same digest only if that is all in which they differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME
from mcp_workbench.protocol.lists import UNREAD_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import msgspec

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.config.model.policy import ToolHint

HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""The annotations that say what a tool does."""
TWICE: Final = "\x00twice"
"""Stands for an object with two members of one name: the members follow it in a list."""
VALUE: Final = "<value>"
"""Stands for a number or a secret among the arguments of a program."""

_PAIR: Final = 2
"""Length of a member as a list: its name and its value."""
_MAY_BE_SECRET: Final = re.compile(rf"{SENSITIVE_NAME}|[=:]|[A-Za-z0-9+_]{{16,}}")
"""Finds an option for a secret, an assignment, an address, a header, or what may be a token."""

_TEXTS: Final = frozenset(("title", "description", "$comment"))
_SETS: Final = frozenset(("required", "enum", "type"))
_SCHEMAS_BY_NAME: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
)
_SCHEMAS: Final = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contentSchema"),
    )
)


def definition_digest(definition: msgspec.Raw) -> str:
    """Return the digest of a definition in its canonical form, without hints."""
    return tree_digest(parsed(definition))


def tree_digest(tree: dict[str, Any]) -> str:
    """Return the digest of a definition that `parsed` has read."""
    return json_digest(_canonical(pinned_part(tree)))


def text_digest(text: str) -> str:
    """Return the digest of instructions, whatever white space is in them; empty if there are none."""
    words = _words(text)
    return json_digest(words) if words else ""


def json_digest(value: Any) -> str:
    """Return the digest of data as JSON, whatever the order of its keys."""
    return f"sha256:{hashlib.sha256(_json(value).encode()).hexdigest()}"


def list_digest(tools: Iterable[msgspec.Raw], *more: str) -> str:
    """Return the digest of a list of tools as it stands, byte by byte, and of more texts."""
    digest = hashlib.sha256()
    for text in more:
        data = text.encode(errors="surrogatepass")
        digest.update(b"%d:%b" % (len(data), data))
    for tool in tools:
        digest.update(b"%d:" % len(tool))
        digest.update(tool)
    return digest.hexdigest()


def parsed(definition: msgspec.Raw) -> dict[str, Any]:
    """Return a definition as data. An object with two members of one name becomes a list, see `TWICE`.

    Parsers differ on which of the two counts, and a model reads both.
    """
    tree = parsed_value(bytes(definition).decode(errors="replace"))
    return tree if isinstance(tree, dict) else {TWICE: tree}


def parsed_value(text: str) -> Any:
    """Return JSON as data, with all members of an object that has two of one name, see `TWICE`.

    Raises ValueError or RecursionError.
    """
    try:
        return _decode(text)
    except ValueError:
        # Python does not make numbers of thousands of digits.
        return json.loads(text, object_pairs_hook=_object, strict=False, parse_int=str)


def is_twice(value: Any) -> bool:
    """Whether a value stands for an object with two members of one name, see `TWICE`."""
    return isinstance(value, list) and value[:1] == [TWICE]


def pairs_of(twice: list[Any]) -> list[tuple[str, Any]]:
    """Return the members of an object that has two of one name."""
    # A server can write a list that looks like such an object, and whose entries are anything.
    return [(str(one[0]), one[1]) for one in twice[1:] if isinstance(one, list) and len(one) == _PAIR]


def has_twice(value: Any) -> bool:
    """Whether there is an object with two members of one name anywhere in what `parsed` has read."""
    if isinstance(value, dict):
        return TWICE in value or any(map(has_twice, value.values()))
    return is_twice(value) or (isinstance(value, list) and any(map(has_twice, value)))


def pinned_part(tree: dict[str, Any]) -> dict[str, Any]:
    """Return what the digest of a definition is about: everything that a model may read but the hints.

    What is null is left out: some libraries write it so where nothing was given, and others do not.
    """
    part = {
        member: value for member, value in tree.items() if value is not None and member not in UNREAD_MEMBERS
    }
    if isinstance(annotations := part.get("annotations"), dict):
        part["annotations"] = {
            key: value for key, value in annotations.items() if not (value is None or _is_hint(key, value))
        }
        if not part["annotations"]:
            del part["annotations"]
    return part


def hints_of(tree: dict[str, Any]) -> dict[str, bool]:
    """Return the annotations of a definition that say what the tool does."""
    annotations = tree.get("annotations")
    if not isinstance(annotations, dict):
        return {}
    return {name: value for name, value in annotations.items() if _is_hint(name, value)}


def claim_of(hints: dict[str, bool]) -> ToolHint:
    """Return what hints claim that a tool does."""
    reads_only, destroys = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if reads_only and not destroys:
        return "read-only"
    if destroys:
        return "destructive"
    if destroys is False:
        return "additive"
    # By the specification, what is not read-only destroys, unless the tool says otherwise.
    return "unknown" if reads_only is None else "destructive"


def program_of(config: ServerConfig, written: Sequence[str] | None) -> str:
    """Return which program a server is: its command and arguments without values, or its URL's origin.

    `written` has these as they are in the file, if they have references: their values differ between
    machines, and the program is the same.
    """
    if config.url is not None:
        from urllib.parse import urlsplit  # noqa: PLC0415 - only remote servers need it

        # A reference to a whole address says nothing: its origin is what counts.
        is_address = written is not None and "://" in written[0].partition("${")[0]
        parts = urlsplit(written[0] if written and is_address else config.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()
    command, *arguments = written or (config.command or "", *config.args)
    words = [command, *map(_without_value, _without_secrets(arguments))]
    return " ".join(json.dumps(word, ensure_ascii=False) if _needs_quotes(word) else word for word in words)


def program_digest(program: str) -> str:
    """Return the digest of a program, see `program_of`."""
    return json_digest(program)


def _without_secrets(arguments: Sequence[str]) -> list[str]:
    """Return arguments without the secrets that stand in them as they are: a lock may be committed."""
    if not any(map(_MAY_BE_SECRET.search, arguments)):
        return list(arguments)
    from mcp_workbench.config.masking.recognition import find_secrets  # noqa: PLC0415 - takes 5 ms

    cleaned = list(arguments)
    for secret in find_secrets({"args": list(arguments)}):
        index = secret.place[1]
        if isinstance(index, int):
            cleaned[index] = cleaned[index].replace(secret.value, VALUE)
    return cleaned


def _without_value(argument: str) -> str:
    """Return an argument such as `--port=80` without its value, and `80` as a value.

    Numbers are too short to be masked where they are the values of variables.
    """
    if argument.isdecimal() or argument in ("true", "false"):
        return VALUE
    return argument.partition("=")[0] if argument.startswith("-") else argument


def _is_hint(name: str, value: Any) -> bool:
    return name in HINTS and isinstance(value, bool)


def _needs_quotes(word: str) -> bool:
    return not word or not word.isprintable() or any(character in word for character in ' "\\')


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    return found if len(found) == len(pairs) else [TWICE, *map(list, pairs)]


def _canonical(definition: dict[str, Any]) -> dict[str, Any]:
    canonical: dict[str, Any] = {}
    for member, value in definition.items():
        if member in _TEXTS:
            canonical[member] = _text(value)
        elif member == "annotations" and isinstance(value, dict):
            canonical[member] = {key: _text(one) if key in _TEXTS else one for key, one in value.items()}
        else:
            canonical[member] = _schema(value) if member.endswith("Schema") else value
    return canonical


def _schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    canonical: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _TEXTS:
            canonical[keyword] = _text(value)
        elif keyword in _SETS and isinstance(value, list):
            canonical[keyword] = sorted(value, key=_json) if len(value) > 1 else value
        elif keyword in _SCHEMAS_BY_NAME and isinstance(value, dict):
            canonical[keyword] = {name: _schema(one) for name, one in value.items()}
        else:
            canonical[keyword] = _schema(value) if keyword in _SCHEMAS else value
    return canonical


def _text(value: Any) -> Any:
    return _words(value) if isinstance(value, str) else value


def _words(text: str) -> str:
    return " ".join(text.split())


def _json(value: Any) -> str:
    # With ASCII only: a lone surrogate of a server has no UTF-8.
    return _encode(value)


# Made once: with thousands of tools, to make them for each takes a fifth of the time.
_decode: Final = json.JSONDecoder(object_pairs_hook=_object, strict=False).decode
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
