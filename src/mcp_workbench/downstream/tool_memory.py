"""The catalogue: what each server offered when it was last listed, kept in the user's cache directory.

It tells what can be found without starting anything. What a server offers now, only the server tells: a
catalogue that is missing, damaged or impossible to write loses nothing but that. When a record is made, and
that no secret is in it, is the matter of `recording`.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config.stamp import Stamp, stamp_of
from mcp_workbench.downstream.private_files import DRAFT, replace_unlocked
from mcp_workbench.wire.message import ABSENT, encode, starts_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.session import Origin
    from mcp_workbench.errors import StrPath

FORMAT: Final = 1
FRESH: Final = 3600.0
"""Seconds for which a record is not written again if nothing has changed."""
UNUSED: Final = 90 * 24 * 3600.0
"""Seconds after which a file that nobody has read or written is dropped."""
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of one record."""
MOST: Final = 512 * 1024 * 1024
"""Bytes of all."""
TURN: Final = 10.0
"""Seconds that one record waits for another to be written: a file system may hang."""

log = logging.getLogger(__name__)


class Record(msgspec.Struct, frozen=True):
    """What a server offered when it was last listed."""

    tools: tuple[msgspec.Raw, ...]
    """Their definitions as they came, before the configuration's filters."""
    server_info: msgspec.Raw
    """What the server said about itself, or ABSENT."""
    era: str
    listed_at: float
    """Seconds since 1970."""


class _File(msgspec.Struct):
    format: Literal[1]  # FORMAT
    era: str
    listed_at: float
    tools: tuple[msgspec.Raw, ...]
    server_info: msgspec.Raw = ABSENT


_Known = tuple[Stamp, Record | None]
"""What is in a file, and in which state of it. None: nothing that can be used."""

_decode_file = msgspec.json.Decoder(_File).decode


def identity_of(origin: Origin, config: ServerConfig, mask: Callable[[str], str]) -> str:
    """What makes a server the one whose tools these are, with secrets left out: the key of its record."""
    inherited = config.inherit_env
    return encode(
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


class ToolMemory:
    """One file for each server configuration, replaced as a whole: the later listing wins."""

    def __init__(self, directory: StrPath) -> None:
        self.directory = os.path.join(directory, "catalogue")
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
        if sum(map(len, record.tools)) + len(record.server_info) > LARGEST:
            return
        if not self._writing.acquire(timeout=TURN):
            return
        try:
            if not self._is_kept(identity, record):
                self._write(identity, record)
                self._sweep_now_and_then()
        except OSError as error:
            if self.trouble is None:
                log.debug("the catalogue cannot be written: %s", error)
            self.trouble = str(error)
        finally:
            self._writing.release()

    def _look(self, identity: str) -> _Known | None:
        path = self._file(identity)
        try:
            status = os.stat(path)
        except OSError:
            return None
        known = self._known.get(identity)
        if known is not None and known[0] == stamp_of(status):
            return known
        return _read(path, status)

    def _is_kept(self, identity: str, record: Record) -> bool:
        """Whether the file says the same, and has not said so for too long."""
        known = self._look(identity)
        stamp, kept = known or (None, None)
        if stamp is None or kept is None:
            return False
        is_same = (kept.tools, kept.server_info, kept.era) == (record.tools, record.server_info, record.era)
        # The clock may have been put back since.
        if not is_same or not 0 <= record.listed_at - kept.listed_at < FRESH:
            return False
        if known is not self._known.get(identity):
            # With the definitions that are in memory anyway, and not a second time as they were read.
            self._known[identity] = stamp, msgspec.structs.replace(record, listed_at=kept.listed_at)
        return True

    def _write(self, identity: str, record: Record) -> None:
        path = self._file(identity)
        with suppress(OSError):
            os.rmdir(path)  # in case that a directory is in the way
        ours = replace_unlocked(path, _lines(record))
        status = os.stat(path)
        self._written += status.st_size
        # Unless another process has been there since.
        if (status.st_ino, status.st_mtime_ns) == (ours.st_ino, ours.st_mtime_ns):
            self._known[identity] = stamp_of(status), record

    def _sweep_now_and_then(self) -> None:
        now = time.monotonic()
        if self._swept_at is None or now - self._swept_at > FRESH or self._written > MOST // 8:
            self._swept_at, self._written = now, 0
            self._sweep()

    def _sweep(self) -> None:
        """Drops what nobody has used for long, what is too much, and drafts of processes that were killed."""
        now, size = time.time(), 0
        files: list[tuple[str, os.stat_result]] = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with suppress(OSError):  # other processes have their drafts there
                    files.append((entry.path, entry.stat(follow_symlinks=False)))
        for path, status in sorted(files, key=lambda file: _last_use(file[1]), reverse=True):
            size += status.st_size
            too_old = FRESH if path.endswith(DRAFT) else UNUSED
            if now - _last_use(status) > too_old or size > MOST:
                with suppress(OSError):
                    os.remove(path)

    def _file(self, identity: str) -> str:
        import hashlib  # noqa: PLC0415 - only needed once a server is used, and it loads OpenSSL

        return os.path.join(self.directory, f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json")


def _last_use(status: os.stat_result) -> float:
    return max(status.st_mtime, status.st_atime)


def _lines(record: Record) -> Iterator[bytes]:
    """A JSON object with a line for each tool, so that people can read it and compare two."""
    head = encode({"format": FORMAT, "era": record.era, "listed_at": record.listed_at})
    yield head[:-1]
    if record.server_info:
        yield b',\n"server_info":%b' % record.server_info
    yield b',\n"tools":['
    for number, tool in enumerate(record.tools):
        yield b",\n%b" % tool if number else b"\n%b" % tool
    yield b"\n]}\n"


def _read(path: str, status: os.stat_result) -> _Known:
    """What is in a file that nobody has looked into yet."""
    if not stat.S_ISREG(status.st_mode):
        return stamp_of(status), None
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            # What another user could put there would be shown to a model.
            is_ours = sys.platform == "win32" or status.st_uid == os.geteuid()
            data = file.read() if is_ours and status.st_size <= LARGEST + LARGEST // 8 else b""
        return stamp_of(status), _decode(data)
    except OSError:
        return stamp_of(status), None


def _decode(data: bytes) -> Record | None:
    try:
        if not data.isascii():
            data.decode()  # msgspec skips over the definitions without looking at their text
        file = _decode_file(data)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
    if not all(starts_with(tool, b"{") for tool in file.tools):
        return None
    return Record(file.tools, file.server_info, file.era, file.listed_at)
