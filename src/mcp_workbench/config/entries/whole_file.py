"""Translates the server entries of a whole configuration file, where they are in the words of other clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.entries.our_words import is_in_our_words

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Problems


def translate_entries(tree: dict[str, object], problems: Problems) -> dict[str, object]:
    """Return the tree of a file with every server entry in our words. Entries that are so already stay."""
    toolboxes = tree.get("toolboxes")
    if not isinstance(toolboxes, dict):
        return tree
    for box, toolbox in toolboxes.items():
        servers = toolbox.get("mcpServers") if isinstance(toolbox, dict) else None
        if not isinstance(servers, dict):
            continue
        for name, entry in servers.items():
            if isinstance(entry, dict) and not is_in_our_words(entry):
                from mcp_workbench.config.entries.translate import translate  # noqa: PLC0415 - for few entries

                servers[name] = translate(entry, ("toolboxes", box, "mcpServers", name), problems)
    return tree
