"""Waiting for work that others wait for too."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Any

import pytest

from mcp_workbench.wire.shared import outcome_of


async def waiting_for(work: asyncio.Future[int]) -> asyncio.Task[int]:
    """A task that has begun to wait."""
    waiter = asyncio.create_task(outcome_of(work))
    await asyncio.sleep(0)
    return waiter


async def cancelled(waiter: asyncio.Task[int]) -> None:
    waiter.cancel()
    with suppress(asyncio.CancelledError):
        await waiter


async def test_every_waiter_gets_the_result() -> None:
    work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiters = [await waiting_for(work) for _ in range(2)]
    work.set_result(7)
    assert await asyncio.gather(*waiters) == [7, 7]


async def test_every_waiter_gets_the_exception() -> None:
    work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiters = [await waiting_for(work) for _ in range(2)]
    work.set_exception(ValueError("no"))
    outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError, ValueError]


async def test_work_that_is_done_is_not_waited_for() -> None:
    work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    work.set_result(7)
    with pytest.raises(StopIteration) as returned:
        outcome_of(work).send(None)
    assert returned.value.value == 7


async def test_a_waiter_that_is_cancelled_leaves_the_work_to_the_others() -> None:
    work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    leaving, staying = [await waiting_for(work) for _ in range(2)]
    await cancelled(leaving)
    work.set_result(7)
    assert (leaving.cancelled(), await staying) == (True, 7)


async def test_cancelled_work_cancels_its_waiters() -> None:
    work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiter = await waiting_for(work)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter


async def test_work_that_fails_when_nobody_waits_any_more_is_not_reported() -> None:
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    work: asyncio.Future[int] = loop.create_future()
    await cancelled(await waiting_for(work))
    work.set_exception(ValueError("no"))
    await asyncio.sleep(0)
    del work
    gc.collect()
    assert reported == []
