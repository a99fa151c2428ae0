"""Replaces the references in a server entry, as loading the configuration does, to compare and check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from mcp_workbench.config.entries.translate import translate
from mcp_workbench.config.source.expand import expand
from mcp_workbench.config.validation.file import validate
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.setup.importing.identity import identity_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.errors import Problem


MAX_LEVELS: Final = 32
"""Levels of nesting of the deepest entry that is looked at. Real ones have three."""
_BOX: Final = "imported"


class CheckedEntry(msgspec.Struct, frozen=True):
    """An entry in our words, its identity, and what is wrong with it."""

    entry: dict[str, object]
    """The entry in our words, with its references as they are."""
    identity: str
    missing: tuple[str, ...]
    """References without a value, with the remedy: the server cannot start before they have one."""
    mistakes: tuple[Problem, ...]
    """What makes the entry unusable in a configuration."""


class Resolver:
    """Resolves entries with the environment and the stored secrets of one user."""

    def __init__(self, environ: Mapping[str, str], directory: str, lookup: SecretLookup) -> None:
        """Take the environment, the directory of the configuration file, and the stored secrets."""
        self._environ = dict(environ)
        self._directory = directory
        self._lookup = lookup

    def check(self, name: str, entry: Mapping[str, object], unknown: Collection[str] = ()) -> CheckedEntry:
        """Return an entry with its identity and its mistakes. References of disabled servers count too.

        `unknown` are names of secrets that are not looked up, because they may stand for something else.
        """

        def lookup(secret: str) -> str | None:
            return None if secret in unknown else self._lookup(secret)

        problems = Problems()
        copy: dict[str, object] = msgspec.to_builtins(dict(entry))
        translated = translate(copy, ("toolboxes", _BOX, "mcpServers", name), problems)
        # A disabled server's references would be left as they are.
        enabled = {key: value for key, value in translated.items() if key != "disabled"}
        before = len(problems.found)
        tree = expand(
            _tree(name, enabled), self._environ, problems, directory=self._directory, lookup=lookup
        ).tree
        after = len(problems.found)
        resolved = _entry_in(tree)
        validate(tree, problems)
        return CheckedEntry(
            translated,
            identity_of(resolved, self._environ),
            tuple(dict.fromkeys(f"{one.what}: {one.remedy}" for one in problems.found[before:after])),
            (*problems.found[:before], *problems.found[after:]),
        )


def is_deep(node: object, levels: int = MAX_LEVELS) -> bool:
    """Whether a value is nested so deeply that it is no entry, and that walks over it could fail."""
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return levels == 0 or any(is_deep(child, levels - 1) for child in children)


def _tree(name: str, entry: Mapping[str, object]) -> dict[str, object]:
    """Return a configuration with this server only, because only a whole one can be expanded and checked."""
    toolbox = {"description": "imported", "mcpServers": {name: dict(entry)}}
    return {"toolboxes": {_BOX: toolbox}}


def _entry_in(tree: dict[str, Any]) -> dict[str, object]:
    (entry,) = tree["toolboxes"][_BOX]["mcpServers"].values()
    return cast("dict[str, object]", entry)
