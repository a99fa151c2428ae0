"""Shows a person a call that needs an approval, and reads the answer.

Owns the text and the fields of the form. What of the arguments is shown is decided in `shown_arguments`. The
text is the same for the form in a client and for a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.config.masking.in_text import mask_in_text
from mcp_workbench.protocol.names import COMPLETION, TOOLS_CALL, WORKBENCH_LABEL
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.policy.approver import UserAnswer, refused
from mcp_workbench.workbench.policy.shown_arguments import one_line, shown_arguments

if TYPE_CHECKING:
    from mcp_workbench.workbench.policy.approver import Choice
    from mcp_workbench.workbench.server_call import ServerCall

MAX_NAME_CHARACTERS: Final = 10_000
"""Characters of a name that are searched for secrets. Far fewer are shown."""

ASKS: Final = f"{WORKBENCH_LABEL} Allow this call?"
"""The first line of a question, which says who asks."""

_KINDS: Final = {
    TOOLS_CALL: "Tool",
    "resources/read": "Resource",
    "prompts/get": "Prompt",
    COMPLETION: "Completion for",
}
_CHOICES: Final[tuple[Choice, ...]] = ("once", "session")


class _Twice(ValueError):
    """A JSON object has two members of one name."""


def description(call: ServerCall, rule: str) -> list[str]:
    """Return what a person has to know about a call, in a few lines of limited length.

    Raises CallRefused if the arguments cannot be shown as the server may read them.
    """
    toolbox, server = call.origin
    mask = call.toolbox_server.mask
    lines = [
        ASKS,
        f"{_KINDS.get(call.method, call.method)}: {masked_name(call)}",
        f"Server: {server} (toolbox {toolbox})",
        *([f"Rule: {rule}"] if rule else []),
    ]
    arguments = shown_arguments(_read_arguments(call), mask, _known_arguments(call))
    return [*map(one_line, lines), *arguments]


def masked_name(call: ServerCall) -> str:
    """Return the name of the tool, the resource or the prompt of a call without secrets."""
    name = call.toolbox_server.mask(call.name[:MAX_NAME_CHARACTERS])
    return name if call.method == TOOLS_CALL else mask_in_text(name)


def form(lines: list[str], session_title: str) -> bytes:
    """Return the parameters of an elicitation that shows these lines, and offers to allow the call."""
    # `enumNames` is valid in all protocol versions, and `enum` is what clients without it show.
    allow = {
        "type": "string",
        "title": "Allow",
        "enum": _CHOICES,
        "enumNames": ["Allow once", session_title],
        "default": "once",
    }
    schema = {"type": "object", "properties": {"allow": allow}}
    return encode({"message": "\n".join(lines), "requestedSchema": schema})


class _Content(msgspec.Struct):
    allow: str = "once"


class _Answer(msgspec.Struct):
    action: str
    content: _Content | None = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def read_answer(raw: msgspec.Raw) -> UserAnswer:
    """Return what the user has chosen. Never raises: an answer that makes no sense allows nothing."""
    try:
        answer = _decode_answer(raw)
    except (msgspec.MsgspecError, RecursionError):
        return UserAnswer("unreadable")
    if answer.action in ("decline", "cancel"):
        return UserAnswer("no")
    chosen = (answer.content or _Content()).allow
    for choice in _CHOICES if answer.action == "accept" else ():
        if chosen == choice:
            return UserAnswer(choice)
    return UserAnswer("unreadable")


def _read_arguments(call: ServerCall) -> Any:
    """Return the arguments as the client wrote them. Raises CallRefused."""
    from json import loads  # noqa: PLC0415 - msgspec does not tell that a member is there twice

    try:
        return loads(bytes(call.arguments) or b"{}", object_pairs_hook=_unique)
    except _Twice as error:
        reason = f"its arguments have two members of the name {error}, and servers differ on which counts"
        raise refused(call, reason) from None
    except (ValueError, RecursionError):
        reason = "its arguments cannot be shown to the person who has to approve it"
        raise refused(call, reason) from None


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        raise _Twice(next(repr(name) for name in found if names.count(name) > 1))
    return found


class _InputSchema(msgspec.Struct):
    properties: dict[str, msgspec.Raw] = {}


class _Definition(msgspec.Struct):
    schema: _InputSchema = msgspec.field(default_factory=_InputSchema, name="inputSchema")


_decode_definition = msgspec.json.Decoder(_Definition).decode


def _known_arguments(call: ServerCall) -> dict[str, msgspec.Raw]:
    """Return the arguments that the tool of a call knows, if its definition is at hand."""
    definition = None if call.tool is None else call.toolbox_server.definition(call.tool)
    try:
        return {} if definition is None else _decode_definition(definition).schema.properties
    except (msgspec.MsgspecError, RecursionError):
        return {}
