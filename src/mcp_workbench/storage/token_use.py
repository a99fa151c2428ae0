"""When each token of a token file was last used: a file in the data directory, read by `token --list`.

Owns the format of the file. It contains no token and no name: a token is identified by a digest of its
digest. Several processes may use one token file. Each writes the latest use that it or the file knows of.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.private_files import PrivateDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES: Final = 4 * 1024 * 1024
"""Size above which a file of last uses is not read."""


class _File(msgspec.Struct):
    format: Literal[1]
    last_used: dict[str, float]
    """Last use of each token in seconds since 1970, by the token's tag."""


_decode = msgspec.json.Decoder(_File).decode


def tag_of(digest: bytes) -> str:
    """Return the tag that identifies a token in a file of last uses, from the digest of the token."""
    return hashlib.sha256(digest).hexdigest()[:32]


class TokenUseFile:
    """The file with the last uses of the tokens in one token file. The methods block."""

    def __init__(self, token_file: str, environ: Mapping[str, str]) -> None:
        path = os.path.realpath(token_file).encode(errors="surrogateescape")
        self._directory = PrivateDirectory(data_directory(environ), "token-use")
        self._name = f"{hashlib.sha256(path).hexdigest()[:32]}.json"
        self.path = f"{self._directory.path}{os.sep}{self._name}"

    def read(self) -> dict[str, float]:
        """Return the last use of each token by its tag; empty if the file is missing or damaged."""
        try:
            found = self._directory.read(self._name, max_bytes=MAX_BYTES)
            return {} if found is None else _decode(found[0]).last_used
        except (OSError, ValueError):
            return {}

    def merge(self, used: Mapping[str, float]) -> None:
        """Write the later of each use and what another process has written. Raises OSError."""
        known = self.read()
        latest = {tag: max(at, known.get(tag, 0.0)) for tag, at in used.items()}
        latest = {tag: at for tag, at in latest.items() if at}
        if latest != known:
            self._directory.replace(self._name, [msgspec.json.encode(_File(1, latest))])
