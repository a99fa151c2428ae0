"""What a scripted server wrote down: the tests' window on what the workbench did downstream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.client import Json


class Journal:
    """One journal file, which several starts of a server may share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def events(self, *kinds: str) -> list[Json]:
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        return [event for event in map(json.loads, lines) if event["event"] in kinds]

    @property
    def starts(self) -> int:
        return len(self.events("start"))

    @property
    def pids(self) -> list[int]:
        """Of every process that was started, grandchildren included."""
        return [event["pid"] for event in self.events("start", "grandchild")]

    @property
    def lines(self) -> list[str]:
        """Each line that the server received, as it came."""
        return [event["line"] for event in self.events("received")]

    def messages(self, method: str) -> list[Json]:
        return [message for message in map(json.loads, self.lines) if message.get("method") == method]

    @property
    def lives(self) -> list[list[str]]:
        """The methods that each start of the server received."""
        lives: list[list[str]] = []
        for event in self.events("start", "received"):
            if event["event"] == "start":
                lives.append([])
            elif "method" in (message := json.loads(event["line"])):
                lives[-1].append(message["method"])
        return lives

    async def wait_until(self, condition: Callable[[Journal], object], within: float = PATIENCE) -> None:
        await poll(lambda: condition(self), within)

    async def wait_for_call(self, count: int = 1) -> None:
        await self.wait_until(lambda journal: len(journal.messages("tools/call")) >= count)
