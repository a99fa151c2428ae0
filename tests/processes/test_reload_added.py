"""A running workbench takes up a server that `mcp-workbench add` puts into its file."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.processes.reloading import changing, versatile
from tests.support.client import clean_environment
from tests.support.configs import toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.sessions import Era


async def test_an_added_server_is_there_without_a_restart(client_era: Era, tmp_path: Path) -> None:
    entry = versatile()
    async with changing(tmp_path, client_era, toolboxes(dev={})) as bench:
        options = ["--config", str(bench.path), "--no-check", "--", entry["command"], *entry["args"]]

        def add() -> None:
            subprocess.run(
                [sys.executable, "-m", "mcp_workbench", "add", "new", *options],
                env=clean_environment(tmp_path),
                timeout=PATIENCE,
                check=True,
            )

        await bench.reloaded_by(add)
        assert await bench.pid("dev", "new") > 0
