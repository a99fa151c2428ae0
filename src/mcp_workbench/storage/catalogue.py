"""The catalogue: what each server offered when it was last listed, kept in the user's cache directory.

It tells what can be found without starting anything. What a server offers now, only the server tells: a
catalogue that is missing, damaged or impossible to write loses nothing but that. When a record is made, and
that no secret is in it, is the matter of `recording`.
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
"""Seconds for which a record is not written again if nothing has changed."""
UNUSED_SECONDS: Final = 90 * 24 * 3600.0
"""Seconds after which a file that nobody has read or written is dropped."""
MAX_RECORD_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one record."""
MAX_CATALOGUE_BYTES: Final = 512 * 1024 * 1024
"""Bytes of all."""
LOCK_TIMEOUT_SECONDS: Final = 10.0
"""Seconds that one record waits for another to be written: a file system may hang."""

log = logging.getLogger(__name__)


class Record(msgspec.Struct, frozen=True):
    """What a server offered when it was last listed."""

    tools: tuple[msgspec.Raw, ...]
    """Their definitions as they came, before the configuration's filters."""
    server_info: msgspec.Raw
    """What the server said about itself, or ABSENT."""
    protocol: str
    """Protocol that the server was spoken to in: `legacy` or `2026-07-28`."""
    listed_at: float
    """Seconds since 1970."""


class _File(msgspec.Struct):
    format: Literal[1]  # FORMAT
    protocol: str = msgspec.field(name="era")
    """Protocol that the server speaks. Files of all versions call it `era`."""
    listed_at: float
    tools: tuple[msgspec.Raw, ...]
    server_info: msgspec.Raw = msgspec.Raw(b"")


_Known = tuple[Stamp, Record | None]
"""What is in a file, and in which state of it. None: nothing that can be used."""

_decode_file = msgspec.json.Decoder(_File).decode


def identity_of(origin: Origin, config: ServerConfig, mask: Callable[[str], str]) -> str:
    """What makes a server the one whose tools these are, with secrets left out: the key of its record."""
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
    """One file for each server configuration, replaced as a whole: the later listing wins."""

    def __init__(self, directory: StrPath) -> None:
        self._files = PrivateDirectory(directory, "catalogue")
        self.directory = self._files.path
        self._known: dict[str, _Known] = {}
        self._writing = threading.Lock()
        self._swept_at: float | None = None
        self._written = 0
        """Bytes since then."""
        self.trouble: str | None = None
        """Why a record could not be written, the last time that this was so."""

    def recall(self, identity: str) -> Record | None:
        """What is remembered of a configuration: the same object for as long as the file is the same."""
        known = self._look(identity)
        if known is None:
            self._known.pop(identity, None)
            return None
        self._known[identity] = known
        return known[1]

    def keep(self, identity: str, record: Record) -> None:
        """Keeps it for the next time. Takes a moment, so it is not for the event loop."""
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
            # By its path, which is quick: it only tells whether the file has changed since it was read.
            stamp = stamp_of(os.lstat(os.path.join(self.directory, name)))
        except OSError:
            return None
        known = self._known.get(identity)
        return known if known is not None and known[0] == stamp else self._read(name, stamp)

    def _read(self, name: str, stamp: Stamp) -> _Known | None:
        """What a file says that has changed, or was not read yet."""
        try:
            found = self._files.read(name, max_bytes=MAX_RECORD_BYTES + MAX_RECORD_BYTES // 8)
        except OSError as error:
            warn_if_unsafe(error)
            return stamp, None
        return None if found is None else (stamp_of(found[1]), _decode(found[0]))

    def _is_kept(self, identity: str, record: Record) -> bool:
        """Whether the file says the same, and has not said so for too long."""
        known = self._look(identity)
        stamp, kept = known or (None, None)
        if stamp is None or kept is None:
            return False
        is_same = (kept.tools, kept.server_info, kept.protocol) == (
            record.tools,
            record.server_info,
            record.protocol,
        )
        # The clock may have been put back since.
        if not is_same or not 0 <= record.listed_at - kept.listed_at < FRESH_SECONDS:
            return False
        if known is not self._known.get(identity):
            # With the definitions that are in memory anyway, and not a second time as they were read.
            self._known[identity] = stamp, msgspec.structs.replace(record, listed_at=kept.listed_at)
        return True

    def _write(self, identity: str, record: Record) -> None:
        name = _name(identity)
        ours = self._files.replace(name, _lines(record))
        status = os.lstat(os.path.join(self.directory, name))
        self._written += status.st_size
        # Unless another process has been there since.
        if (status.st_ino, status.st_mtime_ns) == (ours.st_ino, ours.st_mtime_ns):
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
        """Drops what nobody has used for long, what is too much, and drafts of processes that were killed."""
        now, size = time.time(), 0
        files = [(name, status) for name, status in self._files.scan() if _is_ours(name, status)]
        for name, status in sorted(files, key=lambda file: _last_use(file[1]), reverse=True):
            size += status.st_size
            too_old = UNUSED_SECONDS if drafted_name(name) is None else FRESH_SECONDS
            if now - _last_use(status) > too_old or size > MAX_CATALOGUE_BYTES:
                with suppress(OSError):
                    self._files.remove(name)


def _name(identity: str) -> str:
    """The name of the file for a configuration."""
    import hashlib  # noqa: PLC0415 - only needed once a server is used, and it loads OpenSSL

    return f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"


def _is_ours(name: str, status: os.stat_result) -> bool:
    """Whether it is a record or a draft of one. Nothing else is deleted."""
    digits, dot, end = (drafted_name(name) or name).partition(".")
    return is_hexadecimal(digits, 32) and dot + end == ".json" and stat.S_ISREG(status.st_mode)


def _last_use(status: os.stat_result) -> float:
    return max(status.st_mtime, status.st_atime)


def _lines(record: Record) -> Iterator[bytes]:
    """A JSON object with a line for each tool, so that people can read it and compare two."""
    head = msgspec.json.encode({"format": FORMAT, "era": record.protocol, "listed_at": record.listed_at})
    yield head[:-1]
    if record.server_info:
        yield b',\n"server_info":%b' % record.server_info
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
    return Record(file.tools, file.server_info, file.protocol, file.listed_at)
