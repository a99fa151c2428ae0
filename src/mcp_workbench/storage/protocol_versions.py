"""Which protocol versions each server speaks, kept in the user's cache directory.

Only a cache: if a file is missing, damaged, wrong or impossible to write, the server is probed again.
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
"""Prefix of a protocol version in a file that the server does not speak."""
MAX_BYTES: Final = 4096
"""Maximum size of a file that is read. The files of the workbench have a few bytes."""

ABSENCE_SECONDS: Final = 7 * 24 * 3600
"""Seconds after which it is tried again whether a server speaks a version: an update may have added it."""


class Versions(msgspec.Struct, frozen=True):
    """Which protocol versions a server speaks; None where that was not tried yet."""

    legacy: bool | None = None
    modern: bool | None = None

    def speaks(self, *, modern: bool) -> bool | None:
        """Whether the server speaks the modern version, or a legacy one; None if that is not known."""
        return self.modern if modern else self.legacy

    def with_learned(self, learned: Versions) -> Versions:
        """Return these versions updated by what was learned since."""
        return Versions(
            self.legacy if learned.legacy is None else learned.legacy,
            self.modern if learned.modern is None else learned.modern,
        )


class VersionMemory:
    """The known protocol versions of all servers: one small file for each server configuration."""

    def __init__(self, directory: StrPath) -> None:
        self._files = PrivateDirectory(directory, "eras")

    def recall(self, identity: str) -> Versions:
        """Return what is known about a server configuration."""
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
        """Store what is known about a server configuration. Errors are ignored."""
        spoken = zip(get_args(SpokenProtocol), (versions.legacy, versions.modern), strict=True)
        words = [version if speaks else NOT + version for version, speaks in spoken if speaks is not None]
        try:
            self._files.replace(_name(identity), [" ".join(words).encode()])
        except OSError as error:
            warn_if_unsafe(error)

    def forget(self, identity: str) -> None:
        """Delete what is known about a server configuration, because it proved wrong."""
        with suppress(OSError):
            self._files.remove(_name(identity))


def _known(words: list[str], version: str) -> bool | None:
    if version in words:
        return True
    return False if NOT + version in words else None


def _name(identity: str) -> str:
    """Return the name of the file for a server configuration."""
    import hashlib  # noqa: PLC0415 - only needed once a server starts, and it loads OpenSSL

    return hashlib.sha256(identity.encode()).hexdigest()[:32]
