"""A home and a project with files of clients in them, and short ways to import what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import ServerConfig, load
from mcp_workbench.config.clients import CLIENTS, Converted, Machine, client_named, convert, find_files
from tests.config.loading import one_server, write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.clients import Client, FoundFile

FILES = Path(__file__).parent / "files"


class Place(msgspec.Struct, frozen=True):
    """A machine with an empty home and an empty project, in which tests put files."""

    machine: Machine

    def put(self, path: str, content: str | bytes) -> Path:
        """Write a file at a path that begins with `~` (the home) or is relative to the project."""
        full = (
            Path(self.machine.home, path[2:]) if path.startswith("~/") else Path(self.machine.directory, path)
        )
        full.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        full.write_bytes(data.replace(b"PROJECT", self.machine.directory.encode()))
        return full

    def put_example(self, name: str, path: str) -> Path:
        return self.put(path, (FILES / name).read_bytes())

    def found(self, *clients: Client) -> list[FoundFile]:
        return find_files(self.machine, clients or CLIENTS)

    def converted(self, client: str) -> dict[str, Converted]:
        """Every server of a client, in its order: of the person first, then of the project."""
        return {
            server.name: convert(file, server, self.machine)
            for file in self.found(client_of(client))
            for server in file.servers
        }

    def loaded(self, converted: Converted, environ: Mapping[str, str]) -> ServerConfig:
        """The server as the workbench loads it from its own file."""
        path = write(Path(self.machine.home), one_server(converted.entry))
        loaded = load(path, environ, lookup=lambda name: f"secret {name}")
        return loaded.config.toolboxes["dev"].servers["fs"]


def make_place(root: Path, environ: Mapping[str, str] | None = None) -> Place:
    (root / "home").mkdir()
    (root / "project").mkdir()
    return Place(Machine("linux", str(root / "home"), str(root / "project"), environ or {}))


def client_of(name: str) -> Client:
    client = client_named(name)
    assert client is not None
    return client
