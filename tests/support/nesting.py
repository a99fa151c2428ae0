"""How deeply JSON has to be nested for nothing to decode it."""

from __future__ import annotations

TOO_DEEP = 1_000_000
"""Levels that no supported Python decodes. Up to 3.13 a few thousand are too many already; from 3.14 on as
many are too many as fill the stack of the thread, which can be hundreds of thousands."""
