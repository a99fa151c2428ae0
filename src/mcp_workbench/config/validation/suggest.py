"""What a person may have meant by a key that the workbench does not know.

Owns the near misses, the other words for the same thing, the keys in the wrong place, and the advice for
other clients' keys. Does not report anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.model.workbench import ServerConfig

if TYPE_CHECKING:
    from collections.abc import Collection

_SAME_THING = {
    "arguments": "args",
    "cmd": "command",
    "environment": "env",
    "httpurl": "url",
    "servers": "mcpServers",
    "serverurl": "url",
    "workingdirectory": "cwd",
}

# Two letters from "command", and yet a word of its own.
_NO_SLIP = ("comment",)

_USE_CALL_LIMIT = 'write "callLimit" for the number of calls that the server works on at once'
_USE_MESSAGE_LIMIT = 'write "messageLimit" for the bytes of the longest message that is taken from the server'
_USE_OAUTH = 'write "oauth": { "clientId": "…" } for a client that is registered already'
_USE_TOOL_FILTERS = 'list the tools in "toolFilters": ["name", "!other"] to choose them'

ADVICE = {
    "allowedTools": _USE_TOOL_FILTERS,
    "auth": _USE_OAUTH,
    "disabledTools": _USE_TOOL_FILTERS,
    "enabled": 'write "disabled": true to leave the server out',
    "enabledTools": _USE_TOOL_FILTERS,
    "envFile": 'put the variables under "env", or export them before the start and name them in "inheritEnv"',
    "excludeTools": _USE_TOOL_FILTERS,
    "headersHelper": 'put the headers under "headers", with ${VAR} for what is secret',
    "includeTools": _USE_TOOL_FILTERS,
    "inputs": "write ${VAR} where the input is used, and export VAR=value",
    "maxConcurrency": _USE_CALL_LIMIT,
    "maxConcurrentCalls": _USE_CALL_LIMIT,
    "maxMessageSize": _USE_MESSAGE_LIMIT,
    "redirectUri": 'write "callbackPort" for the port that the browser comes back to',
    "tools": _USE_TOOL_FILTERS,
}

_PLACES = {
    **{field.encode_name.lower(): "in a server" for field in msgspec.structs.fields(ServerConfig)},
    "listingbudget": "in a toolbox, or at the top of the file for all of them",
    "opendeadline": "in a toolbox, or at the top of the file for all of them",
    "inlinelimit": 'in "results"',
    **dict.fromkeys(("lifetime", "memory", "quota"), 'in the "results" at the top of the file'),
}


def meant_key(key: str, known: Collection[str]) -> str | None:
    """The known key that `key` is a slip of, if it is one."""
    folded = _fold(key)
    if folded in _NO_SLIP:
        return None
    if _SAME_THING.get(folded) in known:
        return _SAME_THING[folded]
    from mcp_workbench.config.edit_distance import edit_distance  # noqa: PLC0415 - only for an unknown key

    distance, nearest = min((edit_distance(folded, _fold(candidate), 2), candidate) for candidate in known)
    return nearest if distance <= (1 if len(nearest) <= 4 else 2) else None


def right_place(key: str) -> str | None:
    """Where a key stands that the workbench knows, but not where it was found."""
    return _PLACES.get(_fold(key))


def _fold(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")
