"""The id of this workbench process, among others that may serve the same clients.

States of calls and handles of results that a process gives to clients refer to its memory. They contain its
id, so that another process recognises them as foreign and can say so.
"""

from __future__ import annotations

import os
from binascii import b2a_base64
from typing import Final

ID_BYTES: Final = 9
TAG_CHARACTERS: Final = 4
"""Characters of the id in a handle, which a model has to read and write."""

_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def random_text(size: int) -> str:
    """Return `size` random bytes as text that needs no escapes in URLs or JSON."""
    return b2a_base64(os.urandom(size), newline=False).rstrip(b"=").translate(_URL_SAFE).decode()


REPLICA: Final = random_text(ID_BYTES)
"""The id of this process: random, and new at each start."""
