"""Looks at the clients on this machine: which of them start the workbench, and whether that would work.

A client starts the workbench without a shell, often with a short PATH and in any directory. Owns how the
entry of a client is judged. `client_entries` finds and reads the entries.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Final

from mcp_workbench import __version__
from mcp_workbench.errors import CannotChange, ConfigError, DocumentError, StoreError
from mcp_workbench.setup.diagnosis.client_entries import line_of
from mcp_workbench.setup.diagnosis.examined import edit_command, names
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.diagnosis.program_area import find_program
from mcp_workbench.setup.importing.plan import plan_import
from mcp_workbench.setup.launching import DISTRIBUTION, is_temporary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_workbench.config.clients import FoundFile
    from mcp_workbench.setup.diagnosis.client_entries import FoundClients, WorkbenchEntry
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding
    from mcp_workbench.setup.diagnosis.program_area import NeededProgram
    from mcp_workbench.setup.diagnosis.version_calls import Command, VersionAnswer

DESKTOP_PATH: Final = (
    "/usr/bin:/bin:/usr/sbin:/sbin" if sys.platform == "darwin" else "/usr/local/bin:/usr/bin:/bin"
)
"""The PATH that a program has that was started from the desktop, at least."""

_TERMINAL_CLIENTS: Final = frozenset(
    ("amazon-q", "amp", "claude-code", "codex", "copilot-cli", "crush", "gemini-cli", "goose", "opencode")
)
"""Clients that are started in a terminal, and pass on its PATH."""


def look_at_clients(
    examined: Examined,
    clients: FoundClients,
    programs: Sequence[NeededProgram],
    answers: Mapping[Command, VersionAnswer],
) -> Area:
    """Return whether the entries of clients would work. `answers` has the versions of their programs."""
    findings = list(_unreadable(clients.files))
    entries = clients.entries
    for entry in entries:
        findings += _look_at_command(examined, entry, answers)
        findings += _look_at_config(examined, entry)
        if entry.uses(examined.path):
            findings += _look_at_path(examined, entry, programs)
    findings += _look_at_other_files(examined, entries)
    findings += _look_at_doubles(examined, clients)
    if not entries:
        findings.append(
            found(
                "no-client",
                "No client on this machine starts the workbench.",
                remedy="To list the clients that are here:",
                command=examined.command("install"),
            )
        )
    titles = dict.fromkeys(entry.title for entry in entries)
    verb = "start" if len(titles) > 1 else "starts"
    return Area("clients", f"{', '.join(titles) or 'none'} {verb} the workbench", tuple(findings))


def _unreadable(files: Sequence[FoundFile]) -> Iterator[Finding]:
    for file in files:
        if file.error and file.client is not None:
            yield found(
                "client-file-unreadable",
                f"The settings of {file.client.title} cannot be read: {file.error}.",
                client=file.client.id,
                file=file.path,
                command=edit_command(file.path, None),
            )


def _finding(
    examined: Examined, entry: WorkbenchEntry, code: str, message: str, *, remedy: str = "", command: str = ""
) -> Finding:
    """Return a finding about an entry. Unless another command fixes it, installing anew does."""
    scope = ("--scope", "project") if entry.file.scope == "project" else ()
    return found(
        code,
        message,
        client=entry.client,
        file=entry.file.path,
        line=line_of(entry),
        remedy=remedy,
        command=command or examined.command("install", entry.client, *scope),
    )


def _look_at_command(
    examined: Examined, entry: WorkbenchEntry, answers: Mapping[Command, VersionAnswer]
) -> Iterator[Finding]:
    program = entry.words[0]
    if entry.is_replaced:
        return
    if entry.program is None:
        what = f"{entry.title} starts {program}, which is not there or not executable."
        yield _finding(examined, entry, "client-command-missing", what)
        return
    if not os.path.isabs(program):
        what = f"{entry.title} starts '{program}' without its path, which a desktop program may not find."
        yield _finding(examined, entry, "client-command-not-absolute", what)
    if entry.is_started_directly and is_temporary(entry.program, examined.environ):
        what = f"{entry.title} starts {program}, which is in a cache and may be deleted at any time."
        remedy = f"Install it with: uv tool install {DISTRIBUTION}. Then:"
        yield _finding(examined, entry, "client-command-temporary", what, remedy=remedy)
    answer = answers.get(entry.version_command) if entry.version_command else None
    if answer is not None and answer.failure:
        what = f"{entry.title} starts {program}, which fails: {examined.loaded.secrets.mask(answer.failure)}"
        yield _finding(examined, entry, "client-command-fails", what)
    elif answer is not None and answer.version not in ("", __version__):
        what = f"{entry.title} starts version {answer.version} of the workbench. This is {__version__}."
        yield _finding(examined, entry, "client-version-differs", what)


def _look_at_config(examined: Examined, entry: WorkbenchEntry) -> Iterator[Finding]:
    if not entry.keeps_going:
        what = f"The entry of {entry.title} lacks --keep-going: one mistake in the file, and it has no tools."
        yield _finding(examined, entry, "client-without-keep-going", what)
    config = entry.config
    if config is None:
        if not entry.uses(examined.path):
            what = f"The entry of {entry.title} does not say which configuration file to use."
            yield _finding(examined, entry, "client-config-not-absolute", what)
    elif not os.path.isabs(config):
        what = f"The entry of {entry.title} names the configuration by a relative path, {config}."
        yield _finding(examined, entry, "client-config-not-absolute", what)
    elif not os.path.exists(config):
        if entry.uses(examined.path):
            return  # that the file is missing is said already
        what = f"The entry of {entry.title} names a configuration that does not exist: {config}."
        yield _finding(examined, entry, "client-config-missing", what)


def _look_at_other_files(examined: Examined, entries: Sequence[WorkbenchEntry]) -> Iterator[Finding]:
    """Yield the other configuration files that clients use, each with all of its clients."""
    others: dict[str, list[WorkbenchEntry]] = {}
    for entry in entries:
        config = entry.config or ""
        if os.path.isabs(config) and os.path.exists(config) and not entry.uses(examined.path):
            others.setdefault(config, []).append(entry)
    for config, users in others.items():
        titles = tuple(dict.fromkeys(entry.title for entry in users))
        verb = "uses" if len(titles) == 1 else "use"
        what = f"{names(titles)} {verb} another configuration: {config}."
        remedy, command = "To look at that one:", shlex.join(("mcp-workbench", "doctor", "--config", config))
        yield _finding(examined, users[0], "client-uses-another-file", what, remedy=remedy, command=command)


def _look_at_path(
    examined: Examined, entry: WorkbenchEntry, programs: Sequence[NeededProgram]
) -> Iterator[Finding]:
    """Yield the programs that the workbench would not find when this client starts it."""
    path = entry.env.get("PATH")
    if path is None and entry.client in _TERMINAL_CLIENTS:
        return
    ours = examined.environ.get("PATH", os.defpath)
    lacking = tuple(
        dict.fromkeys(
            program.command
            for program in programs
            # A server with a PATH of its own does not depend on the client's.
            if program.path is not None
            and program.search_path == ours
            and find_program(program.command, DESKTOP_PATH if path is None else path) is None
            and not os.path.dirname(program.command)
        )
    )
    if not lacking:
        return
    shown = names(tuple(map(examined.loaded.secrets.mask, lacking)))
    if path is None:
        what = f"The entry of {entry.title} has no PATH, and a desktop program may not find {shown}."
        yield _finding(examined, entry, "client-without-path", what)
    else:
        what = f"With the PATH in the entry of {entry.title}, these programs are not found: {shown}."
        yield _finding(examined, entry, "client-path-too-short", what)


def _look_at_doubles(examined: Examined, clients: FoundClients) -> Iterator[Finding]:
    """Yield the clients that have a server themselves which they also get by the workbench."""
    ours = {entry.client: entry for entry in clients.entries if entry.uses(examined.path)}
    concerned = [file for file in clients.files if file.client is not None and file.client.id in ours]
    if not concerned or not examined.entries:
        return
    try:
        plan = plan_import(concerned, examined.path, clients.machine, examined.secrets)
    except (ConfigError, DocumentError, CannotChange, StoreError):
        return  # what is wrong with the file is known already
    doubles: dict[str, list[str]] = {}
    for server in plan.servers:
        if server.state == "present" and server.file.client is not None:
            doubles.setdefault(server.file.client.id, []).append(f"{server.toolbox}/{server.name}")
    for client, servers in doubles.items():
        entry = ours[client]
        unique = tuple(dict.fromkeys(servers))
        yield found(
            "server-in-both",
            f"{entry.title} has {names(unique)} itself too, and the model pays for both.",
            servers=unique,
            client=client,
            file=entry.file.path,
            command=examined.command("install", client, "--replace"),
        )
