"""What texts mean to a model, kept in the user's cache directory by what the texts say.

It only saves time: where it is missing, damaged, of another model or impossible to write, vectors are made
again. A vector is bytes here; only its model knows what they say.
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
"""In one file: some 10 MB. The oldest make room."""
DRAFT_SECONDS: Final = 3600.0
"""Age at which the draft of a process that was killed is deleted."""


def key_of(text: str) -> bytes:
    """What a text is remembered by."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


class VectorMemory:
    """One file for each model: a check of the rest, then keys and vectors, the oldest first."""

    def __init__(self, directory: StrPath) -> None:
        self._files = PrivateDirectory(directory, "vectors")

    def recall(self, model: str, size: int) -> dict[bytes, bytes]:
        """The vectors of that size that are remembered for a model, by key."""
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
        """Adds to what is remembered. Of two processes that do so at once, one may have to do it again."""
        kept = {**self.recall(model, size), **vectors}
        records = b"".join([key + vector for key, vector in list(kept.items())[-MAX_VECTORS:]])
        try:
            self._files.replace(model, (_check(records), records))
            self._files.remove_drafts(older_than_seconds=DRAFT_SECONDS)
        except OSError as error:
            warn_if_unsafe(error)


def _check(records: bytes) -> bytes:
    return blake2b(records, digest_size=CHECK_BYTES).digest()
