"""The texts that travel: made from a token and a size, so that both ends know what is right."""

from __future__ import annotations

import hashlib

SPICE = 'é"\\\n🙂\t'
"""What JSON has to escape, and what takes more bytes than characters."""


def text(token: str, size: int) -> str:
    """A text of `size` characters that belongs to this token and to no other."""
    block = hashlib.sha256(token.encode()).hexdigest() + SPICE
    return (block * (size // len(block) + 1))[:size]


def digest(body: str) -> bytes:
    """What is kept of a text to recognise it by."""
    return hashlib.blake2b(body.encode(), digest_size=16).digest()
