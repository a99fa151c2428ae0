"""A held tool is not listed, not found and not callable, whichever way its server is reached."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.load import load, load_data
from mcp_workbench.errors import ToolHeld
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.trust.pins import PinStore
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.registry import build
from tests.grid.benches import conversing_server
from tests.support.client import clean_environment, write_config
from tests.support.configs import toolboxes
from tests.support.journal import Journal
from tests.support.ports import free_port, listening
from tests.support.waiting import poll
from tests.workbench.trust.pinned import POISON, tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    import msgspec

    from tests.servers.conversing import Script
    from tests.support.client import Json
    from tests.support.sessions import Era

GOOD, BAD = tool("talk"), tool("talk", description=POISON)
OTHER = tool("other", description="Says something else.")
DEFINITIONS, INSTRUCTIONS = "definitions.json", "instructions.txt"


class Bench:
    """A workbench in this process, with one server whose definitions and instructions stand in files."""

    def __init__(self, home: Path, entry: Json, era: Era, *, is_file: bool = True) -> None:
        self.home, self.entry = home, entry
        environ = clean_environment(home)
        config = toolboxes(dev={"fs": entry})
        loaded = load(write_config(home, config), environ) if is_file else load_data(config, environ)
        self.store = PinStore(data_directory(environ))
        self.registry = build(loaded, environ=environ, cache=home / "cache")
        self.view = ClientView(self.registry, has_own_servers=True)
        self.modern = era == "modern"

    @property
    def server(self) -> ConfiguredServer:
        server = self.view.toolbox_servers["dev", "fs"]
        assert isinstance(server, ConfiguredServer)
        return server

    def reload(self, **more: object) -> None:
        """Apply a file in which the server has more keys, or other values of them."""
        path = write_config(self.home, toolboxes(dev={"fs": self.entry | more}))
        self.registry.reconfigure(load(path, clean_environment(self.home)))
        self.view.refresh()

    def define(self, *tools: msgspec.Raw, instructions: str = "") -> None:
        """Update the program of the server."""
        definitions = json.dumps([json.loads(bytes(one)) for one in tools])
        (self.home / DEFINITIONS).write_text(definitions, encoding="utf-8")
        (self.home / INSTRUCTIONS).write_text(instructions, encoding="utf-8")

    async def opened(self) -> list[str]:
        """The tools that are listed."""
        opening = await self.view.open("dev", modern=self.modern)
        ((_, index),) = opening.tools
        return list(index)

    async def found(self, *queries: str) -> list[str]:
        """The tools that a search finds."""
        findings = await self.view.find(queries or ("talk", "says something else"), 5, None)
        return [one.name for found in findings.found for one in found]

    async def restart(self) -> None:
        """End the server, so that its next use starts or connects it again."""
        await self.server.server.close()


@contextlib.contextmanager
def serving(home: Path, transport: str, era: Era, *more: str) -> Iterator[Json]:
    """The entry of a server. With more arguments or, over HTTP, at its next use, it is another program."""
    script: Script = {
        "definitions_file": str(home / DEFINITIONS),
        "instructions_file": str(home / INSTRUCTIONS),
    }
    if transport == "stdio":
        entry = conversing_server(era, Journal(home / "journal"), **script)
        yield {**entry, "args": [*entry["args"], *more]}
        return
    port = free_port()
    options = json.dumps({"era": era, **script})
    command = [sys.executable, "-S", "-m", "tests.servers.conversing_http", str(port), options]
    with listening(command, port):
        yield {"url": f"http://127.0.0.1:{port}/mcp"}


@contextlib.asynccontextmanager
async def bench(
    home: Path, transport: str, era: Era, *, is_file: bool = True, level: str = "scan"
) -> AsyncIterator[Bench]:
    with serving(home, transport, era) as entry:
        made = Bench(home, {**entry, "pin": level}, era, is_file=is_file)
        made.define()
        try:
            yield made
        finally:
            await made.registry.close()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_held_tool_is_out_of_reach_until_a_person_releases_it(
    transport: str, server_era: Era, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.trust.trust_context.LOOK_SECONDS", 0.05)
    async with bench(tmp_path, transport, server_era) as made:
        made.define(GOOD, OTHER)
        assert await made.opened() == ["talk", "other"]
        assert made.server.tool_hint("talk") == "unknown"

        # The server announces the change while it runs.
        made.define(BAD, OTHER)
        (connection,) = made.server.server.up
        connection.expect_changes()
        assert await made.opened() == ["other"]
        assert made.server.ready("talk", made.modern) is None
        assert made.server.ready("other", made.modern) is not None
        with pytest.raises(ToolHeld, match="its definition changed since it was approved"):
            await made.server.connect("talk", 0, modern=made.modern)
        assert (await made.found(), list(made.server.held())) == (["other"], ["talk"])

        # And a new process of the server lists it at once.
        await made.restart()
        assert (await made.opened(), made.server.definition("talk")) == (["other"], None)
        made.define(GOOD, OTHER)
        await made.restart()
        assert await made.opened() == ["talk", "other"]

        made.define(BAD, OTHER)
        await made.restart()
        assert await made.opened() == ["other"]
        (held,) = made.store.held.servers()
        made.store.approve(held, ["talk"])
        await poll(lambda: made.server.known() is not None and not made.server.held())
        assert await made.opened() == ["talk", "other"]
        assert made.server.ready("talk", made.modern) is not None


async def test_what_the_catalogue_has_of_a_held_tool_is_not_found(tmp_path: Path) -> None:
    async with bench(tmp_path, "stdio", "modern") as made:
        made.define(GOOD, OTHER)
        await made.opened()
        made.define(BAD, OTHER)
        await made.restart()
        await made.opened()
        await made.restart()
        assert not made.server.is_up
        assert sorted(await made.found()) == ["other"]
        assert list(made.server.held()) == ["talk"]
        assert (made.server.tool_hint("other"), made.server.tool_hint("never")) == ("unknown", None)


async def test_configurations_without_a_file_do_not_share_pins(tmp_path: Path) -> None:
    for name, expected in (("one", ["talk"]), ("other", ["talk"]), ("one", [])):
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        async with bench(home, "stdio", "legacy", is_file=False) as made:
            made.define(BAD if (home / "seen").exists() else GOOD)
            (home / "seen").touch()
            assert await made.opened() == expected


async def test_another_level_takes_effect_while_the_server_runs(tmp_path: Path) -> None:
    async with bench(tmp_path, "stdio", "modern") as made:
        made.reload(pin="off")
        made.define(BAD)
        assert (await made.opened(), made.server.tool_hint("talk")) == (["talk"], "unknown")
        for level, expected in (("strict", []), ("off", ["talk"]), ("scan", [])):
            made.reload(pin=level)
            assert await made.opened() == expected
            assert bool(made.store.held.servers()) == (level != "off")
        assert Journal(tmp_path / "journal").starts == 1


async def test_the_own_server_of_a_client_has_the_pin_of_all(tmp_path: Path) -> None:
    async with bench(tmp_path, "stdio", "modern") as made:
        made.define(GOOD)
        assert await made.opened() == ["talk"]
        made.define(BAD, OTHER)
        made.reload(isolation="client")
        assert made.server is not made.registry.toolbox_servers["dev", "fs"]
        assert (await made.opened(), list(made.server.held())) == (["other"], ["talk"])
