"""What is held of each server, so that `review` can show it without starting a server.

Owns the format of the files. There is one for each set of held definitions: two processes, or two clients
with servers of their own, may get two definitions of one tool, and a person has to see both. The pins are
the files of `pins`, and a decision of a person is written there.
"""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.storage.directories import blocking_part
from mcp_workbench.storage.private_files import PrivateDirectory
from mcp_workbench.storage.trust.pin_records import (
    INSTRUCTIONS,
    HeldServer,
    config_name,
    file_name,
    shown_versions,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcp_workbench.errors import StrPath
    from mcp_workbench.storage.trust.pin_records import PinPlace

MAX_FILE_BYTES: Final = 128 * 1024 * 1024
"""Size above which a file is not read: twice the longest list of tools that the catalogue keeps."""

_SUFFIX: Final = ".json"
_DIGITS: Final = 16
"""Digits by which the files of one server are told apart."""


class _HeldFile(msgspec.Struct, kw_only=True):
    format: Literal[1] = 1
    held: HeldServer


_decode = msgspec.json.Decoder(_HeldFile).decode


class HeldFiles:
    """What is held of all servers of a user. The methods block."""

    def __init__(self, data: StrPath) -> None:
        self._files = PrivateDirectory(data, "held")

    def servers(self, config: str | None = None) -> list[HeldServer]:
        """Return the servers of which something is held, of one configuration file or of all, by name.

        A server is there several times if several definitions of one tool are held. What a person has
        rejected is among it, see `HeldTool.is_rejected`.
        """
        wanted = None if config is None else config_name(config)
        found: list[HeldServer] = []
        with suppress(OSError):
            for name, _ in self._files.scan():
                held = self._read(name) if name.endswith(_SUFFIX) else None
                if held is not None and wanted in (None, held.place.config):
                    found.append(held)
        return _each_once(found)

    def check(self) -> None:
        """Raise OSError if nothing can be read here, or if a workbench could not have written anything."""
        self._files.scan()
        path = blocking_part(self._files.path)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it cannot be written to", path)

    def of(self, place: PinPlace) -> list[HeldServer]:
        """Return what is held of one server."""
        with suppress(OSError):
            return _each_once(held for name in self._names(place) if (held := self._read(name)) is not None)
        return []

    def keep(self, place: PinPlace, *held: HeldServer) -> None:
        """Write what is held of a server, and forget what was held before. Raises OSError.

        A process that still holds something else writes that again, see `has`.
        """
        names = {_name(one): one for one in held}
        for name in self._names(place):
            if name not in names:
                self._files.remove(name)
        for name, one in names.items():
            if self._read(name) != one:
                self._write(name, one)

    def has(self, held: HeldServer) -> bool:
        """Whether there is a file of what is held. Costs one system call."""
        return os.path.lexists(os.path.join(self._files.path, _name(held)))

    def add(self, held: HeldServer) -> None:
        """Write what is held of a server beside what others hold of it. Raises OSError."""
        self._write(_name(held), held)

    def settle(self, held: HeldServer, names: Collection[str], *, is_rejected: bool = False) -> None:
        """Take decided definitions and `INSTRUCTIONS` off the files, or mark them as rejected.

        Definitions that the server has listed since they were shown are left alone. Raises OSError.
        """
        shown = shown_versions(held, names)
        for name in self._names(held.place):
            current = self._read(name)
            if current is None:
                continue
            rest = _settled(current, shown, is_rejected=is_rejected)
            if not rest.tools and rest.instructions is None:
                self._files.remove(name)
            elif rest != current:
                self._write(name, rest)

    def _names(self, place: PinPlace) -> list[str]:
        """Return the names of a server's files. Raises OSError."""
        stem = file_name(place).removesuffix(_SUFFIX)
        names = (name for name, _ in self._files.scan())
        return sorted(name for name in names if name.startswith(stem) and name.endswith(_SUFFIX))

    def _write(self, name: str, held: HeldServer) -> None:
        self._files.replace(name, [msgspec.json.encode(_HeldFile(held=held))])

    def _read(self, name: str) -> HeldServer | None:
        with suppress(OSError, ValueError, RecursionError):
            if (found := self._files.read(name, max_bytes=MAX_FILE_BYTES)) is not None:
                return _decode(found[0]).held
        return None


def _name(held: HeldServer) -> str:
    """Return the name of a file. It is the same in all processes that hold the same definitions."""
    versions = sorted(shown_versions(held, {*held.tools, INSTRUCTIONS}).items())
    digest = hashlib.sha256(msgspec.json.encode((held.identity, versions))).hexdigest()
    return f"{file_name(held.place).removesuffix(_SUFFIX)}-{digest[:_DIGITS]}{_SUFFIX}"


def _settled(held: HeldServer, shown: dict[str, str], *, is_rejected: bool) -> HeldServer:
    """Return what is held without decided definitions, or with these marked as rejected."""
    tools = dict(held.tools)
    for name, tool in held.tools.items():
        if tool.version == shown.get(name):
            if is_rejected:
                tools[name] = msgspec.structs.replace(tool, is_rejected=True)
            else:
                del tools[name]
    text = held.instructions
    if text is not None and text.digest == shown.get(INSTRUCTIONS):
        text = msgspec.structs.replace(text, is_rejected=True) if is_rejected else None
    return msgspec.structs.replace(held, tools=tools, instructions=text)


def _each_once(found: Iterable[HeldServer]) -> list[HeldServer]:
    """Return what is held, by the names of servers, without definitions that another one has too."""
    once: list[HeldServer] = []
    for held in sorted(found, key=lambda held: (held.place.config, held.place.toolbox, held.place.server)):
        rest = held
        for other in once:
            if (other.place, other.identity) == (held.place, held.identity):
                seen = shown_versions(other, {*other.tools, INSTRUCTIONS})
                rest = _settled(rest, seen, is_rejected=False)
        if rest.tools or rest.instructions is not None:
            once.append(rest)
    return once
