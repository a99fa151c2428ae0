"""A machine to look at: a home directory, programs that tell a version, a configuration, and a client."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_workbench.config.places import personal_file
from mcp_workbench.setup.diagnosis.diagnose import diagnose
from mcp_workbench.setup.diagnosis.examined import Examined, examine
from mcp_workbench.storage.catalogue import Catalogue, Record, identity_of
from mcp_workbench.storage.directories import cache_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

    import msgspec

    from mcp_workbench.setup.diagnosis.diagnose import Diagnosis
    from mcp_workbench.setup.diagnosis.findings import Finding
    from tests.support.client import Json

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"  # noqa: S105 - an invented one
"""A secret that no finding may show."""
WORKBENCH = Path(sys.executable).with_name("mcp-workbench")
PINNED: Json = {"command": "npx", "args": ["-y", "@scope/files@1.2.3"]}


class Clinic:
    """A home directory in which everything is right, until a test changes something."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.bin = directory / "bin"
        self.cursor = self.home / ".cursor" / "mcp.json"
        self.environ = {
            "HOME": str(self.home),
            "PATH": str(self.bin),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        self.config = Path(personal_file(self.environ))
        for made in (self.config.parent, self.cursor.parent, self.bin):
            made.mkdir(parents=True)
        for name, version in (("npx", "11.0.0"), ("node", "v22.1.0"), ("uvx", "uvx 0.9.1 (abc 2026-01-01)")):
            self.program(name, f"echo '{version}'")
        self.write({"files": PINNED})
        self.install()

    def program(self, name: str, script: str) -> Path:
        """Put a program on the PATH."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def write(self, servers: Json, **settings: Any) -> None:
        """Write a configuration with one toolbox, which only its owner can read."""
        box = {"description": "Tools", "mcpServers": servers}
        self.write_text(json.dumps({"toolboxes": {"dev": box}, **settings}, indent=1))

    def write_text(self, text: str) -> None:
        self.config.write_text(text, encoding="utf-8")
        self.config.chmod(0o600)

    def install(self, *args: str, command: str = str(WORKBENCH), **entry: Any) -> None:
        """Put the workbench into Cursor, as `install` would if nothing else is said."""
        words = list(args) or ["--config", str(self.config), "--keep-going"]
        ours = {"command": command, "args": words, "env": {"PATH": str(self.bin)}, **entry}
        self.write_client({"workbench": ours})

    def write_client(self, servers: Json) -> None:
        self.cursor.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    def list_tools(self, listed_at: float, tools: Iterable[msgspec.Raw] = ()) -> None:
        """Write a record of each server into the catalogue."""
        examined = self.examine()
        catalogue = Catalogue(cache_directory(self.environ))
        for origin, server in examined.servers.items():
            record = Record(tuple(tools), b"{}", "legacy", listed_at)  # type: ignore[arg-type] # Raw is bytes
            catalogue.keep(identity_of(origin, server, examined.loaded.secrets.mask), record)

    def examine(self, option: str | None = None) -> Examined:
        return examine(option or str(self.config), option, self.environ)

    async def diagnose(self, option: str | None = None) -> Diagnosis:
        return await diagnose(self.examine(option), str(self.home))

    async def findings(self) -> list[Finding]:
        """All findings but the processes, which may be those of other tests."""
        found = (await self.diagnose()).findings
        return [finding for finding in found if finding.code != "orphaned-processes"]
