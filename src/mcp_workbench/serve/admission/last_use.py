"""When each token of a token file was last used, written to the data directory for `token --list`.

Owns that file. It contains neither tokens nor names: a token is identified by a digest of its digest. Several
processes may use one token file; each keeps the later of its own time and the file's, so that no use is lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.storage.login_record import data_directory
from mcp_workbench.storage.private_files import PrivateDirectory
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.serve.admission.file_tokens import FileTokens

WRITE_EVERY_SECONDS: Final = 60.0
"""Time between two writes of the file."""
WRITE_TIMEOUT_SECONDS: Final = 5.0
MAX_BYTES: Final = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class _File(msgspec.Struct):
    format: Literal[1]
    last_used: dict[str, float]
    """Seconds since 1970, by the tag of a token."""


_decode = msgspec.json.Decoder(_File).decode


def tag_of(digest: bytes) -> str:
    """Return the tag that identifies a token in the file of last uses."""
    return hashlib.sha256(digest).hexdigest()[:32]


class UseFile:
    """The file with the last uses of the tokens in one token file. Its methods can block."""

    def __init__(self, token_file: str, environ: Mapping[str, str]) -> None:
        path = os.path.realpath(token_file).encode(errors="surrogateescape")
        self._directory = PrivateDirectory(data_directory(environ), "token-use")
        self._name = f"{hashlib.sha256(path).hexdigest()[:32]}.json"
        self.path = f"{self._directory.path}{os.sep}{self._name}"

    def read(self) -> dict[str, float]:
        """Return the last use of each token by its tag; empty if the file is missing or invalid."""
        try:
            found = self._directory.read(self._name, max_bytes=MAX_BYTES)
            return {} if found is None else _decode(found[0]).last_used
        except (OSError, ValueError):
            return {}

    def merge(self, used: Mapping[str, float]) -> None:
        """Write the later of each given use and the use in the file. Raises OSError."""
        known = self.read()
        latest = {tag: max(at, known.get(tag, 0.0)) for tag, at in used.items()}
        latest = {tag: at for tag, at in latest.items() if at}
        if latest != known:
            self._directory.replace(self._name, [msgspec.json.encode(_File(1, latest))])


class LastUse:
    """Writes the last uses once a minute, in a thread: a request never waits for it."""

    def __init__(self, file: UseFile, tokens: FileTokens) -> None:
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
