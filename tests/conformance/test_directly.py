"""The scenarios that need no tool of the suite's, against the workbench itself, with nothing in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.conformance.scenarios import LEGACY, MODERN, exceptions
from tests.conformance.suite import Verdict, judge_server
from tests.support.configs import server, toolboxes
from tests.support.http_bench import http_bench

if TYPE_CHECKING:
    from collections.abc import Mapping

ANY_ERA = (
    "dns-rebinding-protection",
    "prompts-list",
    "resources-list",
    "server-sse-multiple-streams",
    "tools-list",
)
SCENARIOS: Mapping[str, tuple[str, ...]] = {
    LEGACY: (
        *ANY_ERA,
        "logging-set-level",
        "ping",
        "server-initialize",
        "server-session-lifecycle",
    ),
    MODERN: (*ANY_ERA, "http-header-validation", "input-required-result-unsupported-methods"),
}
ALL = ("--suite", "all", "--spec-version")
CASES = [
    pytest.param(version, name, id=f"{version}: {name}")
    for version in SCENARIOS
    for name in SCENARIOS[version]
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Verdict]]:
    results = tmp_path_factory.mktemp("results")
    async with http_bench(tmp_path_factory.mktemp("bench"), toolboxes(dev={"echo": server()})) as bench:
        return {
            version: await judge_server(
                bench.url, results / version, "--suite", "all", "--spec-version", version
            )
            for version in SCENARIOS
        }


@pytest.mark.parametrize(("version", "scenario"), CASES)
def test_the_suite_has_no_objection(
    verdicts: dict[str, dict[str, Verdict]], version: str, scenario: str
) -> None:
    wrong = exceptions(scenario).judge(verdicts[version][scenario])
    assert not wrong, "\n".join(wrong)
