"""Waits for work that others may wait for too."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def outcome_of(work: asyncio.Future[T]) -> T:
    """What the work comes to. Cancelling this wait leaves the work alone.

    Not `asyncio.shield`: if the work fails after a wait for it was cancelled, Python 3.14 reports that to the
    event loop's exception handler, which logs a traceback, whoever else may have seen the exception. Here
    such a failure is no fault: whoever still waits for the work gets its exception.
    """
    if not work.done():
        try:
            await asyncio.wait((work,))
        except asyncio.CancelledError:
            work.add_done_callback(_mark_as_seen)
            raise
    return work.result()


def _mark_as_seen(work: asyncio.Future[T]) -> None:
    """Keeps asyncio from logging that nobody has asked for the exception."""
    if not work.cancelled():
        work.exception()
