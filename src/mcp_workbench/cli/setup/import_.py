"""`mcp-workbench import`: imports the servers of MCP clients into the configuration file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.setup.asking import ask, ask_secrets, confirm, is_interactive
from mcp_workbench.cli.setup.clients.naming import unknown_client
from mcp_workbench.cli.setup.failures import report_failures
from mcp_workbench.cli.setup.import_display import (
    as_object,
    kept_in_file,
    show_change,
    show_found,
    show_secrets,
    summary,
)
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.config.clients import client_named, find_files, read_file, this_machine
from mcp_workbench.config.model.results import TOOLBOX as RESERVED
from mcp_workbench.setup.importing.plan import execute, plan_import
from mcp_workbench.setup.importing.target import is_configuration
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.storage.secrets import SecretStore
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcp_workbench.config.clients import FoundFile, Machine
    from mcp_workbench.setup.importing.plan import ImportPlan

_NEXT = """
Next:
  mcp-workbench check --connect   starts every server, and lists its tools
  mcp-workbench install           puts the workbench into your clients"""

_NONE_FOUND = """\
No servers of MCP clients were found in your home directory or in the project here.
Name a client's file: mcp-workbench import path/to/file.json
Or add a server:      mcp-workbench add time -- uvx mcp-server-time"""


def run(options: argparse.Namespace) -> int:
    """Import servers. Return 0, 1 (nothing was changed, or nothing could be read) or 2 (wrong input)."""
    machine = this_machine(os.environ, ".")
    files = _files(options.sources, machine)
    if files is None or not _is_usable(options.toolbox):
        return 2
    path = configuration_path(options.config)
    return report_failures(path, _Import(options, machine, files, path).run)


class _Import:
    """One run of the command: plans, shows, asks and writes."""

    def __init__(
        self, options: argparse.Namespace, machine: Machine, files: Sequence[FoundFile], path: str
    ) -> None:
        self._options = options
        self._machine = machine
        self._files = files
        self._path = path
        self._lookup = secret_lookup(machine.environ)

    def run(self) -> int:
        """Import, and return the exit code."""
        plan = self._plan()
        is_readable = any(not file.error for file in self._files)
        failed = bool(self._options.sources) and not is_readable
        if self._options.json:
            return self._run_json(plan, failed=failed)
        show_found(plan, self._files, show_all=bool(self._options.sources))
        if not plan.servers and not self._options.sources:
            say(_NONE_FOUND)
            return 0
        for warning in plan.warnings:
            complain(f"warning: {show_name(warning)}")
        if plan.change is None:
            say(f"\nNothing to change: {summary(plan)}.")
            return 1 if failed else 0
        plan = self._settle_secrets(plan)
        show_change(plan)
        say(f"\n{summary(plan)[:1].upper()}{summary(plan)[1:]}.")
        if self._options.dry_run:
            say("Nothing was written: this is a dry run.")
            return 0
        if not confirm(f"Write {show_name(self._path)}?", yes=self._options.yes):
            return 1
        self._execute(plan)
        say(_NEXT)
        return 0

    def _plan(self, *, keep_literals: bool = False) -> ImportPlan:
        return plan_import(
            self._files,
            self._path,
            self._machine,
            self._lookup,
            toolbox=self._options.toolbox,
            keep_literals=keep_literals,
        )

    def _run_json(self, plan: ImportPlan, *, failed: bool) -> int:
        may_write = self._options.yes and not self._options.dry_run
        is_written = plan.change is not None and may_write
        if is_written:
            store = SecretStore(self._machine.environ)
            execute(plan, self._machine.environ, store)
            if kept := kept_in_file(store):
                complain(kept)
        print_json(as_object(plan, self._files, is_written=is_written))
        is_refused = plan.change is not None and not may_write and not self._options.dry_run
        if is_refused:
            complain("nothing is changed: use --yes to import, or --dry-run to see the change")
        return 1 if failed or is_refused else 0

    def _settle_secrets(self, plan: ImportPlan) -> ImportPlan:
        """Return the plan with literal secrets moved to the keyring, or left alone if the person says so."""
        if not plan.secrets:
            return plan
        show_secrets(plan.secrets)
        if self._options.dry_run or self._options.yes or not is_interactive():
            return plan
        if ask("Move them to the keyring? (y/n)", "y").lower() in ("y", "yes"):
            return plan
        kept = self._plan(keep_literals=True)
        names = ", ".join(secret.name for secret in kept.literals)
        complain(f"warning: these secrets will be readable in {show_name(self._path)}: {names}")
        return kept

    def _execute(self, plan: ImportPlan) -> None:
        answers = ask_secrets(plan.inputs)
        store = SecretStore(self._machine.environ)
        execute(plan, self._machine.environ, store, answers)
        say(f"Written: {show_name(self._path)}")
        if kept := kept_in_file(store):
            say(f"{kept[:1].upper()}{kept[1:]}")
        for name in plan.inputs:
            if name not in answers:
                say(f"A secret is missing: mcp-workbench secret set {name}")


def _files(sources: Sequence[str], machine: Machine) -> list[FoundFile] | None:
    """Return the files that the command line names; None if a name is unknown."""
    if not sources:
        return find_files(machine)
    clients = []
    files = []
    for source in sources:
        is_path = os.sep in source or "/" in source
        if not is_path and (client := client_named(source)):
            clients.append(client)
        elif is_path or Path(source).exists():
            files.append(read_file(str(Path(source).expanduser()), None, machine))
            if not files[-1].servers and is_configuration(files[-1].path):
                shown = show_name(source)
                complain(f"{shown} is a configuration of the workbench: use it with --config {shown}")
                return None
        else:
            complain(f"{unknown_client(source)}. Or name a file: mcp-workbench import path/to/file.json")
            return None
    found = find_files(machine, clients) if clients else []
    for client in clients:
        if not any(file.client == client for file in found):
            complain(f"{client.title} has no file with servers here")
    return [*found, *files]


def _is_usable(toolbox: str | None) -> bool:
    if toolbox is None:
        return True
    if not toolbox.strip() or "${" in toolbox or not toolbox.isprintable():
        complain("--toolbox: use a name with visible characters")
        return False
    if toolbox == RESERVED:
        complain(f"--toolbox: the name {RESERVED} belongs to the toolbox for kept results. Choose another")
        return False
    return True
