"""`mcp-workbench install`: puts the workbench into the files of clients, beside their servers or instead."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.setup.asking import ask, is_interactive
from mcp_workbench.cli.setup.clients.applying import (
    exit_code,
    failure,
    is_confirmed,
    outcome_of,
    show_change,
    write_change,
)
from mcp_workbench.cli.setup.clients.naming import resolve_clients
from mcp_workbench.cli.setup.failures import report_failures
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.config.clients import this_machine
from mcp_workbench.config.source.references import WORKSPACE_VARIABLE
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.installing import plan_install, snippet_for
from mcp_workbench.setup.launching import load_for_launch, plan_launch
from mcp_workbench.setup.undoing import REPLACING
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.setup.clients.replacing import Replacement
    from mcp_workbench.config.clients import Client, Machine
    from mcp_workbench.setup.installing import ClientChange
    from mcp_workbench.setup.launching import Launch

OTHER: Final = "other"
"""What people name to get the entry for a client that the workbench does not know."""


def run(options: argparse.Namespace) -> int:
    """Install the workbench in the clients that the options name, and return the exit code."""
    machine = this_machine(os.environ, ".")
    if not options.clients:
        from mcp_workbench.cli.setup.clients.overview import list_clients

        return list_clients(machine, as_json=options.json)
    path = configuration_path(options.config)
    is_other = options.clients == [OTHER]
    clients = None if is_other else resolve_clients(options.clients)
    if clients is None and options.json:
        snippet = json.loads(snippet_for(plan_launch(path, {}, os.environ)))
        if is_other:
            print_json({"clients": [{"client": OTHER, "state": "paste", "snippet": snippet}]})
        return 0 if is_other else 2
    if clients is None:
        say("For a client that the workbench does not know, copy this entry into its settings:")
        say(_indented(snippet_for(plan_launch(path, {}, os.environ))))
        return 0 if is_other else 2
    return report_failures(path, _Installation(options, machine, clients, path).run)


class _Installation:
    """One run of the command: plans, shows, asks and writes."""

    def __init__(
        self, options: argparse.Namespace, machine: Machine, clients: list[Client], path: str
    ) -> None:
        self._options = options
        self._clients = clients
        self._path = path
        self._machine = machine
        self._outcomes: list[dict[str, object]] = []

    def run(self) -> int:
        """Install, and return the exit code."""
        replacement = self._replacement() if self._options.replace else None
        content = None if replacement is None else replacement.content
        lookup = secret_lookup(os.environ)
        tree, warnings = load_for_launch(self._path, content, os.environ, lookup)
        launch = plan_launch(self._path, tree, os.environ)
        warnings = [*warnings, *launch.warnings]
        changes = [change for client in self._clients if (change := self._plan(client, launch, replacement))]
        warnings += self._warnings(launch, changes)
        for warning in warnings:
            complain(f"warning: {show_name(warning)}")
        if not self._options.json:
            if replacement is not None:
                replacement.show()
            for change in changes:
                show_change(change)
        self._write(changes, replacement)
        if self._options.json:
            described = {} if replacement is None else {"import": replacement.described()}
            print_json(
                {
                    "config": os.path.abspath(self._path),
                    "clients": self._outcomes,
                    **described,
                    "warnings": warnings,
                    "dryRun": self._options.dry_run,
                }
            )
        return exit_code(self._outcomes, self._options)

    def _warnings(self, launch: Launch, changes: list[ClientChange]) -> list[str]:
        without_folder = [change.client.title for change in changes if change.lacks_workspace]
        warnings = []
        if launch.needs_workspace and without_folder:
            warnings.append(
                f"{', '.join(without_folder)} does not tell which folder is open, and the configuration "
                f"refers to ${{workspaceFolder}}. Set {WORKSPACE_VARIABLE} in the entry, or write the path"
            )
        if self._options.scope == "project" and any(change.effect != "same" for change in changes):
            warnings.append("the file of a project may be shared, and the entry has paths of this machine")
        return warnings

    def _replacement(self) -> Replacement:
        from mcp_workbench.cli.setup.clients.replacing import Replacement

        return Replacement(self._options, self._machine, self._clients, self._path)

    def _plan(self, client: Client, launch: Launch, replacement: Replacement | None) -> ClientChange | None:
        """Return the change of a client's file; None, with an outcome, if there is none to make."""
        if client.paste:
            self._outcomes.append({"client": client.id, "state": "paste", "where": client.paste})
            self._outcomes[-1]["snippet"] = json.loads(snippet_for(launch))
            if not self._options.json:
                say(f"{client.title} has no file for its servers. Paste this in {client.paste}:")
                say(_indented(snippet_for(launch)))
            return None
        try:
            return plan_install(
                self._machine,
                client,
                self._options.scope,
                launch,
                name=self._options.name,
                may_overwrite=self._may_overwrite,
                replaces=() if replacement is None else replacement.present,
            )
        except CannotChange as error:
            complain(f"{client.title}: {error}")
            self._outcomes.append(failure(client.id, error))
            return None

    def _may_overwrite(self, path: str, name: str) -> bool:
        options = self._options
        if options.yes or options.dry_run or options.json or not is_interactive():
            return False
        question = (
            f"{show_name(path)} has another server with the name '{show_name(name)}'. Overwrite it? (y/n)"
        )
        return ask(question, "n").lower() in ("y", "yes")

    def _write(self, changes: list[ClientChange], replacement: Replacement | None) -> None:
        has_import = replacement is not None and replacement.has_change
        if not is_confirmed(changes, self._options, more=has_import):
            self._outcomes += [
                outcome_of(change, "unchanged" if change.effect == "same" else "pending")
                for change in changes
            ]
            return
        if replacement is not None:
            # The servers are in the workbench before they are taken out of a client.
            replacement.write()
        command = "install" if replacement is None else REPLACING
        written = [write_change(change, self._options, command) for change in changes]
        self._outcomes += written
        names = [str(outcome["client"]) for outcome in written if "next" in outcome]
        if names and not self._options.json:
            say(f"To take it back: mcp-workbench undo {' '.join(names)}")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
