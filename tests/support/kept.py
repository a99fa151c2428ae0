"""A store of results whose files and clock are in the test's hands."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mcp_workbench.config import ResultsConfig
from mcp_workbench.workbench.kept.client_results import Content, new_handle
from mcp_workbench.workbench.kept.store import ResultStore
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from mcp_workbench.config import Origin
    from mcp_workbench.workbench.kept.client_results import ClientResults, ContentKind

LIMIT = 1000


class FilesInMemory:
    """Files that can be full."""

    def __init__(self) -> None:
        self.there: dict[str, bytes] = {}
        self.is_full = False
        self.may_write = threading.Event()
        self.may_write.set()

    def write(self, name: str, data: bytes) -> None:
        assert self.may_write.wait(PATIENCE)
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.there[name] = data

    def read(self, name: str) -> bytes:
        if name not in self.there:
            raise FileNotFoundError(name)
        return self.there[name]

    def remove(self, name: str) -> None:
        self.there.pop(name, None)

    def close(self) -> None:
        self.there.clear()


class Maker:
    """A server with one secret."""

    def __init__(self, origin: Origin = ("dev", "files")) -> None:
        self.origin = origin

    def holds_secret(self, data: bytes) -> bool:
        return b"hunter22" in data


class Bench:
    """A store whose clock stands still until it is turned."""

    def __init__(self, memory: int, quota: int = 1000) -> None:
        self.now = 0.0
        self.files = FilesInMemory()
        self.store = ResultStore(self.files, clock=lambda: self.now)
        self.store.adopt(ResultsConfig(memory=memory, quota=quota, lifetime=100))
        self.client_results = self.store.client_results()

    async def keep(
        self, data: bytes, kind: ContentKind = "text", client_results: ClientResults | None = None
    ) -> str | None:
        """The handle of what was kept, if it was."""
        content = Content(new_handle(), data, kind)
        kept = await self._place(client_results).keep([content], Maker(), LIMIT)
        return content.handle if kept else None

    async def read(self, handle: str | None, client_results: ClientResults | None = None) -> bytes | None:
        assert handle is not None
        place = self._place(client_results)
        kept = place.find(handle)
        return None if kept is None else await place.read(kept)

    def _place(self, client_results: ClientResults | None) -> ClientResults:
        return self.client_results if client_results is None else client_results
