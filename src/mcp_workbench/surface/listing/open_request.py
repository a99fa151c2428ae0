"""The arguments of `open_toolbox`: parsed, or refused with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from mcp_workbench.errors import InvalidCall
from mcp_workbench.surface.metatools import OPEN_TOOLBOX
from mcp_workbench.wire.message import decode_members, decode_text, encode
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.wire.message import Body

Detail = Literal["auto", "full", "signatures", "names"]

DEFAULT_LIMIT: Final = 8
MAX_LIMIT: Final = 100
"""Tools that one query may ask for."""
MAX_QUERIES: Final = 20
MAX_QUERY_CHARACTERS: Final = 2000
"""Length of a query. Longer ones should be split into several."""
MAX_NAMES: Final = 100


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for tools of one toolbox, or of all toolboxes if none is named."""

    toolbox: str | None = None
    queries: tuple[str, ...] = ()
    """What to search for; empty if this is not a search."""
    is_list: bool = False
    """Whether the queries were given as a list, so that the results are a list too."""
    limit: int = DEFAULT_LIMIT
    """How many tools to return for each query."""
    names: tuple[str, ...] = ()
    """The names of the tools that are asked for; empty for all."""
    detail: Detail = "auto"


TOOLBOX_KEYS: Final = ("toolbox_name", "toolbox")
KEYS: Final = ("toolbox_name", "query", "limit", "tools", "detail")
KEY_CHARACTERS: Final = 60

_EMPTY: Final = frozenset((b"null", b'""', b"[]", b"{}"))
"""Values that count as absent: clients with strict schemas must fill in every member."""

_decode_texts = msgspec.json.Decoder(list[str]).decode
# Not strict: some models write numbers as strings.
_decode_limit = msgspec.json.Decoder(int, strict=False).decode

_PART_EMPTY = "{} has an empty entry: leave it out, or write something into it"


def read_open(arguments: Body, toolboxes: Sequence[str]) -> OpenRequest:
    """Parse the arguments of `open_toolbox`. Empty optional members are absent. Raises InvalidCall."""
    available = f"Available toolboxes: {', '.join(toolboxes) or 'none'}"
    try:
        members = decode_members(arguments or b"{}")
    except (msgspec.DecodeError, RecursionError):
        raise InvalidCall(
            f'Invalid arguments: {OPEN_TOOLBOX} takes {{"toolbox_name": "…"}}. {available}'
        ) from None
    given = {key: bytes(value) for key, value in members.items() if not _is_empty(value)}
    toolbox = _read_toolbox(given, available)
    queries = _read_queries(query := given.pop("query", b""))
    names = _read_names(given.pop("tools", b""))
    limit = given.pop("limit", b"")
    detail = _read_detail(given.pop("detail", b""))
    if given:
        raise _unknown(next(iter(given)))
    if queries and names:
        raise _invalid("query and tools cannot be combined: search with query, or name the tools with tools")
    if toolbox is None and not (queries or names):
        example = encode(toolboxes[0] if toolboxes else "…").decode()
        raise _invalid(
            f"toolbox_name is missing. There are three ways to call {OPEN_TOOLBOX}: "
            f'{{"toolbox_name": {example}}} lists the tools of a toolbox, {{"query": "read a file"}} finds '
            f'tools in all toolboxes, {{"tools": ["read_file"]}} shows tools by name. {available}'
        )
    return OpenRequest(
        toolbox=toolbox,
        queries=queries,
        is_list=bool(queries) and query[:1] == b"[",
        limit=_read_limit(limit) if queries else DEFAULT_LIMIT,
        names=names,
        detail=detail,
    )


def _is_empty(raw: msgspec.Raw) -> bool:
    is_blank = (text := decode_text(raw)) is not None and not text.strip()
    return is_blank or bytes(raw).translate(None, b" \t\r\n") in _EMPTY


def _unknown(key: str) -> InvalidCall:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistaken call

    near = get_close_matches(key[:KEY_CHARACTERS].lower(), KEYS, n=1)
    meant = f"did you mean '{near[0]}'? It takes" if near else "it takes"
    return _invalid(
        f"{OPEN_TOOLBOX} does not take '{shorten(key, KEY_CHARACTERS)}'; {meant} {', '.join(KEYS)}"
    )


def _invalid(reason: str) -> InvalidCall:
    return InvalidCall(f"Invalid arguments: {reason}")


def _read_toolbox(given: dict[str, bytes], available: str) -> str | None:
    """Return the named toolbox, if one is named."""
    names = {decode_text(msgspec.Raw(given.pop(key))) for key in TOOLBOX_KEYS if key in given}
    if None in names:
        raise _invalid(f"toolbox_name must be a string. {available}")
    if len(names) > 1:
        raise _invalid(f"toolbox_name and toolbox differ: name one toolbox. {available}")
    return next(iter(names), None)


def _read_queries(raw: bytes) -> tuple[str, ...]:
    queries = _read_texts(raw, "query")
    if len(queries) > MAX_QUERIES:
        raise _invalid(f"query has {len(queries)} entries; at most {MAX_QUERIES} are answered at once")
    longest = max(map(len, queries), default=0)
    if longest > MAX_QUERY_CHARACTERS:
        advice = "shorten it, or use several queries"
        raise _invalid(
            f"query has {longest:,} characters; at most {MAX_QUERY_CHARACTERS:,} are taken: {advice}"
        )
    return queries


def _read_names(raw: bytes) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_read_texts(raw, "tools")))
    if len(names) > MAX_NAMES:
        raise _invalid(f"tools has {len(names)} names; at most {MAX_NAMES} are answered at once")
    return names


def _read_texts(raw: bytes, member: str) -> tuple[str, ...]:
    """Read one string or a list of strings; empty if none was given."""
    if not raw:
        return ()
    try:
        text = decode_text(msgspec.Raw(raw))
        texts = _decode_texts(raw) if text is None else [text]
    except (msgspec.DecodeError, RecursionError):
        raise _invalid(f"{member} must be a string or a list of strings") from None
    if not any(text.strip() for text in texts):
        return ()
    if not all(text.strip() for text in texts):
        raise _invalid(_PART_EMPTY.format(member))
    return tuple(texts)


def _read_limit(raw: bytes) -> int:
    if raw in (b"", b"0"):
        return DEFAULT_LIMIT
    try:
        limit = _decode_limit(raw)
    except msgspec.DecodeError:
        limit = 0
    if not 1 <= limit <= MAX_LIMIT:
        usual = f"without it {DEFAULT_LIMIT} tools are returned for each query"
        raise _invalid(f"limit must be a whole number from 1 to {MAX_LIMIT}; {usual}")
    return limit


def _read_detail(raw: bytes) -> Detail:
    if not raw:
        return "auto"
    given = decode_text(msgspec.Raw(raw))
    for detail in get_args(Detail):
        if detail == given:
            return detail  # type: ignore[no-any-return] # get_args returns Any
    usual = "by default, it is the most detailed that fits"
    raise _invalid(f"detail must be one of {', '.join(get_args(Detail))}; {usual}")
