"""The id of this workbench process, among others that may serve the same clients.

What a process hands out for later (states of calls, handles of results) is kept in its memory. With the id in
it, another process can tell that it is not the one that was meant, and say so.
"""

from __future__ import annotations

import os
from binascii import b2a_base64
from typing import Final

ID_BYTES: Final = 9
TAG_LENGTH: Final = 4
"""Characters of the id that stand in a handle, which a model has to read and write."""

_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def random_text(size: int) -> str:
    """So many random bytes in characters that need no escape anywhere."""
    return b2a_base64(os.urandom(size), newline=False).rstrip(b"=").translate(_URL_SAFE).decode()


REPLICA: Final = random_text(ID_BYTES)
"""Another one for each start of the workbench."""
