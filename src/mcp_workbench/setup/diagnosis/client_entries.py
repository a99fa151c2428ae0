"""Finds and reads the entries by which clients start the workbench."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.clients import (
    FoundFile,
    FoundServer,
    Machine,
    find_files,
    this_machine,
)
from mcp_workbench.config.clients.own_entry import words_of
from mcp_workbench.config.documents import open_document
from mcp_workbench.config.places import VARIABLE, config_option, personal_file
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.setup.diagnosis.version_calls import Command

_OWN_NAMES: Final = frozenset(("mcp-workbench", "workbench-mcp"))
_PYTHON: Final = re.compile(r"python[\d.]*")
_REPLACED: Final = re.compile(r"\$|%\w+%")
"""Text that a client replaces by something that is not known here."""


class WorkbenchEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a client that starts the workbench: its command line, and what that leads to."""

    client: str
    title: str
    file: FoundFile
    server: FoundServer
    words: tuple[str, ...]
    env: dict[str, str]
    program: str | None
    """The file that is started; None if there is none, or if it is not executable."""
    config: str | None
    """The configuration file that the entry names; None if it names none."""
    keeps_going: bool
    personal: str
    """The person's own configuration file, which is used where the entry names none."""

    @property
    def is_replaced(self) -> bool:
        """Whether the client puts something into the path of the program that is not known here."""
        return _REPLACED.search(self.words[0]) is not None

    @property
    def is_started_directly(self) -> bool:
        """Whether the program is the workbench itself, or the Python that runs it."""
        return bool(self.version_command)

    @property
    def version_command(self) -> Command:
        """The command line that tells the version of this workbench; empty if a launcher would run it."""
        if self.program is None or self.is_replaced:
            return ()
        name = os.path.basename(self.words[0]).removesuffix(".exe")
        if name in _OWN_NAMES:
            return (self.program,)
        if _PYTHON.fullmatch(name) and self.words[1:3] == ("-m", "mcp_workbench"):
            return (self.program, "-m", "mcp_workbench")
        return ()

    def uses(self, path: str) -> bool:
        """Whether the entry starts the workbench with this configuration file."""
        return os.path.realpath(self.config or self.personal) == os.path.realpath(path)


class FoundClients(msgspec.Struct, frozen=True):
    """The files of the clients on a machine, and the entries in them that start the workbench."""

    machine: Machine
    files: list[FoundFile]
    entries: list[WorkbenchEntry]


def find_clients(environ: Mapping[str, str], directory: str) -> FoundClients:
    """Find the files of all clients of the current user, and those of the project in `directory`."""
    machine = this_machine(environ, directory)
    files = find_files(machine)
    return FoundClients(machine, files, _entries_in(files, environ))


def _entries_in(files: Sequence[FoundFile], environ: Mapping[str, str]) -> list[WorkbenchEntry]:
    """Return the entries that start the workbench, disabled ones left out."""
    return [
        _read(file, server, environ)
        for file in files
        for server in file.servers
        if server.is_workbench and not _is_disabled(server.entry)
    ]


def is_own_program(path: str) -> bool:
    """Whether a program is the very one that runs now, so that its version is known."""
    own = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), os.path.basename(path))
    # The Pythons of virtual environments are often links to the same file.
    is_same = os.path.samefile if os.path.basename(path).removesuffix(".exe") in _OWN_NAMES else str.__eq__
    return os.path.exists(own) and is_same(os.path.abspath(path), own)


def line_of(entry: WorkbenchEntry) -> int | None:
    """Return the line of the entry in the client's file; None if that is not known."""
    try:
        with open(entry.file.path, "rb") as file:
            return open_document(entry.file.format, file.read()).line_of(entry.server.path)
    except (OSError, DocumentError):
        return None


def _read(file: FoundFile, server: FoundServer, environ: Mapping[str, str]) -> WorkbenchEntry:
    client = file.client
    words = tuple(words_of(server.entry))
    given = server.entry.get(client.form.env_key if client is not None else "env", server.entry.get("env"))
    env = {str(name): str(value) for name, value in (given if isinstance(given, dict) else {}).items()}
    config = config_option(words) or env.get(VARIABLE)
    return WorkbenchEntry(
        client=client.id if client is not None else "",
        title=client.title if client is not None else file.path,
        file=file,
        server=server,
        words=words,
        env=env,
        program=shutil.which(
            os.path.expanduser(words[0]), path=env.get("PATH") or environ.get("PATH", os.defpath)
        ),
        config=os.path.expanduser(config) if config else None,
        keeps_going="--keep-going" in words,
        personal=personal_file(environ),
    )


def _is_disabled(entry: Mapping[str, object]) -> bool:
    return entry.get("disabled") is True or entry.get("enabled") is False
