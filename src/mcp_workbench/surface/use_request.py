"""The request of `use_tool` and `use_tool_read_only`: which tool to call, with which arguments.

Owns the forms in which a call may be written, and the error for every other form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.errors import InvalidCall
from mcp_workbench.protocol.names import INVALID_PARAMS
from mcp_workbench.surface.metatools import USE_TOOL
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import (
    ABSENT,
    NULL,
    OBJECT,
    decode_members,
    decode_text,
    is_json,
    starts_with,
)
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import ClientView


class ToolId(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Identifies a tool: three opaque names, never joined into one."""

    toolbox: str
    server: str
    tool: str


# The structs of a plain call accept no other members. `read_use` reads a call with any other member, and
# accepts it or says where it belongs: nothing is dropped.
class _PlainArguments(msgspec.Struct, forbid_unknown_fields=True):
    tool: ToolId
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _PlainParams(msgspec.Struct, forbid_unknown_fields=True):
    name: Literal["use_tool"]
    arguments: _PlainArguments
    meta: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict, name="_meta")
    task: msgspec.Raw = ABSENT
    state: msgspec.Raw = msgspec.field(default=ABSENT, name="requestState")
    responses: msgspec.Raw = msgspec.field(default=ABSENT, name="inputResponses")


class PlainUse(msgspec.Struct):
    """A whole message: a `tools/call` for `use_tool`, as nearly all clients write it."""

    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: _PlainParams


_decode_plain_use = msgspec.json.Decoder(PlainUse).decode

IDENTIFIER_FORM: Final = '{"toolbox": "…", "server": "…", "tool": "…"}'
USE_FORM: Final = f'{{"tool": {IDENTIFIER_FORM}, "arguments": {{…}}}}'
NOT_CALLED: Final = "The tool was not called."

ARGUMENT_KEYS: Final = ("arguments", "args", "parameters", "params", "input")
"""Members that hold a tool's arguments: ours first, then the names of other APIs."""
IDENTIFIER_KEYS: Final = {
    "toolbox": ("toolbox", "toolbox_name"),
    "server": ("server", "source_server"),
    "tool": ("tool", "name"),
}
"""The members of an identifier, each with the name that a listing shows it under."""
FLAT_KEYS: Final = (*IDENTIFIER_KEYS["toolbox"], *IDENTIFIER_KEYS["server"])
"""Members that show that an identifier stands beside `arguments`, if `tool` is no object."""
KEYS_SHOWN: Final = 5
KEY_CHARACTERS: Final = 60
EMPTY_TEXT: Final = msgspec.Raw(b'""')


def read_plain_use(line: Line) -> PlainUse | None:
    """Decode a plain call in one go. Returns None for a message that is not plain; it may still be valid."""
    try:
        if isinstance(line, bytes) and not line.isascii():
            line.decode()
        found = _decode_plain_use(line)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
    params = found.params
    is_plain = memoryview(params.arguments.arguments)[0] == OBJECT and not (params.state or params.responses)
    return found if is_plain else None


def read_use(arguments: Body, view: ClientView, meta_tool: str = USE_TOOL) -> tuple[ToolId, Body]:
    """Return the tool to call, and its arguments as the client wrote them. `meta_tool` was called for it.

    The tool is an object in `tool`, or three members beside `arguments`, or a text in `tool` that the view
    resolves. Arguments under another usual name, or inside of `tool`, are accepted if there are no others.
    Raises InvalidCall for every other member: without it the tool would act on its defaults.
    """
    try:
        members = _present(decode_members(arguments or b"{}"))
    except (msgspec.DecodeError, RecursionError):
        raise InvalidCall(f"Invalid arguments: {meta_tool} takes {USE_FORM}") from None
    identifier: dict[str, msgspec.Raw] = {}
    if _is_flat(members):
        _refuse_doubles(members)
        tool = _take_names(members)
    else:
        raw = members.pop("tool", ABSENT)
        text = decode_text(raw)
        if text is not None and not text.lstrip().startswith("{"):
            tool = _find_tool(text, view)
        else:
            # Some models write the object as a string.
            written = raw if text is None else msgspec.Raw(_in_one_line(text).encode())
            identifier = _read_identifier(written)
            tool = _take_names(identifier)
    given = _take_arguments(members, "") | _take_arguments(identifier, ' inside of "tool"')
    _refuse_strays(members, identifier, meta_tool)
    if len(given) > 1:
        *others, last = given
        raise InvalidCall(
            f"Invalid arguments: {', '.join(others)} and {last} are both given. Put all arguments of the "
            f'tool into "arguments", as in {USE_FORM}. {NOT_CALLED}'
        )
    return tool, _read_arguments(next(iter(given.values()), ABSENT))


def _is_flat(members: Mapping[str, msgspec.Raw]) -> bool:
    """Whether the identifier's members stand beside `arguments`, with the tool's name in `tool` or `name`.

    An object in `tool` is the identifier itself. What stands beside it belongs to the tool, and is refused.
    """
    return not starts_with(members.get("tool", ABSENT), b"{") and any(key in members for key in FLAT_KEYS)


def _refuse_doubles(members: Mapping[str, msgspec.Raw]) -> None:
    """Refuse two names for one member of a flat identifier: one of them may be meant for the tool."""
    for keys in IDENTIFIER_KEYS.values():
        if all(members.get(key, EMPTY_TEXT) != EMPTY_TEXT for key in keys):
            raise InvalidCall(
                f"Invalid tool identifier: {_quoted(keys)} are both given. If the tool takes one of them, "
                f'put it into "arguments", as in {USE_FORM}. {NOT_CALLED}'
            )


def _read_identifier(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    if not raw:
        raise InvalidCall(f'Invalid tool identifier: "tool" is missing; it takes {IDENTIFIER_FORM}')
    try:
        return _present(decode_members(raw))
    except (msgspec.DecodeError, RecursionError):
        raise InvalidCall(f'Invalid tool identifier: "tool" must be an object {IDENTIFIER_FORM}') from None


def _find_tool(text: str, view: ClientView) -> ToolId:
    if not text:
        raise InvalidCall(f'Invalid tool identifier: "tool" is empty; it takes {IDENTIFIER_FORM}')
    from mcp_workbench.surface.tool_texts import place_of  # noqa: PLC0415 - few models write it so

    return ToolId(*place_of(text, view.all_servers()))


def refuse_misplaced(params: Mapping[str, msgspec.Raw]) -> None:
    """Refuse parameters of a `tools/call` that hold a tool's arguments under another name.

    Other members are left alone: later versions of the protocol may define them. Raises Refusal.
    """
    strays = [key for key in ARGUMENT_KEYS[1:] if params.get(key, NULL) != NULL]
    if strays:
        raise Refusal(INVALID_PARAMS, f"Invalid params: {_quoted(strays)} must be in `arguments`")


def _present(members: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Return the members that are not null: some clients write null for what they do not have."""
    return {key: value for key, value in members.items() if value != NULL}


def _take_names(identifier: dict[str, msgspec.Raw]) -> ToolId:
    return ToolId(*(_take_name(identifier, member) for member in IDENTIFIER_KEYS))


def _take_name(identifier: dict[str, msgspec.Raw], member: str) -> str:
    keys = IDENTIFIER_KEYS[member]
    given = [value for key in keys if (value := identifier.pop(key, ABSENT))]
    # An empty name counts as absent, unless it is the only one given.
    names = {_read_name(member, value) for value in given if value != EMPTY_TEXT or len(given) == 1}
    if not names:
        raise InvalidCall(f"Invalid tool identifier: {member} is missing; it takes {IDENTIFIER_FORM}")
    if len(names) > 1:
        raise InvalidCall(f"Invalid tool identifier: {_quoted(keys)} differ; it takes {IDENTIFIER_FORM}")
    return names.pop()


def _read_name(member: str, raw: msgspec.Raw) -> str:
    name = decode_text(raw)
    if name is None:
        raise InvalidCall(f"Invalid tool identifier: {member} must be a string")
    if not name:
        raise InvalidCall(f"Invalid tool identifier: {member} cannot be empty")
    return name


def _take_arguments(members: dict[str, msgspec.Raw], where: str) -> dict[str, msgspec.Raw]:
    """Remove the members that hold arguments, and return them by their names in messages."""
    return {f'"{key}"{where}': members.pop(key) for key in ARGUMENT_KEYS if key in members}


def _refuse_strays(
    members: Mapping[str, msgspec.Raw], identifier: Mapping[str, msgspec.Raw], meta_tool: str
) -> None:
    for strays, place in ((members, 'beside "tool"'), (identifier, 'inside of "tool"')):
        if strays:
            raise InvalidCall(
                f"Invalid arguments: {meta_tool} does not take {_quoted(strays)} {place}. If the tool takes "
                f'it, put it into "arguments", as in {USE_FORM}. {NOT_CALLED}'
            )


def _quoted(keys: Collection[str]) -> str:
    shown = ", ".join(f'"{shorten(key, KEY_CHARACTERS)}"' for key in list(keys)[:KEYS_SHOWN])
    return f"{shown} and {len(keys) - KEYS_SHOWN} more" if len(keys) > KEYS_SHOWN else shown


def _read_arguments(raw: msgspec.Raw) -> Body:
    if not raw or raw == NULL:
        return b"{}"
    if starts_with(raw, b"{"):
        return raw
    if starts_with(raw, b'"'):
        # Some models write the object as a string.
        text = _in_one_line((decode_text(raw) or "").strip()).encode()
        if not text:
            return b"{}"
        if text.startswith(b"{") and is_json(text):
            return text
    raise InvalidCall(
        f"Invalid arguments: arguments must be an object, as the tool's inputSchema describes. {NOT_CALLED}"
    )


def _in_one_line(text: str) -> str:
    """Replace line ends, which messages must not contain. In JSON they are only white space."""
    return text.replace("\n", " ").replace("\r", " ")
