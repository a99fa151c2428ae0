"""A workbench whose configuration changes while it serves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import TYPE_CHECKING

from tests.support.client import RawClient, clean_environment, write_config
from tests.support.configs import server, tool
from tests.support.sessions import result_of, session_of, text_of
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.support.client import Json, Reply
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

RELOADED = "has changed; the configuration is reloaded"
REFUSED = "has changed and cannot be used; the configuration stays as it was: "

IMPATIENT = """
import runpy
from mcp_workbench.serve import watch
watch.INTERVAL_SECONDS = 0.05
runpy.run_module("mcp_workbench", run_name="__main__", alter_sys=True)
"""
"""The real command, but for the pace at which it looks at its file."""

LISTEN = '{"notifications":{"toolsListChanged":true}}'


def versatile(journal: Journal | None = None, entry: Json | None = None, **script: object) -> Json:
    """A server whose tools tell about its process, hang, and wait until the test has made a file."""
    behaviours = {
        "tell": {"do": "tell"},
        "hang": {"do": "hang"},
        "wait": {"do": "wait", "for": "" if journal is None else str(released(journal))},
    }
    tools = [tool(name) for name in behaviours]
    return server(journal, entry, tools=tools, behaviours=behaviours, **script)  # type: ignore[arg-type] # a script


def released(journal: Journal) -> Path:
    """The file that lets the calls of `wait` be answered."""
    return journal.path.with_suffix(".released")


async def text_from(answer: asyncio.Future[Reply]) -> str:
    """The text of a call that was begun earlier."""
    async with asyncio.timeout(PATIENCE):
        return text_of(result_of((await answer).message))


class Changing:
    """A client of the workbench that also edits its configuration."""

    def __init__(self, session: Session, path: Path) -> None:
        self.session = session
        self.client = session.client
        self.path = path

    async def change(self, config: Json) -> None:
        """Replaces the file as editors do, and waits until the workbench has taken it over."""
        await self.reloaded_by(lambda: self.replace(json.dumps(config)))

    def replace(self, text: str) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(self.path)

    async def reloaded_by(self, edit: Callable[[], object]) -> None:
        await self._said_after(RELOADED, edit)

    async def refused_by(self, edit: Callable[[], object]) -> str:
        """What the workbench has to say about it."""
        await self._said_after(REFUSED, edit)
        return self.client.stderr.rpartition(REFUSED)[2].partition("\n")[0]

    async def _said_after(self, text: str, edit: Callable[[], object]) -> None:
        before = self.client.stderr.count(text)
        edit()
        await poll(lambda: self.client.stderr.count(text) > before)

    async def listen(self) -> None:
        """Asks to be told of changes, which only a modern client has to."""
        if self.session.era == "modern":
            await self.session.begin("subscriptions/listen", LISTEN, request_id="ear")
            await self.client.wait_for(lambda message: "acknowledged" in message.get("method", ""))

    @property
    def announcements(self) -> list[Json]:
        told = "notifications/tools/list_changed"
        return [message for message in self.client.notifications if message["method"] == told]

    async def tell(self, toolbox: str, name: str) -> Json:
        """What the process behind a server knows about itself."""
        known: Json = json.loads(text_of(await self.session.use_tool(toolbox, name, "tell")))
        return known

    async def pid(self, toolbox: str, name: str) -> int:
        pid: int = (await self.tell(toolbox, name))["pid"]
        return pid


@contextlib.asynccontextmanager
async def changing(
    directory: Path, era: Era, config: Json, *args: str, path: Path | None = None, real_pace: bool = False
) -> AsyncIterator[Changing]:
    """The workbench on a configuration that is written first, unless there is one at `path` already."""
    path = path or write_config(directory, config)
    start = ["-m", "mcp_workbench"] if real_pace else ["-c", IMPATIENT]
    command = [sys.executable, *start, "--config", str(path), *args]
    async with RawClient(command, clean_environment(directory)) as client:
        session = session_of(era, client)
        await session.greet()
        yield Changing(session, path)
