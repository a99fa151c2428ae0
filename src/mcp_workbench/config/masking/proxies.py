"""Proxy variables of the environment that hold credentials.

Servers get proxy variables by default, but none with a password: see `downstream.environment`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.masking.secrets import MIN_SECRET_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_workbench.config.model.workbench import ServerConfig

PASSED_ON: Final = frozenset(
    ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
)
"""The proxy variables that every server gets, unless they hold credentials."""

_USER: Final = r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?([^/?#]*)@"


def asks_for(server: ServerConfig, name: str) -> bool:
    """Whether the configuration of a server names a variable, in `inheritEnv` or in `env`."""
    inherit = server.inherit_env
    if isinstance(inherit, bool):
        return inherit or name in server.env
    return name in server.env or any(fnmatchcase(name, pattern) for pattern in inherit)


def has_credentials(name: str, value: str) -> bool:
    """Whether a variable is a proxy variable, and its value has a user or a password in front of the host."""
    # `HTTPS_PROXY`, `all_proxy`, `npm_config_proxy`, …
    return "@" in value and name.lower().endswith("proxy") and re.match(_USER, value) is not None


def with_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy variables of an environment that hold credentials, with their values."""
    return {name: value for name, value in environ.items() if has_credentials(name, value)}


def credentials_in(value: str) -> Iterable[str]:
    """Return what is secret in the value of a proxy variable: the password, or the user if there is none.

    A secret that is too short to be masked alone is returned as `user:password`.
    """
    from urllib.parse import unquote  # noqa: PLC0415 - takes a while to load, and few need it

    match = re.match(_USER, value)
    if match is None:
        return ()
    user, _, password = match[1].partition(":")
    secret = password or user
    if len(secret) < MIN_SECRET_CHARACTERS:
        secret = match[1]
    return {secret, unquote(secret)}
