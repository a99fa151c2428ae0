"""`mcp-workbench secret`: stores, lists and removes the secrets that the configuration refers to by name.

No value is taken from the command line, and none is shown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.setup.asking import ask_secret, is_interactive
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.config.masking.recognition import is_literal_secret
from mcp_workbench.config.source.parse import parse
from mcp_workbench.config.source.references import is_secret_name, secret_names_in
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import ConfigError, StoreError
from mcp_workbench.storage.secret_lookup import KEYRING_TIMEOUT_SECONDS
from mcp_workbench.storage.secrets import MAX_VALUE_BYTES, SecretStore
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

UNLOCK_SECONDS = 120.0
"""Time for the keyring while a person is there, who may have to unlock it."""


def run(options: argparse.Namespace) -> int:
    """Run one of the actions `set`, `list` and `remove`, and return the exit code."""
    limit = UNLOCK_SECONDS if is_interactive() else KEYRING_TIMEOUT_SECONDS
    store = SecretStore(os.environ, limit=limit)
    try:
        if options.action == "set":
            return _set(store, options.name)
        if options.action == "remove":
            return _remove(store, options.name)
        return _list(store, options.config, as_json=options.json)
    except StoreError as error:
        complain(str(error))
        return 1


def _set(store: SecretStore, name: str) -> int:
    if not is_secret_name(name) or is_literal_secret("", name):
        # It may be the value, and is not repeated.
        complain(
            "this is not a name: it is made of letters, digits and . _ - and begins with a letter or _. "
            "The value is never taken from the command line"
        )
        return 2
    try:
        value = _read_value(name)
    except UnicodeDecodeError:
        complain("the value is not UTF-8 text. Nothing is changed")
        return 1
    if not value:
        complain("there is no value, and an empty one is not stored. Nothing is changed")
        return 1
    place = store.put(name, value)
    if place == "keyring":
        say(f"{name} is kept in the system's keyring.")
    else:
        say(f"{name} is kept in a file that only you can read: {show_name(store.path)}")
        say(f"(Not in a keyring: {store.keyring_error})")
    say(f"Refer to it in the configuration as ${{keyring:{name}}}")
    return 0


def _read_value(name: str) -> str | None:
    """Return the value that is typed, or all of stdin without one line break at its end."""
    if sys.stdin is None:
        return None
    if sys.stdin.isatty():
        return ask_secret(f"Value of {name}:")
    data = sys.stdin.buffer.read(MAX_VALUE_BYTES + 3)
    text = data.decode()
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _remove(store: SecretStore, name: str) -> int:
    if not is_secret_name(name) or not store.remove(name):
        complain(f"there is no secret {show_name(name)}")
        return 1
    say(f"{name} is removed.")
    return 0


def _list(store: SecretStore, config: str | None, *, as_json: bool) -> int:
    places = store.places()
    users = _users(configuration_path(config))
    rows = [
        (name, places.get(name), (users or {}).get(name, []))
        for name in sorted({*places, *(users or {})}, key=lambda name: (name.lower(), name))
    ]
    if as_json:
        listed = [{"name": name, "kept": place, "servers": servers} for name, place, servers in rows]
        print_json({"file": store.path, "secrets": listed})
        return 0
    if not rows:
        say("There are no secrets. Store one: mcp-workbench secret set NAME")
        return 0
    table = [("name", "kept in", "used by")]
    for name, place, servers in rows:
        unused = "" if users is None else "no server"
        table.append((name, place or "missing", ", ".join(map(show_name, servers)) or unused))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if "file" in places.values():
        say(f"The file is {show_name(store.path)}. Only you can read it.")
    for name, place, _ in rows:
        if place is None:
            say(f"To store what is missing: mcp-workbench secret set {name}")
    return 0


def _users(path: str) -> dict[str, list[str]] | None:
    """Return the servers that refer to each secret, as TOOLBOX/SERVER; None if the file cannot be read."""
    try:
        tree = parse(path, Path(path).read_bytes(), Problems())
    except FileNotFoundError:
        return None
    except (OSError, ConfigError, RecursionError):
        complain(f"{show_name(path)} cannot be read, so the servers that use a secret are not shown")
        return None
    # What is referred to elsewhere in the file has to be there too.
    users: dict[str, list[str]] = {name: [] for name in secret_names_in(tree)}
    toolboxes = tree.get("toolboxes")
    for box, toolbox in toolboxes.items() if isinstance(toolboxes, dict) else ():
        servers = toolbox.get("mcpServers") if isinstance(toolbox, dict) else None
        for server, entry in servers.items() if isinstance(servers, dict) else ():
            for name in secret_names_in(entry):
                users[name].append(f"{box}/{server}")
    return users
