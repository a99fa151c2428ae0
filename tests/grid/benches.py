"""A workbench with a conversing server of each era behind it, and a client of one era that can be asked."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.grid.messages import faults_to_client, faults_to_server
from tests.structure.package import ROOT
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import toolboxes
from tests.support.http_client import HttpClient
from tests.support.journal import Journal
from tests.support.sessions import result_of, session_of, text_of
from tests.support.talking import Talker, able, using

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path
    from typing import Literal, Unpack

    from tests.servers.conversing import Script
    from tests.support.client import Json, Reply
    from tests.support.sessions import Era, Session

    Transport = Literal["stdio", "http"]

ERAS: tuple[Era, Era] = ("legacy", "modern")


def conversing_server(
    era: Era, journal: Journal, entry: Json | None = None, **options: Unpack[Script]
) -> Json:
    """An `mcpServers` entry that starts the conversing server; `entry` adds keys of the configuration."""
    told = {"era": era, "journal": str(journal.path), **options}
    command = {"command": sys.executable, "args": ["-S", "-m", "tests.servers.conversing", json.dumps(told)]}
    return {**command, "env": {"PYTHONPATH": str(ROOT)}, **(entry or {})}


ASKING = "test://third"
"""The resource that cannot be read without a question, on the benches that modules share."""


class Bench:
    """One client, one workbench, and what each server behind it wrote down."""

    def __init__(self, session: Session, journals: Mapping[Era, Journal]) -> None:
        self.session = session
        self.talker = Talker(session)
        self.journals = journals
        self._checked = dict.fromkeys(("client", *ERAS), 0)

    @property
    def client(self) -> RawClient:
        return self.session.client

    def faults(self) -> list[str]:
        """Against the protocol's schemas, in all that we have sent since this was last asked."""
        found = faults_to_client(self.client, self.session.era, self._checked["client"])
        self._checked["client"] = len(self.client.received)
        for era, journal in self.journals.items():
            lines = len(journal.lines)
            found += faults_to_server(journal, era, self._checked[era])
            self._checked[era] = lines
        return found


class Cell:
    """One bench as one test sees it: a client and a server, each of one era, and what it made of them."""

    def __init__(self, bench: Bench, server: Era) -> None:
        self.bench = bench
        self.server = server
        self.session = bench.session
        self.talker = bench.talker
        self.client = bench.client
        self.journal = bench.journals[server]
        self.talker.begin_anew()
        self._received = len(self.client.received)
        self._journalled = {era: len(journal.lines) for era, journal in bench.journals.items()}

    @property
    def received(self) -> list[Json]:
        """What the client has received in this test."""
        return self.client.received[self._received :]

    @property
    def notifications(self) -> list[Json]:
        return [message for message in self.received if "method" in message and "id" not in message]

    def sent(self, method: str) -> list[Json]:
        """What the server has received of this kind in this test."""
        messages = map(json.loads, self.journal.lines[self._journalled[self.server] :])
        return [message for message in messages if message.get("method") == method]

    async def result(self, *steps: Json, meta: Json | None = None, tool: str = "converse") -> Json:
        """Of a call in which the server takes these steps."""
        params = using(self.server, {"steps": list(steps)}, tool=tool)
        return await self.talker.request("tools/call", params, meta)

    async def call(self, *steps: Json, meta: Json | None = None) -> Json:
        """What the server tells of such a call: all the answers that it got, and the `_meta`."""
        told: Json = json.loads(text_of(await self.result(*steps, meta=meta)))
        return told

    async def answers(self, *steps: Json) -> list[list[Json]]:
        """Of such a call, round by round."""
        answers: list[list[Json]] = (await self.call(*steps))["answers"]
        return answers

    async def begin(
        self, *steps: Json, meta: Json | None = None, request_id: object = None, server: str = ""
    ) -> asyncio.Future[Reply]:
        """Such a call, with its rounds left to the test."""
        params = json.dumps(using(server or self.server, {"steps": list(steps)}))
        return await self.session.begin("tools/call", params, meta, request_id)

    async def ask(self, *steps: Json, meta: Json | None = None, server: str = "") -> Asked:
        """Such a call of a modern client, up to the question."""
        params = using(server or self.server, {"steps": list(steps)})
        result = result_of(await self.session.request("tools/call", params, meta))
        assert result["resultType"] == "input_required", result
        return Asked(self, params, result)

    async def cancel(self, request_id: object) -> None:
        await self.client.notify("notifications/cancelled", {"requestId": request_id})


@dataclass(frozen=True)
class Asked:
    """A call of a modern client's that has been answered with questions."""

    cell: Cell
    params: Json
    result: Json

    @property
    def state(self) -> str:
        state: str = self.result["requestState"]
        return state

    @property
    def questions(self) -> list[Json]:
        return list(self.result["inputRequests"].values())

    async def retry(self, params: Json | None = None, **changes: object) -> Json:
        """The response to the same request with the answers; `changes` replaces members of it."""
        again = {**(params or self.params), **self.cell.talker.answers_to(self.result), **changes}
        return await self.cell.session.request("tools/call", again)

    async def answers(self) -> list[list[Json]]:
        """That the server got in the end."""
        answers: list[list[Json]] = json.loads(text_of(result_of(await self.retry())))["answers"]
        return answers


@asynccontextmanager
async def open_bench(
    home: Path,
    era: Era,
    *,
    capabilities: Json | None = None,
    entry: Json | None = None,
    env: Mapping[str, str] | None = None,
    opened: bool = True,
    over: Transport = "stdio",
    servers: Mapping[str, Json] | None = None,
    **options: Unpack[Script],
) -> AsyncIterator[Bench]:
    """By default its client can be asked anything, and its toolbox is open; all we send keeps the schemas."""
    journals: dict[Era, Journal] = {era: Journal(home / f"{era}.journal") for era in ERAS}
    both: dict[str, Json] = {era: conversing_server(era, journals[era], entry, **options) for era in ERAS}
    command = serve_command(write_config(home, toolboxes(dev={**both, **(servers or {})})))
    client_of = HttpClient if over == "http" else RawClient
    async with client_of(command, clean_environment(home, env)) as client:
        session = session_of(era, client)
        session.capabilities = able(era) if capabilities is None else capabilities
        await session.greet()
        if opened:
            await session.open_toolbox("dev")
        bench = Bench(session, journals)
        yield bench
        assert bench.faults() == []
