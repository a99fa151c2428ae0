"""The surroundings: which toolboxes and servers there are, and the configuration that says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
MARKER = "MCP_WORKBENCH_SOAK"
"""The environment variable that all processes of a run carry."""
CALL_TIMEOUT = 3.0
TOTAL_TIMEOUT = 10 * CALL_TIMEOUT
START_TIMEOUT = 10.0
OPEN_DEADLINE_SECONDS = 2.0
INPUT_TIMEOUT = 3.0
"""Seconds that the client has for an answer to what a server asks."""
NAMES = ("alpha", "beta", "gamma")
POLICED = "gamma"
"""The servers of this name have a policy."""
POLICY = {
    "erase": "deny",
    "publish": "ask",
    "ask": "console",
    "limits": {"tools": {"scarce": {"callsPerMinute": 5}}},
}
ERAS = ("legacy", "modern")


class Server(NamedTuple):
    """One configured server."""

    toolbox: str
    name: str
    era: str

    @property
    def label(self) -> str:
        """Its name among all, and of its files."""
        return f"{self.toolbox}.{self.name}"


class Place(NamedTuple):
    """Where the servers of one workbench keep their files, and how their processes are known."""

    directory: Path
    marker: str

    @property
    def config(self) -> Path:
        """The workbench's configuration file."""
        return self.directory / "workbench-config.json"

    @property
    def data(self) -> Path:
        """Where the workbench keeps its data."""
        return self.directory / "data"

    @property
    def audit(self) -> Path:
        """Where the workbench records calls."""
        return self.data / "mcp-workbench" / "audit"

    @property
    def directories(self) -> dict[str, str]:
        """The variables that keep all files of the workbench here."""
        return {"XDG_CACHE_HOME": str(self.directory), "XDG_DATA_HOME": str(self.data)}

    def log(self) -> str:
        """What the workbench has written to its stderr."""
        return self.stderr.read_text(encoding="utf-8", errors="replace")

    @property
    def stderr(self) -> Path:
        """The file that it writes it to."""
        return self.directory / "stderr"

    @property
    def stamp(self) -> str:
        """The marker as it stands in an environment."""
        return f"{MARKER}={self.marker}"

    def lives(self, label: str) -> list[int]:
        """The process ids of a server, one for each start."""
        path = self.directory / f"{label}.lives"
        return [int(line) for line in path.read_text(encoding="ascii").split()] if path.exists() else []

    def all_lives(self) -> dict[str, list[int]]:
        """The same for every server that was ever started."""
        return {path.stem: self.lives(path.stem) for path in sorted(self.directory.glob("*.lives"))}

    def calls(self) -> Iterator[str]:
        """The tokens of the calls that all servers have taken, in all their lives."""
        for path in self.directory.glob("*.calls"):
            yield from path.read_text(encoding="ascii").split()

    def orders(self, label: str) -> Path:
        """What a server is to do at its next start."""
        return self.directory / f"{label}.orders"


def servers(toolboxes: int) -> tuple[Server, ...]:
    """Toolboxes of three servers, the eras in turn."""
    places = [(box, name) for box in range(toolboxes) for name in NAMES]
    return tuple(Server(f"box{box}", name, ERAS[i % 2]) for i, (box, name) in enumerate(places))


def configuration(chosen: Sequence[Server], place: Place, stubborn: str = "") -> dict[str, Any]:
    """The configuration file. Servers of the name `stubborn` neither end with their input nor at SIGTERM."""
    boxes: dict[str, Any] = {}
    for server in chosen:
        about = {"description": f"{server.toolbox} of the soak", "openDeadline": OPEN_DEADLINE_SECONDS}
        box = boxes.setdefault(server.toolbox, {**about, "mcpServers": {}})
        manner = "stubborn" if server.name == stubborn else "polite"
        box["mcpServers"][server.name] = {
            "command": sys.executable,
            "args": ["-S", "-m", "soak.server", str(place.directory), server.label, server.era, manner],
            "env": {"PYTHONPATH": str(ROOT), MARKER: place.marker},
            "timeout": CALL_TIMEOUT,
            "startupTimeout": START_TIMEOUT,
            "inputTimeout": INPUT_TIMEOUT,
            # Every start is accounted for, and clients of both versions would make one more to find it out.
            "protocol": "legacy" if server.era == "legacy" else "2026-07-28",
        }
        if server.name == POLICED:
            box["mcpServers"][server.name]["policy"] = POLICY
    # Every byte of a result is accounted for. The shared workbench sets a limit of its own.
    return {"results": {"inlineLimit": "off"}, "toolboxes": boxes}
