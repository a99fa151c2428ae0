"""Hard findings in tools that are in use: under `scan`, they are reported and not held on first sight.

Owns which pinned tools are reported: those that no person has approved, by `review` or by the lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.storage.trust.pin_records import PinPlace, config_name
from mcp_workbench.workbench.trust.scanning.scanner import ScanFinding, has_hard, scan_together, scan_tool

if TYPE_CHECKING:
    from mcp_workbench.config import LoadedConfig, Origin
    from mcp_workbench.storage.trust.lock_file import Lock
    from mcp_workbench.storage.trust.pins import PinStore

_UNSEEN: Final = ("first", "scan")
"""How a definition is approved that no person has looked at, see `ToolPin.by`."""


class ReportedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is in use although the scanner has a hard finding in it."""

    toolbox: str
    server: str
    tool: str
    findings: tuple[ScanFinding, ...]


def reported_tools(store: PinStore, loaded: LoadedConfig, lock: Lock | None) -> list[ReportedTool]:
    """Return the tools of a configuration with hard findings that no person has approved."""
    pinned = _pinned_tools(store, loaded, lock or {})
    together = scan_together({origin: list(tools.values()) for origin, tools in pinned.items()})
    reported: list[ReportedTool] = []
    for (toolbox, server), tools in pinned.items():
        others = together.get((toolbox, server), {})
        for name, definition in tools.items():
            findings = [*scan_tool(definition, tools.keys()), *others.get(name, ())]
            if has_hard(findings):
                reported.append(
                    ReportedTool(toolbox=toolbox, server=server, tool=name, findings=tuple(findings))
                )
    return reported


def _pinned_tools(store: PinStore, loaded: LoadedConfig, lock: Lock) -> dict[Origin, dict[str, msgspec.Raw]]:
    found: dict[Origin, dict[str, msgspec.Raw]] = {}
    held = {
        (one.place.toolbox, one.place.server, name)
        for one in store.held.servers(loaded.path)
        for name in one.tools
    }
    for toolbox, config in loaded.config.toolboxes.items():
        for server, settings in config.servers.items():
            place = PinPlace(config_name(loaded.path), toolbox, server)
            pin = None if settings.pin == "off" or (toolbox, server) in lock else store.read(place).pin
            if pin is not None:
                texts = store.texts(place)
                found[toolbox, server] = {
                    name: texts[tool.digest]
                    for name, tool in pin.tools.items()
                    if tool.by in _UNSEEN and tool.digest in texts and (toolbox, server, name) not in held
                }
    return found
