"""Requests that arrive at once begin a few at a time, so that requests of other principals begin in
between.
"""

from __future__ import annotations

import asyncio

from mcp_workbench.surface.http.limits import MAX_BEGUN_PER_TURN, PerTurnLimit


async def begin(turn_limit: PerTurnLimit, principal: str, order: list[str]) -> None:
    if not turn_limit.may_begin(principal):
        await turn_limit.wait(principal)
    order.append(principal)


async def test_others_come_between_the_many_requests_of_one() -> None:
    turn_limit, order = PerTurnLimit(), list[str]()
    async with asyncio.TaskGroup() as group:
        for _ in range(10 * MAX_BEGUN_PER_TURN):
            group.create_task(begin(turn_limit, "alice", order))
        group.create_task(begin(turn_limit, "bob", order))
    assert order.count("alice") == 10 * MAX_BEGUN_PER_TURN
    assert order.index("bob") == MAX_BEGUN_PER_TURN


async def test_what_is_begun_in_one_turn_of_the_loop_is_bounded() -> None:
    turn_limit, order = PerTurnLimit(), list[str]()
    tasks = [asyncio.create_task(begin(turn_limit, "alice", order)) for _ in range(5 * MAX_BEGUN_PER_TURN)]
    most = before = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        most, before = max(most, len(order) - before), len(order)
    assert most <= MAX_BEGUN_PER_TURN


async def test_whoever_goes_away_while_waiting_is_not_waited_for() -> None:
    turn_limit, order = PerTurnLimit(), list[str]()
    tasks = [asyncio.create_task(begin(turn_limit, "alice", order)) for _ in range(2 * MAX_BEGUN_PER_TURN)]
    await asyncio.sleep(0)
    for task in tasks[MAX_BEGUN_PER_TURN:-1]:
        task.cancel()
    await asyncio.wait_for(tasks[-1], 1)
    await asyncio.sleep(0)
    assert len(order) == MAX_BEGUN_PER_TURN + 1
    assert turn_limit.may_begin("alice")
