"""The conformance suite against the workbench as a client, in both eras, logins included."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.conformance.scenarios import EXTENSION, LEGACY, MODERN, OLDEST, exceptions, scenarios
from tests.conformance.suite import Verdict, judge_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

CASES = [
    (version, name)
    for version in (LEGACY, MODERN, OLDEST, EXTENSION)
    for name in scenarios("client", version)
]
COMMAND = f"{sys.executable} -m tests.conformance.client"
AT_ONCE = 3

Judging = dict[tuple[str, str], asyncio.Task[Verdict]]


def named(case: tuple[str, str]) -> str:
    version, scenario = case
    return f"{version}: {scenario}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judging(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Judging]:
    """The scenarios that were selected, under way: each is a process of the suite, and all that it starts."""
    selected = [item.name for item in request.session.items]
    results = tmp_path_factory.mktemp("results")
    turn = asyncio.Semaphore(AT_ONCE)

    async def judge(version: str, scenario: str) -> Verdict:
        options = () if version == EXTENSION else ("--spec-version", version)
        async with turn:
            return await judge_client(COMMAND, results / version / scenario, scenario, *options)

    cases = [case for case in CASES if any(name.endswith(f"[{named(case)}]") for name in selected)]
    tasks = {case: asyncio.create_task(judge(*case)) for case in cases}
    yield tasks
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)


@pytest.mark.parametrize(("version", "scenario"), [pytest.param(*case, id=named(case)) for case in CASES])
async def test_the_suite_has_no_objection(judging: Judging, version: str, scenario: str) -> None:
    wrong = exceptions(scenario, "client").judge(await judging[version, scenario])
    assert not wrong, "\n".join(wrong)
