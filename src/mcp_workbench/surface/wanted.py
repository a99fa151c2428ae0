"""What a call of `open_toolbox` wants: read, and refused with a remedy where it makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from mcp_workbench.errors import InvalidCall
from mcp_workbench.surface.metatools import OPEN_TOOLBOX
from mcp_workbench.wire.message import ABSENT, NULL, decode_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.wire.message import Body

Detail = Literal["auto", "full", "signatures", "names"]

DEFAULT_LIMIT: Final = 8
MOST_FOUND: Final = 100
"""Tools that one query may ask for."""
MOST_QUERIES: Final = 20
LONGEST_QUERY: Final = 2000
"""Characters. Whoever has more to say has several queries."""
MOST_NAMES: Final = 100


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the tools of one toolbox, or of all where none is named."""

    toolbox: str | None = None
    queries: tuple[str, ...] = ()
    """What to search for, if anything."""
    is_list: bool = False
    """Whether the queries came as a list, and so do their answers."""
    limit: int = DEFAULT_LIMIT
    """Of tools, for each query."""
    names: tuple[str, ...] = ()
    """Of the tools that are wanted, and no others."""
    detail: Detail = "auto"


class _Arguments(msgspec.Struct):
    toolbox_name: msgspec.Raw = ABSENT
    toolbox: msgspec.Raw = ABSENT
    query: msgspec.Raw = ABSENT
    limit: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT
    detail: msgspec.Raw = ABSENT


_decode = msgspec.json.Decoder(_Arguments).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode
# Models write numbers as strings, too.
_decode_limit = msgspec.json.Decoder(int, strict=False).decode

_NO_QUERY = (
    'query cannot be empty: say in a few words what the tool should do, as in {"query": "read a file"}, '
    "or leave it out to list a whole toolbox"
)
_NO_NAMES = (
    'tools cannot be empty: name the tools whose definitions you want, as in {"tools": ["read_file"]}, '
    "or leave it out to list a whole toolbox"
)


def read_open(arguments: Body, toolboxes: Sequence[str]) -> Wanted:
    """What is wanted of which toolbox. Raises InvalidCall."""
    available = f"Available toolboxes: {', '.join(toolboxes) or 'none'}"
    try:
        found = _decode(arguments or b"{}")
    except (msgspec.DecodeError, RecursionError):
        raise InvalidCall(
            f'Invalid arguments: {OPEN_TOOLBOX} takes {{"toolbox_name": "…"}}. {available}'
        ) from None
    query, tools, limit, detail = map(_given, (found.query, found.tools, found.limit, found.detail))
    named = _given(found.toolbox_name) or _given(found.toolbox)
    if named == b'""' and (query or tools):
        named = b""  # others write nothing as that
    toolbox = _read_toolbox(named, available) if named or not (query or tools) else None
    if query and tools:
        raise _invalid("query and tools do not go together: search with query, or name the tools with tools")
    if limit and not query:
        raise _invalid("limit goes with query: leave it out, or say with query what to search for")
    return Wanted(
        toolbox=toolbox,
        queries=_read_queries(query),
        is_list=query[:1] == b"[",
        limit=_read_limit(limit),
        names=_read_names(tools),
        detail=_read_detail(detail),
    )


def _given(raw: msgspec.Raw) -> bytes:
    """Some clients write what they do not have as null."""
    return b"" if raw == NULL else bytes(raw)


def _invalid(reason: str) -> InvalidCall:
    return InvalidCall(f"Invalid arguments: {reason}")


def _read_toolbox(raw: bytes, available: str) -> str:
    name = decode_text(msgspec.Raw(raw))
    if name is None:
        raise _invalid(f"toolbox_name must be a string. {available}")
    if not name:
        raise _invalid(f"toolbox_name cannot be empty. {available}")
    return name


def _read_queries(raw: bytes) -> tuple[str, ...]:
    queries = _read_texts(raw, "query", _NO_QUERY)
    if len(queries) > MOST_QUERIES:
        raise _invalid(f"query has {len(queries)} entries; at most {MOST_QUERIES} are answered at once")
    longest = max(map(len, queries), default=0)
    if longest > LONGEST_QUERY:
        advice = "say it shorter, or in several queries"
        raise _invalid(f"query has {longest:,} characters; at most {LONGEST_QUERY:,} are taken: {advice}")
    return queries


def _read_names(raw: bytes) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_read_texts(raw, "tools", _NO_NAMES)))
    if len(names) > MOST_NAMES:
        raise _invalid(f"tools has {len(names)} names; at most {MOST_NAMES} are answered at once")
    return names


def _read_texts(raw: bytes, member: str, when_empty: str) -> tuple[str, ...]:
    """One text or a list of them; none if nothing was given."""
    if not raw:
        return ()
    try:
        text = decode_text(msgspec.Raw(raw))
        texts = _decode_texts(raw) if text is None else [text]
    except (msgspec.DecodeError, RecursionError):
        raise _invalid(f"{member} must be a string or a list of strings") from None
    if not texts or not all(text.strip() for text in texts):
        raise _invalid(when_empty)
    return tuple(texts)


def _read_limit(raw: bytes) -> int:
    if not raw:
        return DEFAULT_LIMIT
    try:
        limit = _decode_limit(raw)
    except msgspec.DecodeError:
        limit = 0
    if not 1 <= limit <= MOST_FOUND:
        usual = f"without it {DEFAULT_LIMIT} tools are given for each query"
        raise _invalid(f"limit must be a whole number from 1 to {MOST_FOUND}; {usual}")
    return limit


def _read_detail(raw: bytes) -> Detail:
    if not raw:
        return "auto"
    given = decode_text(msgspec.Raw(raw))
    for detail in get_args(Detail):
        if detail == given:
            return detail  # type: ignore[no-any-return] # one of them
    usual = "without it the richest is given that fits"
    raise _invalid(f"detail must be one of {', '.join(get_args(Detail))}; {usual}")
