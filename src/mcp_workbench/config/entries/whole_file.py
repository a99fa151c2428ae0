"""Parses a configuration file with its server entries in our words, whichever client they come from.

Owns the recognition of whole files of other clients, which are to be imported and not loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.entries.our_words import is_in_our_words
from mcp_workbench.config.source.parse import parse
from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Problems


def parse_in_our_words(path: str, data: bytes, problems: Problems, *, is_file: bool) -> dict[str, object]:
    """Return the tree of a file, with every server entry in our words. Raises ConfigError."""
    try:
        tree = parse(path, data, problems)
    except ConfigError:
        _refuse_foreign_text(path, data)
        raise
    if is_file and "toolboxes" not in tree:
        _refuse_foreign_file(path, tree)
    _translate_entries(tree, problems)
    return tree


def _translate_entries(tree: dict[str, object], problems: Problems) -> None:
    toolboxes = tree.get("toolboxes")
    if not isinstance(toolboxes, dict):
        return
    for box, toolbox in toolboxes.items():
        servers = toolbox.get("mcpServers") if isinstance(toolbox, dict) else None
        if not isinstance(servers, dict):
            continue
        for name, entry in servers.items():
            if isinstance(entry, dict) and not is_in_our_words(entry):
                from mcp_workbench.config.entries.translate import translate  # noqa: PLC0415 - for few entries

                servers[name] = translate(entry, ("toolboxes", box, "mcpServers", name), problems)


def _refuse_foreign_file(path: str, tree: dict[str, object]) -> None:
    # A slip such as "toolboxs" makes it a file of ours, which is told about the slip.
    if any(key.lower().startswith("toolbox") for key in tree):
        return
    from mcp_workbench.config.clients.recognition import name_of_form  # noqa: PLC0415 - for a wrong file

    _refuse(path, name_of_form(tree))


def _refuse_foreign_text(path: str, data: bytes) -> None:
    from mcp_workbench.config.clients.recognition import name_of_text  # noqa: PLC0415 - for a wrong file

    _refuse(path, name_of_text(data))


def _refuse(path: str, owner: str) -> None:
    if not owner:
        return
    import shlex  # noqa: PLC0415 - for a wrong file

    what = f"this file has the form of {owner}, not of the workbench"
    remedy = f"Import its servers: mcp-workbench import {shlex.quote(path)}"
    raise ConfigError(path, [Problem("", what, remedy)])
