"""Shows a person a call that needs an approval, and reads the answer.

Owns the text, the fields of the form, and what of the arguments is shown: secrets are masked, long values are
shortened, and characters that would hide or fake text are written out. The text is the same for the form in a
client and for a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.config.masking.recognition import find_secrets, names_secret
from mcp_workbench.protocol.names import TOOLS_CALL
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.policy.approver import UserAnswer, refused
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.workbench.policy.approver import Choice
    from mcp_workbench.workbench.server_call import ServerCall

MAX_ARGUMENTS: Final = 12
"""Arguments that are shown with their values, of one call. The others are named."""
MAX_LINE_CHARACTERS: Final = 240
MAX_TAIL_CHARACTERS: Final = 60
"""Characters at the end of a long line that stay. The end of a command counts as much as its beginning."""
MAX_HEAD_CHARACTERS: Final = 2000
"""Characters of a text that are searched for secrets, at its beginning."""
MAX_END_CHARACTERS: Final = 400
"""Characters of a text that are searched for secrets, at its end."""
MAX_ITEMS: Final = 50
"""Members of an object or a list that are looked at."""
MAX_LEVELS: Final = 8
"""Levels of nested values that are looked at."""

MASKED: Final = "***"
ASKS: Final = "[workbench] Allow this call?"
"""The first line. The questions of servers begin with `[toolbox/server]`, which has a slash."""

_KINDS: Final = {
    TOOLS_CALL: "Tool",
    "resources/read": "Resource",
    "prompts/get": "Prompt",
    "completion/complete": "Completion for",
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
        f"{_KINDS.get(call.method, call.method)}: {mask(call.name)}",
        f"Server: {server} (toolbox {toolbox})",
        *([f"Rule: {rule}"] if rule else []),
    ]
    return [*(_line(line) for line in lines), *_shown_arguments(_read_arguments(call), mask)]


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


def _shown_arguments(arguments: Any, mask: Callable[[str], str]) -> list[str]:
    if not isinstance(arguments, dict) or not arguments:
        return ["Arguments: none"] if arguments == {} else _shown_arguments({"value": arguments}, mask)
    shown = {key: arguments[key] for key in list(arguments)[:MAX_ARGUMENTS]}
    masked = _without_secrets(_pruned(shown, 0), mask)
    lines = ["Arguments:", *(_line(f"  {key}: {_json(value)}") for key, value in masked.items())]
    if others := list(arguments)[MAX_ARGUMENTS:]:
        lines.append(_line(f"  and {len(others)} more: {mask(', '.join(others[:MAX_ITEMS]))}"))
    return lines


def _pruned(value: Any, level: int) -> Any:
    """Return a value of limited size: what is left out would not be shown, and takes time to search."""
    if isinstance(value, str):
        if len(value) <= MAX_HEAD_CHARACTERS + MAX_END_CHARACTERS:
            return value
        omitted = len(value) - MAX_HEAD_CHARACTERS - MAX_END_CHARACTERS
        return f"{value[:MAX_HEAD_CHARACTERS]} … {omitted:,} characters … {value[-MAX_END_CHARACTERS:]}"
    if isinstance(value, (dict, list)) and level >= MAX_LEVELS:
        return "…"
    if isinstance(value, dict):
        kept = {key: _pruned(value[key], level + 1) for key in list(value)[:MAX_ITEMS]}
        return kept if len(value) <= MAX_ITEMS else kept | {"…": f"{len(value) - MAX_ITEMS:,} more"}
    if isinstance(value, list):
        items = [_pruned(item, level + 1) for item in value[:MAX_ITEMS]]
        return items if len(value) <= MAX_ITEMS else [*items, f"… {len(value) - MAX_ITEMS:,} more"]
    return value


def _without_secrets(arguments: dict[str, Any], mask: Callable[[str], str]) -> dict[str, Any]:
    """Return the arguments with secrets masked: those of the configuration, and what looks like one."""
    by_shape: dict[tuple[str | int, ...], list[str]] = {}
    for secret in find_secrets(arguments):
        by_shape.setdefault(secret.place, []).append(secret.value)

    def masked(value: Any, place: tuple[str | int, ...]) -> Any:
        if isinstance(value, str):
            for secret in sorted(by_shape.get(place, ()), key=len, reverse=True):
                value = value.replace(secret, MASKED)
            return mask(value)
        if isinstance(value, dict):
            return {
                mask(key): MASKED if item and _is_secret_name(key) else masked(item, (*place, key))
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [masked(item, (*place, at)) for at, item in enumerate(value)]
        return value

    found: dict[str, Any] = masked(arguments, ())
    return found


def _is_secret_name(key: str) -> bool:
    """Whether a name says that its value is a secret, whatever the value looks like."""
    # A key is more often that of a database than a secret: there the value decides.
    return names_secret(key) and not key.lower().endswith("key")


def _json(value: Any) -> str:
    from json import dumps  # noqa: PLC0415 - see `_read_arguments`

    return dumps(value, ensure_ascii=False)


def _line(text: str) -> str:
    """Return a text as one line without hidden characters, with its middle left out if it is long."""
    line = show_name(text)
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    head = line[: MAX_LINE_CHARACTERS - MAX_TAIL_CHARACTERS].rstrip()
    omitted = len(line) - len(head) - MAX_TAIL_CHARACTERS
    return f"{head} … {omitted:,} characters … {line[-MAX_TAIL_CHARACTERS:]}"
