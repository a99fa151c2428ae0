"""Converts a server of a client into an entry of the configuration file, with the same rights or fewer.

Owns the order of the steps: references, words, limits outside of the entry, paths, and a last check by the
rules of the configuration file.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.clients.found import OuterLimit
from mcp_workbench.config.clients.references import ReferenceConverter
from mcp_workbench.config.entries.dialects import ANY
from mcp_workbench.config.entries.our_words import OUR_KEYS
from mcp_workbench.config.entries.tool_limits import UnclearLimit, both
from mcp_workbench.config.entries.tool_lists import own_filters
from mcp_workbench.config.entries.translate import is_variable, translate
from mcp_workbench.config.entries.vocabulary import DECORATIONS, UNKNOWN_LIMIT
from mcp_workbench.config.model.results import OFF
from mcp_workbench.config.model.workbench import DEFAULT_PIN
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.config.validation.server import TRANSPORT_OF_TYPE, read_server

if TYPE_CHECKING:
    from mcp_workbench.config.clients.found import FoundFile, FoundServer
    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import Client, References

_REFERENCE = re.compile(r"(?<!\$)\$\{")
_RELATIVE = re.compile(r"\.{1,2}([/\\]|$)")


class Converted(msgspec.Struct, frozen=True):
    """An entry in our words, and what is to be said about it."""

    entry: dict[str, object]
    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    """Why the server cannot be imported with the rights that it had; empty if it can."""
    inputs: dict[str, str] = {}
    """Secrets that a person is to be asked for: the name, and the text to ask with."""


def convert(found: FoundFile, server: FoundServer, machine: Machine) -> Converted:
    """Return the server as an entry of the configuration file."""
    client = found.client
    converter = ReferenceConverter(found.context, machine, os.path.dirname(found.path))
    if found.context.project:
        # Set by the client itself, for the programs that it starts.
        converter.known["CLAUDE_PROJECT_DIR"] = found.context.project
    problems = Problems()
    source = _without_form(client, server.entry)
    if source.pop("sandbox", None) not in (None, False):
        # Even one that looks like ours: it means what that client makes of it.
        remedy = 'Import the server without it, and write the "sandbox" of the workbench.'
        problems.add(("sandbox",), UNKNOWN_LIMIT, remedy)
    asked = _take_env_keys(source, converter) if client is not None and client.asks_for_env_keys else {}
    style: References = client.references if client is not None else "ours"
    special: dict[str, References] = {}
    if client is not None and client.header_references is not None:
        special["headers"] = client.header_references
    converted = converter.tree(source, style, special)
    entry = translate(
        converted if isinstance(converted, dict) else {},
        (),
        problems,
        client.dialect if client is not None else ANY,
    )
    entry = dict(entry)
    _settle_environment(entry, asked)
    limit = found.context.limits.get(server.name, OuterLimit())
    refusals = [*limit.refusals, *dict.fromkeys(converter.refusals), *_apply(limit, entry)]
    if found.context.project:
        _settle_paths(entry, found.context.project)
    _check(entry, problems)
    _settle_transport(entry)
    refusals.extend(
        f"{problem.where}: {problem.what}. {problem.remedy}" if problem.where else problem.what
        for problem in problems.found
    )
    return Converted(
        {key: value for key, value in entry.items() if key in OUR_KEYS},
        (*limit.notes, *dict.fromkeys(converter.notes), *problems.warnings),
        tuple(dict.fromkeys(refusals)),
        converter.inputs,
    )


def _without_form(client: Client | None, entry: dict[str, object]) -> dict[str, object]:
    """Return the entry without the keys that every entry of the client has, and that say nothing."""
    if client is None:
        return dict(entry)
    empty = {"name"} if client.form.has_name else set()
    empty |= client.form.first.keys() & DECORATIONS
    return {key: value for key, value in entry.items() if key not in empty}


def _take_env_keys(source: dict[str, object], converter: ReferenceConverter) -> dict[str, str]:
    """Return the variables whose values are secrets in the store of the client, as references to ours."""
    names = source.get("env_keys")
    if not isinstance(names, list) or not all(map(is_variable, names)):
        return {}  # reported by the translation, if it is not just missing
    del source["env_keys"]
    asked = {name: converter.secret(name, name) for name in names}
    given = source.get("envs")
    if isinstance(given, dict):
        converter.known |= {name: str(value).replace("${", "$${") for name, value in given.items()}
        # A value that is in the file wins over the store.
        for name in given.keys() & asked.keys():
            converter.inputs.pop(name, None)
            del asked[name]
    converter.known |= asked
    return asked


def _settle_environment(entry: dict[str, object], asked: dict[str, str]) -> None:
    env = entry.get("env")
    if isinstance(env, dict):
        # YAML and TOML have booleans where a program gets a text.
        texts = {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in env.items()
        }
        entry["env"] = texts | asked
    elif asked and env is None:
        entry["env"] = dict(asked)
    for key in ("env", "headers", "args"):
        if entry.get(key) in ({}, [], None):
            entry.pop(key, None)


def _apply(limit: OuterLimit, entry: dict[str, object]) -> list[str]:
    """Put the limits outside of the entry into it. Return why that is not possible."""
    if limit.is_disabled:
        entry["disabled"] = True
    filters = own_filters(entry.get("toolFilters"))
    if filters is None:
        return []  # reported when the entry is checked
    try:
        filters = both(filters, list(limit.filters))
    except UnclearLimit as error:
        return [f"its tools are limited in two ways that cannot be combined: {error}"]
    if filters != ["*"]:
        entry["toolFilters"] = filters
    else:
        entry.pop("toolFilters", None)
    if entry.get("disabled") is False:
        del entry["disabled"]
    return []


def _settle_paths(entry: dict[str, object], project: str) -> None:
    """Make the paths of a file of a project absolute, or start the program in the project."""
    for key in ("cwd", "envFile"):
        path = entry.get(key)
        if isinstance(path, str) and "${" not in path:
            entry[key] = os.path.normpath(os.path.join(project, path))
    command = entry.get("command")
    if not isinstance(command, str) or "${" in command:
        return
    is_path = "/" in command or (os.sep in command)
    if is_path and not os.path.isabs(command):
        entry["command"] = os.path.normpath(os.path.join(project, command))
    arguments = entry.get("args")
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    if "cwd" not in entry and any(_is_in(word, project) for word in words):
        entry["cwd"] = project


def _is_in(word: str, project: str) -> bool:
    """Whether an argument is a relative path that means something in the directory of the project."""
    if _RELATIVE.match(word):
        return True
    if not word or word.startswith("-") or os.path.isabs(word) or "\0" in word or "${" in word:
        return False
    return ("." in word or "/" in word) and os.path.exists(os.path.join(project, word))


def _settle_transport(entry: dict[str, object]) -> None:
    """Leave out the transport where it is the default, so that the same server looks the same."""
    written = entry.pop("type", None)
    transport = entry.pop("transport", None) or TRANSPORT_OF_TYPE.get(str(written))
    if transport == "sse":
        entry["transport"] = transport


def _check(entry: dict[str, object], problems: Problems) -> None:
    """Report what the configuration file would not accept, with a stand-in for every reference."""
    stand_in = _stand_in(entry, "x")
    if isinstance(stand_in, dict):
        url = stand_in.get("url")
        if isinstance(url, str) and url != entry.get("url"):
            stand_in["url"] = "http://x"
        read_server(stand_in, OFF, DEFAULT_PIN, (), problems)


def _stand_in(node: object, text: str) -> object:
    if isinstance(node, str):
        return text if _REFERENCE.search(node) else node
    if isinstance(node, dict):
        return {key: _stand_in(value, text) for key, value in node.items()}
    return [_stand_in(item, text) for item in node] if isinstance(node, list) else node
