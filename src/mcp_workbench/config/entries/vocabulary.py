"""The words of server entries in other clients: those with a meaning here, and those that only decorate.

Owns the tables that `translate` works from, and which unknown keys sound like a limit.
"""

from __future__ import annotations

import re

SYNONYMS = {
    "serverUrl": "url",
    "httpUrl": "url",
    "uri": "url",
    "cmd": "command",
    "transportType": "type",
}
"""Keys with one value that are other words for ours."""

ENV_KEYS = ("env", "environment", "envs")
HEADER_KEYS = ("headers", "http_headers")
NAME_KEYS = ("env_vars", "env_keys")
"""Keys with the names of variables that the server takes from the client's environment."""

SWITCHES = {"enabled": True, "isActive": True, "active": True, "disabled": False}
"""Keys that turn a server on and off, each with the value that means on."""

ALLOW_KEYS = (
    "enabled_tools",
    "enabledTools",
    "includeTools",
    "include_tools",
    "allowedTools",
    "allowed_tools",
    "available_tools",
)
DENY_KEYS = (
    "disabled_tools",
    "disabledTools",
    "excludeTools",
    "excludedTools",
    "exclude_tools",
    "excluded_tools",
)
TOOLS_KEY = "tools"
EMPTY_MEANS_ALL = frozenset(("available_tools",))
"""Allow-lists that allow everything if they are empty: those of Goose."""

SANDBOX_KEYS = frozenset(("sandboxEnabled", "sandbox_enabled"))
"""Keys of other clients that limit nothing if they are false or null."""

UNKNOWN_LIMIT = "limits the server in another client, and the workbench does not know how"
"""What is said about a key that limits a server in a way that has no equal here."""

SECONDS_KEYS = {"startup_timeout_sec": "startupTimeout", "tool_timeout_sec": "timeout"}
MILLISECONDS_KEYS = {"startup_timeout_ms": "startupTimeout", "connectionTimeout": "startupTimeout"}

OAUTH_WORDS = {
    "CLIENT_ID": "clientId",
    "client_id": "clientId",
    "CLIENT_SECRET": "clientSecret",
    "client_secret": "clientSecret",
    "scope": "scopes",
    "oauthScopes": "scopes",
    "callback_port": "callbackPort",
}
OAUTH_KEYS = {
    "oauthClientId": "clientId",
    "oauthClientSecret": "clientSecret",
    "oauthScopes": "scopes",
    "oauth_scopes": "scopes",
    "scopes": "scopes",
}
"""Keys of an entry that other clients have in place of an `oauth` object."""

DECORATIONS = frozenset(
    (
        "$typeName",
        "_comment",
        "_meta",
        "alwaysAllow",
        "alwaysLoad",
        "always_allow",
        "approval_mode",
        "autoApprove",
        "autoApproveAll",
        "auto_approve",
        "bundled",
        "comment",
        "createdAt",
        "default_tools_approval_mode",
        "defaultToolsApprovalMode",
        "description",
        "dev",
        "display_name",
        "displayName",
        "extension",
        "faviconUrl",
        "gallery",
        "icon",
        "icons",
        "id",
        "isDefaultServer",
        "metadata",
        "name",
        "note",
        "oauthPublicClient",
        "registry",
        "source",
        "sourceFile",
        "supports_parallel_tool_calls",
        "tags",
        "title",
        "trust",
        "updatedAt",
        "version",
        "watchPaths",
    )
)
"""Keys that other clients use for display, or for how often they ask a person."""

TRANSLATED = frozenset(
    (
        *SYNONYMS,
        *ENV_KEYS,
        *HEADER_KEYS,
        *NAME_KEYS,
        *SWITCHES,
        *ALLOW_KEYS,
        *DENY_KEYS,
        TOOLS_KEY,
        *SECONDS_KEYS,
        *MILLISECONDS_KEYS,
        *OAUTH_KEYS,
        "apiKey",
        "auth",
        "bearer_token_env_var",
        "env_http_headers",
        "oauth",
        "requestOptions",
    )
)
"""Keys of other clients that have a meaning here."""

_LIMITING = re.compile(
    r"allow|den(y|ied)|block|blacklist|whitelist|exclu|includ|disabl|enabl|restrict|sandbox|read_?only"
    r"|permi(ssion|t)|filter|forbid|polic(y|ies)|scope|limit|isolat|confin"
    r"|(^|_)(only|hid(e|den)|except|tools|toolsets?|tool_names?|roots|network|off|inactive)(_|$)"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def looks_limiting(key: str) -> bool:
    """Whether an unknown key sounds as if it limits what the server may do, or who may use it."""
    return _LIMITING.search(_HUMP.sub("_", key).lower()) is not None
