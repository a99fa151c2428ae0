"""Which protocol versions each server speaks, kept in the user's cache directory.

It only saves time: a memory that is missing, damaged, wrong or impossible to write costs a probe.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from mcp_workbench.storage.private_files import PrivateDirectory, warn_if_unsafe

if TYPE_CHECKING:
    from mcp_workbench.errors import StrPath

SpokenProtocol = Literal["legacy", "2026-07-28"]
NOT = "!"
"""Stands before a version in a file that the server does not speak."""
MAX_BYTES: Final = 4096
"""Size of a file that is read at all: ours have a few bytes."""

ABSENCE_SECONDS: Final = 7 * 24 * 3600
"""How long it counts that a server does not speak a version: an update may have taught it."""


class Versions(msgspec.Struct, frozen=True):
    """Which protocol versions a server speaks: None where nobody has tried."""

    legacy: bool | None = None
    modern: bool | None = None

    def speaks(self, *, modern: bool) -> bool | None:
        """Whether it speaks the modern version, or a legacy one."""
        return self.modern if modern else self.legacy

    def with_learned(self, learned: Versions) -> Versions:
        """The same with what was found out since, which counts where the two differ."""
        return Versions(
            self.legacy if learned.legacy is None else learned.legacy,
            self.modern if learned.modern is None else learned.modern,
        )


class VersionMemory:
    """One small file for each server configuration, so that processes never write over each other."""

    def __init__(self, directory: StrPath) -> None:
        self._files = PrivateDirectory(directory, "eras")

    def recall(self, identity: str) -> Versions:
        """What is known of a configuration."""
        try:
            found = self._files.read(_name(identity), max_bytes=MAX_BYTES)
            words = [] if found is None else found[0].decode().split()
            if found is not None and time.time() - found[1].st_mtime > ABSENCE_SECONDS:
                words = [word for word in words if not word.startswith(NOT)]
        except OSError as error:
            warn_if_unsafe(error)
            return Versions()
        except UnicodeDecodeError:
            return Versions()
        legacy, modern = (_known(words, version) for version in get_args(SpokenProtocol))
        return Versions(legacy, modern)

    def remember(self, identity: str, versions: Versions) -> None:
        """Keeps what is known for the next start."""
        spoken = zip(get_args(SpokenProtocol), (versions.legacy, versions.modern), strict=True)
        words = [version if speaks else NOT + version for version, speaks in spoken if speaks is not None]
        try:
            self._files.replace(_name(identity), [" ".join(words).encode()])
        except OSError as error:
            warn_if_unsafe(error)

    def forget(self, identity: str) -> None:
        """Drops what proved wrong."""
        with suppress(OSError):
            self._files.remove(_name(identity))


def _known(words: list[str], version: str) -> bool | None:
    if version in words:
        return True
    return False if NOT + version in words else None


def _name(identity: str) -> str:
    """The name of the file for a configuration."""
    import hashlib  # noqa: PLC0415 - only needed once a server starts, and it loads OpenSSL

    return hashlib.sha256(identity.encode()).hexdigest()[:32]
