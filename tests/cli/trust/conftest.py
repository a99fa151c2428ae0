"""The bench of the commands about trust, on which commands run in this process."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.cli import main
from tests.cli.commands import Bench
from tests.cli.setup.clients.desk import Ran, Typing

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config import Secrets


class Untold:
    """A log that nobody reads."""

    def hide(self, secrets: Secrets) -> None:
        """Hide nothing, because nothing is written."""


class TrustBench(Bench):
    """A bench whose commands can also run in this process, which takes a tenth of the time."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        super().__init__(directory)
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def do(self, *args: str, typed: str | None = None) -> Ran:
        """Run a command; `typed` is what a person types at the terminal, without it there is none."""
        with self._monkeypatch.context() as patch:
            patch.chdir(self.directory)
            environ = self.environment()
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in environ.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.StringIO() if typed is None else Typing(typed))
            patch.setattr(sys.stderr, "isatty", lambda: typed is not None)
            # A command directs the log to stderr, which is not to stay so for other tests.
            patch.setattr("mcp_workbench.cli.configuration.set_up", lambda *_: Untold())
            code = main(args)
        printed = self._capsys.readouterr()
        return Ran(code, printed.out, printed.err)


@pytest.fixture(autouse=True)
def _wait_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only matters when the power fails: on a busy disk it takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TrustBench:
    return TrustBench(tmp_path, monkeypatch, capsys)
