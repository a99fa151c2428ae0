"""A row for each server, which the commands that start servers fill in and print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.cli.terminal import complain
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.text.similar_names import similar_names
from mcp_workbench.workbench.trust.scanning.scanner import scan_server

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.config import LoadedConfig, Origin
    from mcp_workbench.downstream.server import ServerState
    from mcp_workbench.errors import Cause
    from mcp_workbench.setup.trial import Trial
    from mcp_workbench.workbench.configured_server import ConfiguredServer
    from mcp_workbench.workbench.trust.scanning.rules import Severity

    Rows = dict[Origin, "Row"]

WORDS: Final = {"idle": "waiting"}
"""States of a server that people read under another name."""
COUNTED: Final = ("ready", "failed", "starting", "waiting", "disabled")
"""The states of servers in the order in which they are counted."""


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A server in the table of a command, or in its JSON output."""

    toolbox: str
    server: str
    state: ServerState | Literal["disabled"]
    """State of the server now, or at the end of the command."""
    tools: int | None = None
    held: int = 0
    """How many tools cannot be used until a person has reviewed them. They are not among `tools`."""
    withheld: bool = False
    """Whether the server's instructions cannot be used until a person has reviewed them."""
    findings: dict[Severity, int] | None = None
    """How many findings the scanner has in the listing, by severity; None if there are none."""
    seconds: float | None = None
    cause: Cause | None = None
    """Why the server cannot be used, as a code of `CAUSES`; None unless it failed."""
    error: str | None = None
    stderr: tuple[str, ...] = ()
    hint: str | None = None

    @property
    def name(self) -> str:
        """The names of the toolbox and the server, as commands take them."""
        return f"{self.toolbox}/{self.server}"

    def fill_in(self, trial: Trial) -> None:
        """Note how the start of the server went."""
        self.state = "failed" if trial.error else "ready"
        self.tools = None if trial.error else len(trial.tools)
        self.seconds = trial.seconds
        self.cause = trial.cause
        self.error = trial.error or None
        self.stderr = trial.stderr
        self.hint = trial.hint or None

    def note_trust(self, toolbox_server: ConfiguredServer) -> None:
        """Note what is held of a server that has just listed its tools, and what looks like an attack."""
        self.held = len(toolbox_server.held())
        self.withheld = toolbox_server.withholds_instructions
        known = toolbox_server.known()
        if known is not None:
            found = scan_server(list(known.index.values()), toolbox_server.instructions)
            severities = Counter(one.severity for findings in found.values() for one in findings)
            self.findings = dict(sorted(severities.items())) or None


def rows_of(loaded: LoadedConfig) -> Rows:
    """Return a row for each server of a configuration, by the names of its toolbox and of the server."""
    return {
        (toolbox, server): Row(
            toolbox=toolbox, server=server, state="disabled" if settings.disabled else "idle"
        )
        for toolbox, config in loaded.config.toolboxes.items()
        for server, settings in config.servers.items()
    }


def choose_rows(loaded: LoadedConfig, names: Sequence[str]) -> Rows | None:
    """Return the rows of these toolboxes and servers, or of all without names.

    Print an error and return None if a name is not there. The names of both may have slashes in them.
    """
    rows = rows_of(loaded)
    if not names:
        return rows
    known = [*loaded.config.toolboxes, *map("/".join, rows)]
    for name in names:
        if name not in known:
            what = f"there is no toolbox or server '{show_name(name)}' in {loaded.path}"
            servers = similar_names(name, [server for _, server in rows])
            near = similar_names(name, known) or ["/".join(origin) for origin in rows if origin[1] in servers]
            offer = f"Did you mean: {', '.join(map(show_name, near))}?" if near else ""
            toolboxes = ", ".join(map(show_name, loaded.config.toolboxes)) or "none"
            complain(f"{what}. {offer or f'The toolboxes: {toolboxes}'}")
            return None
    return {origin: row for origin, row in rows.items() if origin[0] in names or "/".join(origin) in names}


def count_states(rows: Iterable[Row]) -> str:
    """Return how many servers are in each state: "47 ready, 3 failed, 1 disabled"."""
    states = [WORDS.get(row.state, row.state) for row in rows]
    counted = (f"{states.count(state):,} {state}" for state in COUNTED if state in states)
    return ", ".join(counted) or "no servers"
