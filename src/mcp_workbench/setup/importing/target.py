"""The configuration file that servers are imported into: what it has, and what is added to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.config.clients.recognition import name_of_form
from mcp_workbench.config.documents import open_document
from mcp_workbench.config.load import load
from mcp_workbench.config.source.references import secret_names_in
from mcp_workbench.errors import CannotChange, ConfigError, DocumentError, Problem
from mcp_workbench.setup.file_changes import FileChange, read_for_change
from mcp_workbench.setup.importing.categories import category_of
from mcp_workbench.setup.importing.grouping import Box, GroupedServer, describe, describe_again
from mcp_workbench.setup.importing.merging import KnownServer, Newcomer
from mcp_workbench.setup.importing.resolving import is_deep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.setup.importing.resolving import Resolver


class Target:
    """A configuration file, opened for editing. Nothing is written here."""

    def __init__(self, path: str) -> None:
        """Read the file. Raises CannotChange, DocumentError, or ConfigError if it is one of a client."""
        self.path = path
        self._before = read_for_change(path)
        self._document = open_document("json", self._before or b"")
        self.data = self._document.data
        if "toolboxes" not in self.data and (owner := name_of_form(self.data)):
            what = f"this file has the form of {owner}, not of the workbench"
            raise ConfigError(path, [Problem("", what, "Name another file with --config.")])
        if not isinstance(self.data.get("toolboxes", {}), dict):
            problem = Problem("toolboxes", "should be an object", 'Write { "toolboxes": { … } }')
            raise ConfigError(path, [problem])
        if is_deep(self.data.get("toolboxes")):
            raise ConfigError(path, [Problem("toolboxes", "the JSON is nested too deeply", "Flatten it.")])

    @property
    def secret_names(self) -> set[str]:
        """The names of the secrets that the file refers to."""
        return secret_names_in(self.data)

    def warnings(self, environ: Mapping[str, str], lookup: SecretLookup) -> list[str]:
        """Return what is to be said about mistakes that the file has already."""
        if self._before is None:
            return []
        try:
            load(self.path, environ, lookup=lookup)
        except ConfigError as error:
            number = len(error.problems)
            stay = "1 problem, which stays" if number == 1 else f"{number} problems, which stay"
            return [f"{self.path} has {stay}: mcp-workbench check"]
        return []

    def known(self, resolver: Resolver) -> list[KnownServer]:
        """Return the servers that the file has. Those that are no objects cannot be compared."""
        servers = []
        for box, toolbox in self._toolboxes().items():
            for name, entry in _servers(toolbox).items():
                if isinstance(entry, dict):
                    checked = resolver.check(name, entry)
                    servers.append(KnownServer(box, name, checked.entry, checked.identity, checked.missing))
                else:
                    servers.append(KnownServer(box, name, {}, ""))
        return servers

    def entries(self) -> list[dict[str, object]]:
        """Return the server entries that the file has, as they are written."""
        entries = (entry for toolbox in self._toolboxes().values() for entry in _servers(toolbox).values())
        return [entry for entry in entries if isinstance(entry, dict)]

    def boxes(self) -> dict[str, Box]:
        """Return the toolboxes that the file has, with what new servers are grouped by."""
        found = {}
        for name, toolbox in self._toolboxes().items():
            description = toolbox.get("description") if isinstance(toolbox, dict) else None
            members = tuple(
                GroupedServer(server, category_of(server, entry if isinstance(entry, dict) else {}))
                for server, entry in _servers(toolbox).items()
            )
            found[name] = Box(description if isinstance(description, str) else "", members)
        return found

    def add(self, toolbox: str, newcomers: Sequence[Newcomer], members: Sequence[GroupedServer]) -> None:
        """Add servers to a toolbox, which is made if the file has none of that name. Raises DocumentError."""
        boxes = self.boxes()
        if toolbox not in boxes:
            servers = {newcomer.name: newcomer.entry for newcomer in newcomers}
            made = {"description": describe(toolbox, members), "mcpServers": servers}
            self._document.set(("toolboxes", toolbox), made)
            return
        described = describe_again(toolbox, boxes[toolbox], members)
        if described is not None:
            self._document.set(("toolboxes", toolbox, "description"), described)
        for newcomer in newcomers:
            self._document.set(("toolboxes", toolbox, "mcpServers", newcomer.name), newcomer.entry)

    def change(self) -> FileChange | None:
        """Return the change of the file, or None if nothing was added."""
        after = self._document.encode()
        if self._document.data == self.data:
            return None
        return FileChange(self.path, self._before, after)

    @property
    def directory(self) -> str:
        """The directory of the file, which relative paths in it start from."""
        return os.path.dirname(self.path)  # noqa: PTH120 - as `config.load` does

    def _toolboxes(self) -> dict[str, object]:
        toolboxes = self._document.data.get("toolboxes")
        return toolboxes if isinstance(toolboxes, dict) else {}


def is_configuration(path: str) -> bool:
    """Whether a file is a configuration of the workbench rather than one of a client."""
    try:
        return "toolboxes" in open_document("json", read_for_change(path) or b"").data
    except (DocumentError, CannotChange):
        return False


def _servers(toolbox: object) -> dict[str, object]:
    servers = toolbox.get("mcpServers") if isinstance(toolbox, dict) else None
    return servers if isinstance(servers, dict) else {}
