"""Configurations of servers that have more than tools."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Unpack

from tests.servers import stocked
from tests.support.configs import ECHO, tool

if TYPE_CHECKING:
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era

DEEDS = ("update", "end_streams", "crash", "emit")


def stock(
    server_era: Era,
    journal: Journal | None = None,
    entry: Json | None = None,
    **options: Unpack[stocked.Stock],
) -> Json:
    """An `mcpServers` entry that starts the stocked server; `entry` adds keys of the configuration."""
    journalled = {} if journal is None else {"journal": str(journal.path)}
    tools = [ECHO, *map(tool, DEEDS)]
    behaviours = {name: {"do": name} for name in DEEDS}
    told = {"era": server_era, "tools": tools, "behaviours": behaviours, **journalled, **options}
    return {
        "command": sys.executable,
        "args": ["-S", "-m", "tests.servers.stocked", json.dumps(told)],
        "cwd": str(stocked.ROOT),
        **(entry or {}),
    }


def listing(member: str, *entries: str) -> str:
    """The raw result of a list, of the newer era, which the older does not mind."""
    return f'{{"resultType":"complete","{member}":[{",".join(entries)}],"ttlMs":0,"cacheScope":"private"}}'
