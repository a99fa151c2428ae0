"""Runs setup commands in this process, as a person with an empty home would."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_workbench.cli import main
from mcp_workbench.config.clients import client_named, install_target, this_machine
from tests.support.keyrings import use_no_keyring

if TYPE_CHECKING:
    import pytest


class Ran(msgspec.Struct, frozen=True):
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed on stdout, as data."""
        return json.loads(self.out)


class Typing(io.StringIO):
    """A terminal at which a person has typed ahead."""

    def isatty(self) -> bool:
        return True


class Desk:
    """A home, a project in which commands run, and a configuration file in the home."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.home = directory / "home"
        self.project = directory / "project"
        self.config = self.home / ".config" / "mcp-workbench" / "workbench-config.json"
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin"}
        for path in (self.config.parent, self.project):
            path.mkdir(parents=True)
        self.configure(fetch={"command": "uvx", "args": ["mcp-server-fetch"]})
        use_no_keyring(monkeypatch)
        monkeypatch.chdir(self.project)

    def configure(self, **servers: dict[str, object]) -> None:
        """Write the configuration file, with one toolbox that has these servers."""
        tree = {"toolboxes": {"dev": {"description": "Tools", "mcpServers": servers}}}
        self.config.write_text(json.dumps(tree), encoding="utf-8")

    def file_of(self, client_id: str) -> Path:
        """The file of a client, whether it exists or not."""
        client = client_named(client_id)
        assert client is not None
        target = install_target(this_machine(self.environ, str(self.project)), client, "user")
        assert target is not None
        return Path(target[0])

    def write(self, client_id: str, content: str) -> Path:
        """Give a client a file."""
        path = self.file_of(client_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def run(self, *args: str, typed: str | None = None) -> Ran:
        """Run a command; `typed` is what a person types at the terminal, without it there is none."""
        with self._monkeypatch.context() as patch:
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in self.environ.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.StringIO() if typed is None else Typing(typed))
            patch.setattr(sys.stderr, "isatty", lambda: typed is not None)
            code = main(args)
        printed = self._capsys.readouterr()
        return Ran(code, printed.out, printed.err)
