"""Changes of the configuration while the workbench runs: what is not concerned must not notice."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from soak import ledger as books
from soak import plan, processes
from soak.client import PINGS_BOUND
from soak.ledger import Fault

if TYPE_CHECKING:
    from soak.plan import Server
    from soak.stage import Stage
    from soak.traffic import Traffic

NOTICED_WITHIN = 15.0
SETTLED_AFTER = 3.0
"""Seconds after which a change that must have no effect would have had one."""
GONE_WITHIN = 20.0


class Reloads:
    """Touches the file, breaks it, adds a toolbox and removes it again, changes a server."""

    def __init__(self, stage: Stage, traffic: Traffic) -> None:
        self._stage = stage
        self._traffic = traffic
        self._chance = stage.chance("reloads")
        self._config: dict[str, Any] = plan.configuration(stage.servers, stage.place)
        self._round = 0

    async def run(self, every: float, ended: asyncio.Event) -> None:
        """One change after the other."""
        changes = (self._touch, self._add_and_remove, self._break, self._change)
        while not ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), every)
                return
            await changes[self._round % len(changes)]()
            self._round += 1

    async def _touch(self) -> None:
        self._note("reload: touched")
        os.utime(self._stage.place.config)
        await asyncio.sleep(SETTLED_AFTER)

    async def _break(self) -> None:
        self._note("reload: broken")
        self._stage.place.config.write_text('{"toolboxes": {"box0": ', encoding="utf-8")
        await asyncio.sleep(SETTLED_AFTER)
        self._write(self._config)
        await asyncio.sleep(SETTLED_AFTER)

    async def _add_and_remove(self) -> None:
        """A new toolbox can be used at once, and is gone after its calls when it is removed."""
        self._note("reload: added and removed")
        stage, box = self._stage, f"late{self._round}"
        late = [plan.Server(box, name, era) for name, era in zip(plan.NAMES, plan.ERAS, strict=False)]
        more = plan.configuration(late, stage.place)["toolboxes"]
        announced = stage.client.ears.announced
        self._write({**self._config, "toolboxes": {**self._config["toolboxes"], **more}})
        if not await self._listed(box, there=True):
            stage.ledger.problems.append("a toolbox that was added did not appear")
            return
        await asyncio.gather(*(self._traffic.echo(server, 1000) for server in late))
        pids = [stage.place.lives(server.label)[-1] for server in late]
        long_calls = [self._traffic.echo(server, 1000, 2.0) for server in late]
        self._write(self._config)
        if not await self._listed(box, there=False):
            stage.ledger.problems.append("a toolbox that was removed did not disappear")
        await asyncio.gather(*long_calls)
        await self._refused(late[0])
        if stage.client.ears.announced - announced < 2:
            stage.ledger.problems.append("a change of the toolboxes was not announced")
        await self._gone("removed", *pids)

    async def _change(self) -> None:
        """A changed server is started anew, at its next use and without the loss of a call."""
        stage = self._stage
        server = self._chance.choice(stage.servers)
        lives = stage.place.lives(server.label)
        fault = Fault("reload: changed", server.label, stage.clock(), ends_life=True)
        stage.ledger.fault(fault)
        config = copy.deepcopy(self._config)
        config["toolboxes"][server.toolbox]["mcpServers"][server.name]["env"]["ROUND"] = str(self._round)
        self._config = config
        self._write(config)
        await self._gone("changed", lives[-1])
        fault.end = stage.clock()

    async def _listed(self, box: str, *, there: bool) -> bool:
        deadline = self._stage.clock() + NOTICED_WITHIN
        client = self._stage.client
        while self._stage.clock() < deadline:
            names: list[str] = []

            def check(message: dict[str, Any], names: list[str] = names) -> str:
                tools = {tool["name"]: tool for tool in message["result"]["tools"]}
                names += tools["open_toolbox"]["inputSchema"]["properties"]["toolbox_name"]["enum"]
                return books.OK

            await client.request(client.entry("tools/list", PINGS_BOUND), "tools/list", {}, check)
            if (box in names) == there:
                return True
            await asyncio.sleep(0.2)
        return False

    async def _refused(self, server: Server) -> None:
        """What has been removed is not found any more."""
        await self._traffic.echo(server, 10, own_fault=frozenset({books.NOT_FOUND}))

    async def _gone(self, what: str, *pids: int) -> None:
        stamp = self._stage.place.stamp
        if not await self._stage.comes(
            lambda: not any(processes.is_running(pid, stamp) for pid in pids), GONE_WITHIN
        ):
            self._stage.ledger.problems.append(f"a server that was {what} still ran after {GONE_WITHIN:g} s")

    def _note(self, what: str) -> None:
        self._stage.ledger.fault(Fault(what, "", self._stage.clock()))

    def _write(self, config: dict[str, Any]) -> None:
        """By a rename, as careful programs do, or in place, as others do."""
        path, text = self._stage.place.config, json.dumps(config)
        if self._chance.random() < 0.5:
            path.write_text(text, encoding="utf-8")
        else:
            draft = path.with_suffix(".draft")
            draft.write_text(text, encoding="utf-8")
            draft.replace(path)
