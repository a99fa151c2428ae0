"""Loads the configuration file: returns a valid configuration, or raises with all that is wrong.

Owns the order of the steps, and which values are masked.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.entries.whole_file import parse_in_our_words
from mcp_workbench.config.faults import ConfigFaults, Layout, attribute
from mcp_workbench.config.masking.proxies import PASSED_ON, asks_for, credentials_in, with_credentials
from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME, credentials_in_url, credentials_inside
from mcp_workbench.config.masking.secrets import Secrets
from mcp_workbench.config.model.workbench import WorkbenchConfig
from mcp_workbench.config.places import FILE_NAME, VARIABLE, personal_file
from mcp_workbench.config.source.expand import expand, no_secrets
from mcp_workbench.config.source.parse import paste_this
from mcp_workbench.config.source.reading import Stamp, read, stamp_of
from mcp_workbench.config.source.rights import warn_of_writers
from mcp_workbench.config.validation.file import validate
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.workbench import Origin, ServerConfig
    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.errors import StrPath

MAX_NAMED_SERVERS = 3
"""Servers that one warning lists by name, at most."""

STATE_KEY = "WORKBENCH_STATE_KEY"
"""The environment variable with the key that seals the state of calls. It is never passed on to servers."""

DATA_NAME = "config"
"""Stands for the path in the problems of a configuration that did not come from a file."""

NO_FAULTS = ConfigFaults()
"""Stands for a configuration without a mistake."""

HARM = "choose the programs that the workbench starts"
"""What other users could do who can write to the file, for the warning about them."""


class LoadedConfig(msgspec.Struct, frozen=True):
    """A configuration that can be used, the path it was read from, the warnings about it, and its secrets."""

    config: WorkbenchConfig
    path: str
    warnings: tuple[str, ...]
    secrets: Secrets
    stamp: Stamp | None
    """The state of the file when it was read, by which a later change is noticed; None without a file."""
    faults: ConfigFaults = NO_FAULTS
    """The mistakes in spite of which the configuration is used; `load` raises them."""
    files: frozenset[str] = frozenset()
    """The paths of other files that the configuration refers to. A change of one is a change of it."""
    has_secrets: bool = False
    """Whether the configuration refers to stored secrets."""
    programs: Mapping[Origin, tuple[str, ...]] = {}
    """Command and arguments, or the URL, as they are written, of servers in which these have references."""

    @property
    def is_from_file(self) -> bool:
        """Whether there is a file to watch, which may be missing so far."""
        return self.path != DATA_NAME


def load(path: StrPath, environ: Mapping[str, str], *, lookup: SecretLookup = no_secrets) -> LoadedConfig:
    """Return the configuration in the file at `path`. Raises ConfigError with all the problems in it.

    `lookup` returns the secrets that the file refers to by name. It may wait for a keyring.
    """
    loaded = _load(path, environ, lookup)
    if loaded.faults.all:
        raise ConfigError(loaded.path, loaded.faults.all)
    return loaded


def load_usable(
    path: StrPath, environ: Mapping[str, str], *, lookup: SecretLookup = no_secrets
) -> LoadedConfig:
    """Return what can be used of the file at `path`, and in `faults` what cannot. Raises nothing.

    If nothing can be used, there are no toolboxes.
    """
    try:
        # Before reading, so that what is written meanwhile counts as a change.
        stamp = stamp_of(os.stat(path))
    except OSError:
        stamp = None
    try:
        return _load(path, environ, lookup)
    except ConfigError as error:
        empty = WorkbenchConfig(toolboxes={})
        faults = ConfigFaults(all=error.problems, file=error.problems)
        return LoadedConfig(empty, os.fspath(path), (), Secrets({}), stamp, faults)


def _load(path: StrPath, environ: Mapping[str, str], lookup: SecretLookup) -> LoadedConfig:
    path = os.fspath(path)
    data, status = read(path, usual_name=FILE_NAME, explain_missing=lambda: _missing(path, environ))
    return _interpret(path, data, environ, status, lookup=lookup, directory=os.path.dirname(path))


def load_data(
    config: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    lookup: SecretLookup = no_secrets,
    directory: str = "",
) -> LoadedConfig:
    """The configuration in a dict of the same form as the file. Raises ConfigError with all the problems.

    Paths in it are relative to `directory`; without one, to the working directory.
    """
    try:
        # As JSON, so that it takes the same steps as a file: what is no JSON could not stand in one.
        data = json.dumps(dict(config)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        problem = Problem(
            "", f"this is not JSON data: {error}", "Use dict, list, str, numbers, bool and None."
        )
        raise ConfigError(DATA_NAME, [problem]) from None
    loaded = _interpret(DATA_NAME, data, environ, None, lookup=lookup, directory=directory)
    if loaded.faults.all:
        raise ConfigError(DATA_NAME, loaded.faults.all)
    return loaded


def _interpret(
    path: str,
    data: bytes,
    environ: Mapping[str, str],
    status: os.stat_result | None,
    *,
    lookup: SecretLookup,
    directory: str,
) -> LoadedConfig:
    """Return the configuration in the content of a file. Raises ConfigError if there is nothing to use."""
    problems = Problems()
    try:
        tree = parse_in_our_words(path, data, problems, is_file=status is not None)
        # A plain copy: `os.environ` decodes and encodes at every access.
        expansion = expand(tree, dict(environ), problems, directory=directory, lookup=lookup)
    except RecursionError:
        raise ConfigError(path, [Problem("", "the JSON is nested too deeply", "Flatten it.")]) from None
    layout = Layout()
    config = validate(expansion.tree, problems, layout)
    if status is not None:
        warn_of_writers(path, status, HARM, environ, problems)
    proxies = with_credentials(environ)
    _warn_of_withheld(config, proxies, problems)
    stamp = None if status is None else stamp_of(status)
    secrets = _secrets(config, expansion.values | _inherited(config, environ), proxies)
    if status is not None and (problems.found or problems.warnings):
        from mcp_workbench.config.source.positions import Positions  # noqa: PLC0415 - most files have no problem

        problems.find_lines(path, Positions(data.decode("utf-8-sig")).line_of)
    faults = attribute(problems.placed(), layout) if problems.found else NO_FAULTS
    if faults.file:
        config = WorkbenchConfig(toolboxes={})
    return LoadedConfig(
        config,
        path,
        tuple(problems.warnings),
        secrets,
        stamp,
        faults,
        expansion.files,
        expansion.has_secrets,
        expansion.programs,
    )


def _missing(path: str, environ: Mapping[str, str]) -> Problem:
    directory = _working_directory()
    places = (
        "--config FILE",
        f"else ${VARIABLE} ({environ.get(VARIABLE) or 'not set'})",
        f"else ./{FILE_NAME} (in {directory})",
        f"else {personal_file(environ)}",
    )
    listed = "".join(f"\n      {place}" for place in places)
    return Problem(
        "",
        f"there is no such file: {os.path.normpath(os.path.join(directory, path))}",
        "Create it from the servers that your MCP clients have: mcp-workbench import\n"
        "    Or add a server: mcp-workbench add time -- uvx mcp-server-time\n"
        f"    Or write it yourself. {paste_this()}\n"
        f"    The file is looked for in this order:{listed}",
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
