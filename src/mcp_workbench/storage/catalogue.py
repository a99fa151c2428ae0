"""The catalogue: what each server offered when it was last listed, kept in the user's cache directory.

The catalogue makes tools searchable without starting a server. A catalogue that is missing, damaged or
impossible to write costs nothing else: what a server offers now, only the server tells. `downstream.recorder`
decides when a record is made, and masks the secrets in it.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config.source.reading import Stamp, stamp_of
from mcp_workbench.storage.private_files import (
    PrivateDirectory,
    drafted_name,
    is_hexadecimal,
    warn_if_unsafe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_workbench.config import Origin, ServerConfig
    from mcp_workbench.errors import StrPath

FORMAT: Final = 1
FRESH_SECONDS: Final = 3600.0
"""Age in seconds up to which an unchanged record is not written again."""
UNUSED_SECONDS: Final = 90 * 24 * 3600.0
"""Seconds after which a record that was neither read nor written is deleted."""
MAX_RECORD_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of one record; a larger one is not kept."""
MAX_CATALOGUE_BYTES: Final = 512 * 1024 * 1024
"""Maximum size of all records together; the least recently used are deleted first."""
LOCK_TIMEOUT_SECONDS: Final = 10.0
"""Seconds that one write waits for another, because a file system may hang."""

log = logging.getLogger(__name__)


class Record(msgspec.Struct, frozen=True):
    """The tools that a server listed, and what it said about itself."""

    tools: tuple[msgspec.Raw, ...]
    """Definitions of the tools as the server sent them, before the configured filters."""
    server_info: msgspec.Raw
    """The `serverInfo` of the server as JSON; empty if it sent none."""
    protocol: str
    """Protocol of the conversation with the server: `legacy` or `2026-07-28`."""
    listed_at: float
    """Time of the listing in seconds since 1970."""
    instructions: str = ""
    """What the server's author tells models about the use of its tools."""


class _File(msgspec.Struct):
    format: Literal[1]  # FORMAT
    protocol: str = msgspec.field(name="era")
    """Protocol of the conversation. The member is called `era` in all versions of the file."""
    listed_at: float
    tools: tuple[msgspec.Raw, ...]
    server_info: msgspec.Raw = msgspec.Raw(b"")
    instructions: str = ""


_Known = tuple[Stamp, Record | None]
"""State of a file when it was read, and the record in it; None if it has no usable record."""

_decode_file = msgspec.json.Decoder(_File).decode


def identity_of(origin: Origin, config: ServerConfig, mask: Callable[[str], str]) -> str:
    """Return the key of a server's record: everything that identifies the server, with secrets masked."""
    inherited = config.inherit_env
    return msgspec.json.encode(
        [
            *origin,
            mask(config.command or ""),
            [mask(argument) for argument in config.args],
            mask(config.cwd or ""),
            mask(config.url or ""),
            config.transport,
            config.protocol,
            sorted(map(mask, config.env)),
            sorted(map(mask, config.headers)),
            inherited if isinstance(inherited, bool) else sorted(map(mask, inherited)),
        ]
    ).decode()


class Catalogue:
    """The records of all servers: one file for each server configuration, replaced as a whole."""

    def __init__(self, directory: StrPath) -> None:
        self._files = PrivateDirectory(directory, "catalogue")
        self.directory = self._files.path
        self._known: dict[str, _Known] = {}
        self._writing = threading.Lock()
        self._swept_at: float | None = None
        self._written = 0
        """Bytes written since the last sweep."""
        self.trouble: str | None = None
        """Why the last record that could not be written failed; None if none has failed."""

    def recall(self, identity: str) -> Record | None:
        """Return the record of a server, if any. The object stays the same until the file changes."""
        known = self._look(identity)
        if known is None:
            self._known.pop(identity, None)
            return None
        self._known[identity] = known
        return known[1]

    def keep(self, identity: str, record: Record) -> None:
        """Write the record of a server. Blocks, so it must not be called on the event loop."""
        if sum(map(len, record.tools)) + len(record.server_info) > MAX_RECORD_BYTES:
            return
        if not self._writing.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            return
        try:
            if not self._is_kept(identity, record):
                self._write(identity, record)
                self._sweep_now_and_then()
        except OSError as error:
            warn_if_unsafe(error)
            if self.trouble is None:
                log.debug("the catalogue cannot be written: %s", error)
            self.trouble = str(error)
        finally:
            self._writing.release()

    def _look(self, identity: str) -> _Known | None:
        name = _name(identity)
        try:
            # Not through a descriptor, which takes longer: this only tells whether the file has changed.
            stamp = stamp_of(os.lstat(os.path.join(self.directory, name)))
        except OSError:
            return None
        known = self._known.get(identity)
        return known if known is not None and known[0] == stamp else self._read(name, stamp)

    def _read(self, name: str, stamp: Stamp) -> _Known | None:
        """Read a file that has changed since it was last read, or that was not read yet."""
        try:
            found = self._files.read(name, max_bytes=MAX_RECORD_BYTES + MAX_RECORD_BYTES // 8)
        except OSError as error:
            warn_if_unsafe(error)
            return stamp, None
        return None if found is None else (stamp_of(found[1]), _decode(found[0]))

    def _is_kept(self, identity: str, record: Record) -> bool:
        """Whether the file has the same content already, and is recent enough."""
        known = self._look(identity)
        stamp, kept = known or (None, None)
        if stamp is None or kept is None:
            return False
        is_same = msgspec.structs.replace(kept, listed_at=record.listed_at) == record
        # The system clock may have been set back since.
        if not is_same or not 0 <= record.listed_at - kept.listed_at < FRESH_SECONDS:
            return False
        if known is not self._known.get(identity):
            # Keeps the definitions that are in memory anyway, and not the copies that were just read.
            self._known[identity] = stamp, msgspec.structs.replace(record, listed_at=kept.listed_at)
        return True

    def _write(self, identity: str, record: Record) -> None:
        name = _name(identity)
        written = self._files.replace(name, _lines(record))
        status = os.lstat(os.path.join(self.directory, name))
        self._written += status.st_size
        # Unless another process has replaced the file since.
        if (status.st_ino, status.st_mtime_ns) == (written.st_ino, written.st_mtime_ns):
            self._known[identity] = stamp_of(status), record

    def _sweep_now_and_then(self) -> None:
        now = time.monotonic()
        if (
            self._swept_at is None
            or now - self._swept_at > FRESH_SECONDS
            or self._written > MAX_CATALOGUE_BYTES // 8
        ):
            self._swept_at, self._written = now, 0
            self._sweep()

    def _sweep(self) -> None:
        """Delete unused records, records beyond the size limit, and drafts of killed processes."""
        now, size = time.time(), 0
        files = [(name, status) for name, status in self._files.scan() if _is_ours(name, status)]
        for name, status in sorted(files, key=lambda file: _last_use(file[1]), reverse=True):
            size += status.st_size
            too_old = UNUSED_SECONDS if drafted_name(name) is None else FRESH_SECONDS
            if now - _last_use(status) > too_old or size > MAX_CATALOGUE_BYTES:
                with suppress(OSError):
                    self._files.remove(name)


def _name(identity: str) -> str:
    """Return the name of the file for a server configuration."""
    import hashlib  # noqa: PLC0415 - only needed once a server is used, and it loads OpenSSL

    return f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"


def _is_ours(name: str, status: os.stat_result) -> bool:
    """Whether a file is a record or a draft of one. Other files are never deleted."""
    digits, dot, end = (drafted_name(name) or name).partition(".")
    return is_hexadecimal(digits, 32) and dot + end == ".json" and stat.S_ISREG(status.st_mode)


def _last_use(status: os.stat_result) -> float:
    return max(status.st_mtime, status.st_atime)


def _lines(record: Record) -> Iterator[bytes]:
    """Return a record as JSON with one line per tool, so that people can read and compare files."""
    head = msgspec.json.encode({"format": FORMAT, "era": record.protocol, "listed_at": record.listed_at})
    yield head[:-1]
    if record.server_info:
        yield b',\n"server_info":%b' % record.server_info
    if record.instructions:
        yield b',\n"instructions":%b' % msgspec.json.encode(record.instructions)
    yield b',\n"tools":['
    for number, tool in enumerate(record.tools):
        yield b",\n%b" % tool if number else b"\n%b" % tool
    yield b"\n]}\n"


def _decode(data: bytes) -> Record | None:
    try:
        if not data.isascii():
            data.decode()  # msgspec skips over the definitions without looking at their text
        file = _decode_file(data)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
    if not all(bytes(memoryview(tool)[:1]) == b"{" for tool in file.tools):
        return None
    return Record(file.tools, file.server_info, file.protocol, file.listed_at, file.instructions)
