"""Loads the configuration file: returns a valid configuration, or raises with all that is wrong.

Owns where the file is looked for, the order of the steps, and which values are masked.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.entries.whole_file import translate_entries
from mcp_workbench.config.masking.proxies import PASSED_ON, asks_for, credentials_in, with_credentials
from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME, credentials_in_url, credentials_inside
from mcp_workbench.config.masking.secrets import Secrets
from mcp_workbench.config.source.expand import expand
from mcp_workbench.config.source.parse import parse, paste_this
from mcp_workbench.config.source.reading import Stamp, read, stamp_of
from mcp_workbench.config.source.rights import warn_of_writers
from mcp_workbench.config.validation.file import validate
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.workbench import ServerConfig, WorkbenchConfig
    from mcp_workbench.errors import StrPath

MAX_NAMED_SERVERS = 3
"""Servers that one warning lists by name, at most."""

STATE_KEY = "WORKBENCH_STATE_KEY"
"""The environment variable with the key that seals the state of calls. It is never passed on to servers."""

DATA_NAME = "config"
"""Stands for the path in the problems of a configuration that did not come from a file."""

_VARIABLE = "WORKBENCH_CONFIG"
_DEFAULT = "workbench-config.json"
_HARM = "choose the programs that the workbench starts"
"""What other users could do who can write to the file, for the warning about them."""


class LoadedConfig(msgspec.Struct, frozen=True):
    """A valid configuration, the path it was read from, the warnings about it, and its secrets."""

    config: WorkbenchConfig
    path: str
    warnings: tuple[str, ...]
    secrets: Secrets
    stamp: Stamp | None
    """The state of the file when it was read, by which a later change is noticed; None without a file."""


def locate(option: str | None, environ: Mapping[str, str]) -> str:
    """Return the path to load: `--config`, else `$WORKBENCH_CONFIG`, else `./workbench-config.json`."""
    # Clients start the workbench without a shell, so that a `~` in their settings is still there.
    return os.path.expanduser(option or environ.get(_VARIABLE) or _DEFAULT)


def load(path: StrPath, environ: Mapping[str, str]) -> LoadedConfig:
    """Return the configuration in the file at `path`. Raises ConfigError with all the problems in it."""
    path = os.fspath(path)
    data, status = read(path, usual_name=_DEFAULT, explain_missing=lambda: _missing(path, environ))
    return _load(path, data, environ, status)


def load_data(config: Mapping[str, object], environ: Mapping[str, str]) -> LoadedConfig:
    """The configuration in a dict of the same form as the file. Raises ConfigError with all the problems."""
    try:
        # As JSON, so that it takes the same steps as a file: what is no JSON could not stand in one.
        data = json.dumps(dict(config)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        problem = Problem(
            "", f"this is not JSON data: {error}", "Use dict, list, str, numbers, bool and None."
        )
        raise ConfigError(DATA_NAME, [problem]) from None
    return _load(DATA_NAME, data, environ, None)


def _load(path: str, data: bytes, environ: Mapping[str, str], status: os.stat_result | None) -> LoadedConfig:
    problems = Problems()
    try:
        tree = translate_entries(parse(path, data, problems), problems)
        # A plain copy: `os.environ` decodes and encodes at every access.
        expansion = expand(tree, dict(environ), problems)
    except RecursionError:
        raise ConfigError(path, [Problem("", "the JSON is nested too deeply", "Flatten it.")]) from None
    config = validate(expansion.tree, problems)
    if problems.found:
        raise ConfigError(path, problems.found)
    if status is not None:
        warn_of_writers(path, status, _HARM, environ, problems)
    proxies = with_credentials(environ)
    _warn_of_withheld(config, proxies, problems)
    stamp = None if status is None else stamp_of(status)
    secrets = _secrets(config, expansion.values | _inherited(config, environ), proxies)
    return LoadedConfig(config, path, tuple(problems.warnings), secrets, stamp)


def _missing(path: str, environ: Mapping[str, str]) -> Problem:
    directory = _working_directory()
    places = (
        "--config PATH",
        f"else ${_VARIABLE} ({environ.get(_VARIABLE) or 'not set'})",
        f"else ./{_DEFAULT} (in {directory})",
    )
    listed = "".join(f"\n      {place}" for place in places)
    return Problem(
        "",
        f"there is no such file: {os.path.normpath(os.path.join(directory, path))}",
        f"It is looked for here:{listed}\n    {paste_this()}",
    )


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        # A client may have started the workbench in a directory that has been deleted since.
        return "."


def _servers(config: WorkbenchConfig) -> list[ServerConfig]:
    return [server for toolbox in config.toolboxes.values() for server in toolbox.servers.values()]


def _warn_of_withheld(config: WorkbenchConfig, proxies: dict[str, str], problems: Problems) -> None:
    """Warn of servers that do not get a proxy variable that they may need, because it holds a password."""
    for name in proxies:
        if name not in PASSED_ON:
            continue
        without = [
            f"{box}/{label}"
            for box, toolbox in config.toolboxes.items()
            for label, server in toolbox.servers.items()
            if server.command and not asks_for(server, name)
        ]
        if without:
            shown = ", ".join(without[:MAX_NAMED_SERVERS]) + (
                ", …" if len(without) > MAX_NAMED_SERVERS else ""
            )
            what = f"the variable {name} holds credentials, and is not passed on to {shown}"
            problems.warn((), f'{what}. If a server needs it, name it in "inheritEnv" of the server')


def _inherited(config: WorkbenchConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values with a sensitive name that servers may get by `inheritEnv`, and their labels."""
    if not any(server.inherit_env for server in _servers(config)):
        return {}
    return {value: f"<env {name}>" for name, value in environ.items() if re.search(SENSITIVE_NAME, name)}


def _secrets(config: WorkbenchConfig, variables: dict[str, str], proxies: dict[str, str]) -> Secrets:
    servers = _servers(config)
    env = {value: f"<env {name}>" for server in servers for name, value in server.env.items()}
    headers = {
        secret: f"<header {name}>"
        for server in servers
        for name, value in server.headers.items()
        # A server may quote the `abc` of `Bearer abc` alone.
        for secret in (value, value.partition(" ")[2] if name.lower().endswith("authorization") else value)
    }
    clients = {
        server.oauth.client_secret: "<oauth clientSecret>"
        for server in servers
        if server.oauth is not None and server.oauth.client_secret is not None
    }
    urls = {secret: "<url>" for server in servers for secret in credentials_in_url(server.url or "")}
    of_proxies = {
        secret: f"<password in {name}>" for name, value in proxies.items() for secret in credentials_in(value)
    }
    # A value that stands in the name of a toolbox or a server is public: names are there to be shown.
    names = [*config.toolboxes, *(name for toolbox in config.toolboxes.values() for name in toolbox.servers)]
    named = env | headers | variables
    inside = {secret: label for value, label in named.items() for secret in credentials_inside(value)}
    labels = inside | env | headers | urls | clients | of_proxies | variables
    return Secrets(
        {value: label for value, label in labels.items() if not any(value in name for name in names)}
    )
