"""Suggestions for keys that the workbench does not know.

Owns spelling mistakes, synonyms, keys in the wrong place, and the advice about keys of other clients. Reports
nothing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.model.results import InlineConfig, ResultsConfig
from mcp_workbench.config.model.workbench import ServerConfig, ToolboxConfig, WorkbenchConfig

if TYPE_CHECKING:
    from collections.abc import Collection

    import msgspec

_SAME_THING = {
    "arguments": "args",
    "policies": "policy",
    "servers": "mcpServers",
    "workingdirectory": "cwd",
}

# It is two letters away from "command", but a word of its own.
_NO_SLIP = ("comment",)

_USE_CALL_LIMIT = 'write "callLimit" for the number of calls that the server works on at once'
_USE_MESSAGE_LIMIT = 'write "messageLimit" for the bytes of the longest message that is taken from the server'
_USE_OAUTH = 'write "oauth": { "clientId": "…" } for a client that is registered already'

ADVICE = {
    "auth": _USE_OAUTH,
    "headersHelper": 'put the headers under "headers", with ${VAR} for what is secret',
    "inputs": "write ${VAR} where the input is used, and export VAR=value",
    "maxConcurrency": _USE_CALL_LIMIT,
    "maxConcurrentCalls": _USE_CALL_LIMIT,
    "maxMessageSize": _USE_MESSAGE_LIMIT,
    "redirectUri": 'write "callbackPort" for the port that the browser is redirected to',
}
"""What to write instead of a key of another client whose loss would change what happens."""

# From the inside out: a key on an outer level holds for everything inside that does not set it.
_LEVELS = (
    ("in a server", ServerConfig),
    ("in a toolbox", ToolboxConfig),
    ("at the top of the configuration file", WorkbenchConfig),
)
# Other clients have a description in each server, and people add one anywhere.
_FREE_KEYS = ("description",)


def meant_key(key: str, known: Collection[str]) -> str | None:
    """Return the known key that `key` is probably a misspelling or a synonym of, or None."""
    folded = _fold(key)
    if folded in _NO_SLIP:
        return None
    if _SAME_THING.get(folded) in known:
        return _SAME_THING[folded]
    from mcp_workbench.config.edit_distance import edit_distance  # noqa: PLC0415 - only for an unknown key

    distance, nearest = min((edit_distance(folded, _fold(candidate), 2), candidate) for candidate in known)
    return nearest if distance <= (1 if len(nearest) <= 4 else 2) else None


def right_place(key: str) -> str | None:
    """Return where a key belongs that the workbench knows elsewhere, or None."""
    folded = _fold(key)
    if folded in _FREE_KEYS:
        return None
    if _is_in(folded, InlineConfig):
        return 'in "results"'
    if _is_in(folded, ResultsConfig):
        return 'in the "results" at the top of the configuration file'
    levels = [level for level, struct in _LEVELS if _is_in(folded, struct)]
    if len(levels) > 1:
        return f"{', '.join(levels[:-1])}, or {levels[-1]} for all of them"
    return levels[0] if levels else None


def _is_in(folded: str, struct: type[msgspec.Struct]) -> bool:
    return any(_fold(key) == folded for key in struct.__struct_encode_fields__)


def _fold(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")
