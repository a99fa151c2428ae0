"""The vectors of texts, kept in the user's cache directory by model and content.

Only a cache: if a file is missing, damaged, of another model or impossible to write, the vectors are computed
again. A vector is bytes here; only the model knows what they mean.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from mcp_workbench.storage.private_files import PrivateDirectory, warn_if_unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.errors import StrPath

KEY_BYTES: Final = 16
CHECK_BYTES: Final = 16
MAX_VECTORS: Final = 20_000
"""Maximum number of vectors in one file, some 10 MB. The oldest are dropped first."""
DRAFT_SECONDS: Final = 3600.0
"""Age in seconds at which the draft of a killed process is deleted."""


def key_of(text: str) -> bytes:
    """Return the key under which the vector of a text is stored."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


class VectorMemory:
    """The stored vectors: one file for each model, with a checksum, then keys and vectors, oldest first."""

    def __init__(self, directory: StrPath) -> None:
        self._files = PrivateDirectory(directory, "vectors")

    def recall(self, model: str, size: int) -> dict[bytes, bytes]:
        """Return the stored vectors of a model by key, if they have the given size in bytes."""
        record = KEY_BYTES + size
        try:
            found = self._files.read(model, max_bytes=CHECK_BYTES + MAX_VECTORS * record)
        except OSError as error:
            warn_if_unsafe(error)
            return {}
        content = b"" if found is None else found[0]
        check, records = content[:CHECK_BYTES], content[CHECK_BYTES:]
        if len(records) % record or check != _check(records):
            return {}
        starts = range(0, len(records), record)
        return {records[at : at + KEY_BYTES]: records[at + KEY_BYTES : at + record] for at in starts}

    def remember(self, model: str, size: int, vectors: Mapping[bytes, bytes]) -> None:
        """Add vectors to the file. If two processes do so at once, those of one may be lost."""
        kept = {**self.recall(model, size), **vectors}
        records = b"".join([key + vector for key, vector in list(kept.items())[-MAX_VECTORS:]])
        try:
            self._files.replace(model, (_check(records), records))
            self._files.remove_drafts(older_than_seconds=DRAFT_SECONDS)
        except OSError as error:
            warn_if_unsafe(error)


def _check(records: bytes) -> bytes:
    return blake2b(records, digest_size=CHECK_BYTES).digest()
