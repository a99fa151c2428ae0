"""The environment variables that a server gets: enough to run, and none of the workbench's secrets."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mcp_workbench.config.load import STATE_KEY
from mcp_workbench.config.masking.proxies import PASSED_ON, asks_for, has_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config import ServerConfig

SAFE = (
    *("PATH", "HOME", "USER", "LANG", "LC_*", "TERM", "SHELL", "TMPDIR", "XDG_*"),
    *PASSED_ON,
    *("NO_PROXY", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    # Without these no program starts on Windows.
    *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "TEMP", "TMP"),
    *("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "USERPROFILE", "USERNAME"),
    *("HOMEDRIVE", "HOMEPATH", "PROCESSOR_ARCHITECTURE"),
)

_WILD = frozenset("*?[")


def child_environment(config: ServerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server: safe variables, those that `inheritEnv` adds, and its own `env`.

    A proxy variable with credentials is not safe: see `config.masking.proxies`.
    """
    inherit = config.inherit_env
    inheritable = {name: value for name, value in environ.items() if name != STATE_KEY}
    if inherit is True:
        return {**inheritable, **config.env}
    names = set(SAFE if inherit is False else (*SAFE, *inherit))
    # Each pattern is compiled only once: that takes longer than everything else here.
    patterns = [name for name in names if not _WILD.isdisjoint(name)]
    passed = {
        name: value
        for name, value in inheritable.items()
        if (name in names or any(fnmatchcase(name, pattern) for pattern in patterns))
        # A proxy's password is passed only to servers that ask for the variable.
        and not (name in PASSED_ON and has_credentials(name, value) and not asks_for(config, name))
    }
    return {**passed, **config.env}
