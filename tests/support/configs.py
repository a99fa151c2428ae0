"""Configurations of scripted servers, as plain data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tests.servers import scripted
from tests.support.client import clean_environment, serve_command, write_config

if TYPE_CHECKING:
    from tests.support.client import Json
    from tests.support.journal import Journal

WHOLE: Json = {"results": {"inlineLimit": "off"}}
"""The part of a configuration that passes on large results whole, for tests of how bytes are relayed."""
ECHO = json.dumps({"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}})


def tool(name: str, **fields: object) -> str:
    """The raw JSON of a tool's definition."""
    return json.dumps(
        {"name": name, "description": f"Does {name}", "inputSchema": {"type": "object"}, **fields}
    )


def server(
    journal: Journal | None = None, entry: Json | None = None, **options: Unpack[scripted.Script]
) -> Json:
    """An `mcpServers` entry that starts the scripted server; `entry` adds keys of the configuration."""
    journalled = {} if journal is None else {"journal": str(journal.path)}
    told = {"tools": [ECHO], **journalled, **options}
    return {
        "command": sys.executable,
        "args": ["-S", str(Path(scripted.__file__)), json.dumps(told)],
        **(entry or {}),
    }


def acting(
    name: str,
    do: str,
    journal: Journal | None = None,
    entry: Json | None = None,
    *,
    era: str = "legacy",
    **script: object,
) -> Json:
    """A server with two tools: one that does something special, and `echo`."""
    behaviours = {name: {"do": do, **script}}
    return server(journal, entry, era=era, tools=[tool(name), ECHO], behaviours=behaviours)


def workbench(home: Path, config: Json) -> Json:
    """An entry that starts another workbench, which lives in a directory of its own."""
    home.mkdir()
    command, *args = serve_command(write_config(home, config))
    return {"command": command, "args": args, "env": clean_environment(home)}


def toolboxes(**boxes: dict[str, Json]) -> Json:
    """A whole configuration: toolbox name -> server name -> entry."""
    return {
        "toolboxes": {
            name: {"description": f"The {name} toolbox", "mcpServers": servers}
            for name, servers in boxes.items()
        }
    }
