"""Pins and held tools in the data directory, as a workbench leaves them for the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.trust.pin_records import (
    HeldInstructions,
    HeldServer,
    HeldTool,
    PinPlace,
    ServerPin,
    ToolPin,
    config_name,
)
from mcp_workbench.storage.trust.pins import PinRecord, PinStore
from mcp_workbench.workbench.trust.digests import hints_of, parsed, program_digest, text_digest, tree_digest

if TYPE_CHECKING:
    from tests.cli.commands import Bench

PROGRAM = "npx notes"
SINCE = 1_790_000_000.0
Definition = dict[str, Any]


def definition(name: str, description: str = "Keeps a note", **members: Any) -> Definition:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **members}


class Notes:
    """The server `dev/notes` of a configuration: what is approved of it, and what is held."""

    def __init__(self, bench: Bench, level: str = "scan") -> None:
        servers = {"notes": {"command": "npx", "args": ["notes"], "pin": level}}
        bench.write({"toolboxes": {"dev": {"description": "Notes", "mcpServers": servers}}})
        self.store = PinStore(data_directory(bench.environment()))
        self.place = PinPlace(config_name(str(bench.config)), "dev", "notes")
        self._level = level

    def pin(self, *definitions: Definition, instructions: str = "", by: str = "first") -> None:
        tools, texts = {}, {}
        for one in definitions:
            raw, tree = _read(one)
            tools[one["name"]] = ToolPin(digest=tree_digest(tree), hints=hints_of(tree), since=SINCE, by=by)
            texts[tree_digest(tree)] = raw
        texts[text_digest(instructions)] = msgspec.Raw(msgspec.json.encode(instructions))
        pin = ServerPin(
            identity=program_digest(PROGRAM),
            program=PROGRAM,
            instructions=text_digest(instructions),
            tools=tools,
        )
        self.store.change(self.place, lambda _: PinRecord(pin=pin), texts)

    def hold(self, *definitions: Definition, instructions: str = "", why: str = "changed") -> None:
        tools = {}
        for one in definitions:
            raw, tree = _read(one)
            tools[one["name"]] = HeldTool(
                reasons=(why,), definition=raw, digest=tree_digest(tree), hints=hints_of(tree), since=SINCE
            )
        text = HeldInstructions(
            reasons=(why,), text=instructions, digest=text_digest(instructions), since=SINCE
        )
        held = HeldServer(
            place=self.place,
            level="strict" if self._level == "strict" else "scan",
            identity=program_digest(PROGRAM),
            program=PROGRAM,
            tools=tools,
            instructions=text if instructions else None,
        )
        self.store.held.keep(self.place, held)

    def approved(self) -> dict[str, Any]:
        """The approved definitions by the names of their tools."""
        pin = self.store.read(self.place).pin
        texts = self.store.texts(self.place)
        return (
            {}
            if pin is None
            else {name: json.loads(bytes(texts[tool.digest])) for name, tool in pin.tools.items()}
        )

    def waiting(self) -> set[str]:
        """The names of the tools that wait for a decision."""
        held = self.store.held.of(self.place)
        return {name for one in held for name, tool in one.tools.items() if not tool.is_rejected}


def _read(one: Definition) -> tuple[msgspec.Raw, dict[str, Any]]:
    raw = msgspec.Raw(json.dumps(one).encode())
    return raw, parsed(raw)
