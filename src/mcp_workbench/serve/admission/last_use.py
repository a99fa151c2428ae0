"""Writes to disk when each token of a token file was last used, for `token --list`.

Owns the timer and the thread. The file and its format are in `storage.token_use`.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_workbench.storage.token_use import tag_of
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from mcp_workbench.serve.admission.file_tokens import FileTokens
    from mcp_workbench.storage.token_use import TokenUseFile

WRITE_EVERY_SECONDS: Final = 60.0
"""Time between two writes of the file."""
WRITE_TIMEOUT_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class LastUse:
    """Writes the last uses once a minute, in a thread: a request never waits for it."""

    def __init__(self, file: TokenUseFile, tokens: FileTokens) -> None:
        self._file = file
        self._tokens = tokens
        self._written_until = 0.0
        """The latest use that was written to the file."""
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._has_failed = False

    def start(self) -> None:
        """Start the timer that writes the last uses."""
        self._timer = asyncio.get_running_loop().call_later(WRITE_EVERY_SECONDS, self._on_timer)

    async def close(self) -> None:
        """Write the last uses that are not written yet, and stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await asyncio.wait([self._writing])
        await self._write()

    def _on_timer(self) -> None:
        self.start()
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
            self._writing.add_done_callback(self._on_written)

    def _on_written(self, _: asyncio.Task[None]) -> None:
        self._writing = None

    async def _write(self) -> None:
        used = {tag_of(digest): token.used_at for digest, token in self._tokens.by_digest.items()}
        latest = max(used.values(), default=0.0)
        if latest <= self._written_until:
            return
        try:
            await in_thread(partial(self._file.merge, used), WRITE_TIMEOUT_SECONDS)
        except OSError as error:  # a time-out is one too
            if not self._has_failed:
                self._has_failed = True
                reason = str(error) or f"not written within {WRITE_TIMEOUT_SECONDS:g} s"
                log.warning("the last use of tokens cannot be kept in %s: %s", self._file.path, reason)
            return
        self._written_until = latest
