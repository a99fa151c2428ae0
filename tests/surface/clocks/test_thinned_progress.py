"""Progress is passed on as it arrives; of a flood only as much as is readable, and always the last report."""

from __future__ import annotations

import asyncio

from mcp_workbench.surface.relay.progress import BURST_REPORTS, REPORTS_PER_SECOND, Progress
from tests.wire.loops import IN_JUMPING_TIME, now

pytestmark = IN_JUMPING_TIME


class Client:
    """Notes what it hears, and when."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, int]] = []
        self.progress = Progress(lambda report: self.heard.append((now(), int(report))))

    @property
    def reports(self) -> list[int]:
        return [report for _, report in self.heard]


async def test_what_comes_slowly_is_all_passed_on_at_once() -> None:
    client = Client()
    for number in range(1000):
        client.progress.report(b"%d" % number)
        assert client.heard[-1] == (now(), number)
        await asyncio.sleep(1 / REPORTS_PER_SECOND)


async def test_a_burst_is_all_passed_on() -> None:
    client = Client()
    for number in range(BURST_REPORTS):
        client.progress.report(b"%d" % number)
    assert client.reports == list(range(BURST_REPORTS))


async def test_a_flood_is_thinned_to_its_latest() -> None:
    client = Client()
    for number in range(10_000):
        client.progress.report(b"%d" % number)
        await asyncio.sleep(0.001)
    assert client.reports == sorted(client.reports)
    assert (
        BURST_REPORTS + 9 * REPORTS_PER_SECOND
        <= len(client.reports)
        <= BURST_REPORTS + 11 * REPORTS_PER_SECOND
    )
    late = [(at, report) for at, report in client.heard if report >= BURST_REPORTS * 2]
    assert all(abs(at - report * 0.001) < 0.01 for at, report in late)


async def test_the_last_comes_although_nothing_follows_it() -> None:
    client = Client()
    for number in range(BURST_REPORTS * 2):
        client.progress.report(b"%d" % number)
    await asyncio.sleep(1)
    assert client.reports == [*range(BURST_REPORTS), BURST_REPORTS * 2 - 1]


async def test_the_last_comes_before_the_answer() -> None:
    client = Client()
    for number in range(BURST_REPORTS * 2):
        client.progress.report(b"%d" % number)
    client.progress.end()
    assert client.reports[-1] == BURST_REPORTS * 2 - 1
    await asyncio.sleep(1)
    assert len(client.reports) == BURST_REPORTS + 1


async def test_nothing_comes_after_it_is_dropped() -> None:
    client = Client()
    for number in range(BURST_REPORTS * 2):
        client.progress.report(b"%d" % number)
    client.progress.drop()
    await asyncio.sleep(1)
    assert client.reports == list(range(BURST_REPORTS))
