"""Reads what limits servers outside of their entries: the pieces that the rules of several clients share."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mcp_workbench.config.clients.found import OuterLimit
from mcp_workbench.config.clients.parsing import UnreadableFile, parse_file

if TYPE_CHECKING:
    from mcp_workbench.config.documents import Format

Tree = dict[str, object]
ALL_TOOLS = ("*",)
"""The filters of a server without a limit."""
NOT_IN_A_TOOL = re.compile(r"[^A-Za-z0-9_-]")
"""Characters in the name of a server that clients replace by `_` in the full names of its tools."""


class UnclearRule(Exception):
    """A key that limits servers has a value that cannot be understood; the text names the key."""


def disabled(why: str) -> OuterLimit:
    """Return the limit of a server that the client leaves out, with the reason as a note."""
    return OuterLimit(is_disabled=True, notes=(f"is disabled: {why}",))


def refused(why: str) -> OuterLimit:
    """Return the limit of a server that cannot be imported with the rights that it has."""
    return OuterLimit(refusals=(why,))


def texts_at(node: object, *keys: str) -> list[str]:
    """Return the strings in the list under these keys; nothing if there is no such list."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    if node is None:
        return []
    if not isinstance(node, list) or not all(isinstance(item, str) for item in node):
        raise UnclearRule(f'"{".".join(keys)}"')
    return node


def tree_at(node: object, *keys: str) -> Tree:
    """Return the object under these keys; an empty one if there is none."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def spellings(name: str) -> list[str]:
    """Return the name of a server as it is, and as it is written in the full names of its tools."""
    return list(dict.fromkeys((name, NOT_IN_A_TOOL.sub("_", name))))


def hidden_tools(glob: str, prefixes: list[str]) -> list[str]:
    """Return the patterns that hide what a glob over full names of tools matches. Raises UnclearRule."""
    rests = [rest_of_glob(glob, prefix) for prefix in prefixes]
    if None in rests:
        raise UnclearRule(f'"{glob}"')
    return [f"!{rest}" for rest in dict.fromkeys(rests) if rest]


def may_overlap(shown: str | None, hidden: str) -> bool:
    """Whether a tool may match both patterns; two globs are taken to overlap."""
    if shown is None or (re.search(r"[*?]", shown) and re.search(r"[*?]", hidden)):
        return True
    return fnmatchcase(shown, hidden) or fnmatchcase(hidden, shown)


def rest_of_glob(glob: str, prefix: str) -> str | None:
    """Return what a glob over `server_tool` says about the tools of a server.

    Empty if it does not concern the server, None if it is not clear.
    """
    head = re.split(r"[*?[{]", glob)[0]
    if head.startswith(prefix):
        return glob.removeprefix(prefix)
    if glob == head or not prefix.startswith(head):
        return ""
    return "*" if glob == f"{head}*" else None


def read_settings(path: str, form: Format = "json") -> Tree:
    """Return the content of a file beside that of the servers; empty if there is none.

    Raises UnclearRule for a file that cannot be read: it may hold a limit.
    """
    if not os.path.lexists(path):
        return {}
    try:
        return parse_file(path, form)
    except UnreadableFile as error:
        raise UnclearRule(f'"{path}" ({error})') from None
