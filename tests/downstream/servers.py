"""A `Server` on a real child, put together without a configuration file."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import Secrets, ServerConfig
from mcp_workbench.downstream.conversation.call import Call
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.downstream.limits.flow_control import FlowControl
from mcp_workbench.downstream.server import Server
from mcp_workbench.downstream.supervisor import ServerContext
from mcp_workbench.protocol.caller import NOBODY
from mcp_workbench.storage.catalogue import Catalogue
from mcp_workbench.storage.protocol_versions import VersionMemory
from mcp_workbench.wire.message import encode
from mcp_workbench.wire.processes.guard import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Pushed
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.wire.request import InFlightCount
    from tests.support.client import Json


class Awaited(Call):
    """A call whose result can be awaited."""

    result: asyncio.Future[msgspec.Raw]
    reports: list[dict[str, msgspec.Raw]] = msgspec.field(default_factory=list)

    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:  # noqa: ARG002 - as declared
        self.result.set_result(result)

    def on_failure(self, error: WireError) -> None:
        self.result.set_exception(error)

    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        self.reports.append(members)

    def on_log(self, members: dict[str, msgspec.Raw]) -> None:
        """Ignore log messages: no test asks for them."""

    @property
    def client(self) -> object:
        return self

    @property
    def conversation(self) -> object:
        return self

    @property
    def principal(self) -> str:
        return ""

    @property
    def is_heard(self) -> bool:
        return not self.result.done()

    def on_question(self, question: Pushed) -> None:
        raise AssertionError(f"no server of these tests asks, but one did: {question.questions}")

    def on_input_required(self, required: InputRequired) -> None:
        raise AssertionError(f"no server of these tests asks, but one did: {required.questions}")

    def repeat(self) -> None:
        raise AssertionError("every server of these tests looks at what it gets")

    def again(self, *fields: bytes) -> None:
        raise AssertionError(f"nothing is answered that could be made again: {fields!r}")


def call_tool(
    session: Session, tool: str, limit: float, arguments: bytes = b"{}", tally: InFlightCount | None = None
) -> Awaited:
    """Calls a tool of a server that is up."""
    call = Awaited(NOBODY, asyncio.get_running_loop().create_future(), session=session, tally=tally)
    head = b',"method":"tools/call","params":{"name":%b,"arguments":%b' % (encode(tool), arguments)
    session.call(call, [head], {}, limit, size=len(head))
    return call


def shell(script: str, **settings: object) -> Json:
    """An entry that runs a shell script."""
    return {"command": "/bin/sh", "args": ["-c", script], **settings}


@asynccontextmanager
async def server(
    entry: Json, directory: Path, secrets: dict[str, str] | None = None
) -> AsyncIterator[Server]:
    """The server of an entry of `mcpServers`, named `files` in the toolbox `dev`; ended with the block."""
    guard = Guard({})
    it = Server(
        "dev",
        "files",
        msgspec.convert(entry, ServerConfig),
        Secrets(secrets or {}),
        ServerContext(
            {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(directory / "data")},
            VersionMemory(directory / "cache"),
            Catalogue(directory / "cache"),
            guard,
            FlowControl(),
            Listeners(),
        ),
    )
    try:
        yield it
    finally:
        await it.close()
        await guard.close()
