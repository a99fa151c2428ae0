"""What real servers cost a model: the figures that the documents claim must not get worse.

`make bench SUITE=tokens` measures many more servers.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.cli.commands import Bench
from tests.real import servers
from tests.support.configs import toolboxes

if TYPE_CHECKING:
    from pathlib import Path

MAX_PERCENT = {"everything": 61, "filesystem": 62, "git": 62, "memory": 82, "time": 215}
"""The start and everything opened once, in percent of native: what was measured, and a little more. Two small
tools do not pay."""
MAX_TOTAL_PERCENT = 52
MAX_START_TOKENS = 305
MAX_SEARCH_TOKENS = 400
"""A search and the call of what it found."""


def test_real_servers_cost_a_model_no_more_than_they_did(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repository")], check=True)
    entries = {
        "everything": servers.everything(),
        "filesystem": servers.filesystem(tmp_path),
        "git": servers.git(tmp_path / "repository"),
        "memory": servers.memory(tmp_path / "memory.json"),
        "time": servers.time(),
    }
    bench = Bench(tmp_path)
    bench.write(toolboxes(**{name: {name: entry} for name, entry in entries.items()}))
    code, account = bench.run_json("tokens", "--connect", "--json")
    assert code == 0
    percent = {it["toolbox"]: round(100 * it["once"] / it["native"]) for it in account["toolboxes"]}
    assert {name: measured for name, measured in percent.items() if measured > MAX_PERCENT[name]} == {}
    assert max(it["start"] for it in account["toolboxes"]) <= MAX_START_TOKENS
    total = account["total"]
    assert round(100 * total["once"] / total["native"]) <= MAX_TOTAL_PERCENT
    assert total["search"] + total["call"] <= MAX_SEARCH_TOKENS
