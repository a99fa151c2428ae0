"""The import that `install --replace` makes before it takes servers out of the files of clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.cli.setup.asking import ask_secrets
from mcp_workbench.cli.setup.import_display import (
    as_object,
    kept_in_file,
    show_change,
    show_found,
    show_secrets,
)
from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.importing.plan import execute, plan_import
from mcp_workbench.setup.installing import find_target, found_at
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.storage.secrets import SecretStore
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcp_workbench.config.clients import Client, FoundFile, Machine
    from mcp_workbench.config.documents import Path


class Replacement:
    """The servers of clients that are imported, and may then be taken out of the clients' files."""

    def __init__(
        self, options: argparse.Namespace, machine: Machine, clients: Sequence[Client], config_path: str
    ) -> None:
        self._options = options
        self._path = config_path
        self._files = _files(options, machine, clients)
        self._is_written = False
        self._plan = plan_import(self._files, config_path, machine, secret_lookup(os.environ))

    @property
    def has_change(self) -> bool:
        """Whether the import changes the configuration file."""
        return self._plan.change is not None

    @property
    def content(self) -> bytes | None:
        """The content of the configuration file after the import; None if it stays as it is."""
        return None if self._plan.change is None else self._plan.change.after

    @property
    def present(self) -> frozenset[tuple[str, Path]]:
        """The servers that are in the workbench after the import, by their files and places in them."""
        return self._plan.present

    def show(self) -> None:
        """Print what is imported, as a diff of the configuration file, and what stays with the clients."""
        show_found(self._plan, self._files, show_all=False)
        for warning in self._plan.warnings:
            complain(f"warning: {show_name(warning)}")
        show_secrets(self._plan.secrets)
        if self.has_change:
            show_change(self._plan)
        for one in self._plan.servers:
            if one.state == "refused":
                reasons = "; ".join(show_name(reason) for reason in one.reasons)
                stays = f"{show_name(one.server.name)} stays in {show_name(one.file.path)}: {reasons}"
                complain(self._plan.mask(stays))

    def write(self) -> None:
        """Store the secrets, asking for those that no file has, and write the configuration file."""
        answers = {} if self._options.json else ask_secrets(self._plan.inputs)
        store = SecretStore(os.environ)
        execute(self._plan, os.environ, store, answers)
        if kept := kept_in_file(store):
            complain(kept)
        self._is_written = self.has_change
        if self.has_change and not self._options.json:
            say(f"Written: {show_name(self._path)}")
        for name in self._plan.inputs:
            if name not in answers:
                complain(f"a secret is missing: mcp-workbench secret set {name}")

    def described(self) -> dict[str, object]:
        """Return the import for scripts."""
        return as_object(self._plan, self._files, is_written=self._is_written)


def _files(options: argparse.Namespace, machine: Machine, clients: Sequence[Client]) -> list[FoundFile]:
    """Return the files that the workbench is going to be installed in. What is wrong is reported later."""
    files = []
    for client in clients:
        if client.paste:
            continue
        try:
            found = found_at(machine, client, options.scope, find_target(machine, client, options.scope)[0])
        except CannotChange:
            continue
        if found is not None:
            files.append(found)
    return files
