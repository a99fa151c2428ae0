"""Records of the workbenches that serve over HTTP now, so that commands of the same user can find them.

Owns the records: a file for each workbench, only for its user, and a lock that its process holds for as long
as it serves. A record whose lock is free was left behind by a process that was killed, and is deleted.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.storage.private_files import PrivateDirectory, is_hexadecimal, try_lock, warn_if_unsafe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DIRECTORY: Final = "running"
MAX_RECORD_BYTES: Final = 65536
_NAME_DIGITS: Final = 16

log = logging.getLogger(__name__)


class RunningWorkbench(msgspec.Struct, frozen=True):
    """A workbench that serves over HTTP, as its record describes it."""

    pid: int
    url: str
    config: str
    """The path of its configuration file."""
    started_at: float
    """When it began to serve, in seconds since 1970."""
    needs_token: bool
    """Whether clients have to authenticate."""


_decode = msgspec.json.Decoder(RunningWorkbench).decode


@contextmanager
def recorded(workbench: RunningWorkbench, environ: Mapping[str, str]) -> Iterator[None]:
    """Keep a record of a workbench of this process. If it cannot be written, nothing else changes."""
    files = _files(environ)
    workbench = msgspec.structs.replace(workbench, config=os.path.realpath(workbench.config))
    name = os.urandom(_NAME_DIGITS // 2).hex()
    lock = -1
    try:
        # Locked before there is a record: one without a lock counts as left behind.
        lock = files.open_lock(_lock_of(name))
        try_lock(lock, wait=True)
        files.replace(_record_of(name), (msgspec.json.encode(workbench),))
    except OSError as error:
        warn_if_unsafe(error)
        log.debug("commands will not find this workbench, as its record cannot be written: %s", error)
    try:
        yield
    finally:
        _delete(files, name)
        if lock >= 0:
            os.close(lock)


def running_workbenches(config: str, environ: Mapping[str, str]) -> list[RunningWorkbench]:
    """Return the workbenches of this user that serve a configuration file, the newest first.

    Records of processes that have ended are deleted.
    """
    files = _files(environ)
    wanted = os.path.realpath(config)
    found = []
    with suppress(OSError):
        for file, _ in files.scan():
            name = file.removesuffix(".json")
            if not is_hexadecimal(name, _NAME_DIGITS) or file != _record_of(name):
                continue
            record = _read(files, name)
            if record is not None and record.config == wanted:
                found.append(record)
    return sorted(found, key=lambda record: record.started_at, reverse=True)


def _read(files: PrivateDirectory, name: str) -> RunningWorkbench | None:
    """Return a record; None if it cannot be used. One that was left behind is deleted."""
    with suppress(OSError, msgspec.DecodeError):
        if _is_held(files, name):
            data = files.read(_record_of(name), max_bytes=MAX_RECORD_BYTES)
            return None if data is None else _decode(data[0])
        _delete(files, name)
    return None


def _is_held(files: PrivateDirectory, name: str) -> bool:
    """Whether the process that made a record still runs."""
    try:
        lock = files.open_lock(_lock_of(name), make=False)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(lock)
    finally:
        os.close(lock)


def _delete(files: PrivateDirectory, name: str) -> None:
    for file in (_record_of(name), _lock_of(name)):
        with suppress(OSError):
            files.remove(file)


def _files(environ: Mapping[str, str]) -> PrivateDirectory:
    return PrivateDirectory(cache_directory(environ), DIRECTORY)


def _record_of(name: str) -> str:
    return f"{name}.json"


def _lock_of(name: str) -> str:
    return f"{name}.lock"
