"""A semaphore is fair between principals: each has its share of the places, and waiting ones take turns."""

from __future__ import annotations

import asyncio

from mcp_workbench.fairness import FairSemaphore


async def settle() -> None:
    """Let every task run as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


class Visits:
    """The holders of places in a semaphore, in the order in which they got them."""

    def __init__(self, gate: FairSemaphore) -> None:
        self._gate = gate
        self.order: list[str] = []
        self._inside: list[asyncio.Event] = []

    def begin(self, *principals: str) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._visit(principal)) for principal in principals]

    async def _visit(self, principal: str) -> None:
        async with self._gate.place(principal):
            self.order.append(principal)
            end = asyncio.Event()
            self._inside.append(end)
            await end.wait()

    async def let_out(self) -> None:
        """Release the place of the first holder."""
        self._inside.pop(0).set()
        await settle()


async def test_a_principal_has_no_more_than_its_share_of_the_places() -> None:
    visits = Visits(FairSemaphore(3, lambda: 2))
    tasks = visits.begin("alice", "alice", "alice", "bob")
    await settle()
    assert visits.order == ["alice", "alice", "bob"]
    for _ in range(4):
        await visits.let_out()
    await asyncio.gather(*tasks)
    assert visits.order == ["alice", "alice", "bob", "alice"]


async def test_principals_that_wait_take_turns() -> None:
    visits = Visits(FairSemaphore(1, lambda: 1))
    tasks = visits.begin("alice", "alice", "alice", "bob", "bob", "carol")
    await settle()
    for _ in tasks:
        await visits.let_out()
    assert visits.order == ["alice", "alice", "bob", "carol", "alice", "bob"]
    await asyncio.gather(*tasks)


async def test_without_a_principal_there_is_no_share() -> None:
    visits = Visits(FairSemaphore(3, lambda: 1))
    tasks = visits.begin("", "", "", "")
    await settle()
    assert len(visits.order) == 3
    for _ in tasks:
        await visits.let_out()
    await asyncio.gather(*tasks)


async def test_a_task_that_gives_up_leaves_its_place_to_the_next_even_in_the_moment_it_gets_it() -> None:
    gate = FairSemaphore(1, lambda: 1)
    await gate.enter("alice")
    given, waiting, gone = [asyncio.create_task(gate.enter(name)) for name in ("bob", "carol", "dave")]
    await settle()
    gone.cancel()
    gate.leave("alice")
    given.cancel()
    await asyncio.wait_for(waiting, 1)
    gate.leave("carol")
    await asyncio.wait_for(gate.enter("dave"), 1)
