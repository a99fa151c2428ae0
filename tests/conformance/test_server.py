"""The conformance suite against the workbench as a server, in both eras, with servers of both behind it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.conformance.adapter import adapter
from tests.conformance.renaming import SERVER, TOOLBOX
from tests.conformance.scenarios import EXTENSION, LEGACY, MODERN, Way, exceptions, scenarios
from tests.conformance.suite import Verdict, judge_server
from tests.structure.package import ROOT
from tests.support.configs import toolboxes
from tests.support.http_bench import http_bench

if TYPE_CHECKING:
    from tests.support.client import Json

ABLE: Json = {"elicitation": {}, "sampling": {}, "roots": {}}
"""A legacy server is told what the clients can do when it is started, so the one who starts it can do all."""

BEHIND = {"legacy": "legacy", "modern": MODERN, "dual": "auto"}
"""The protocol versions that the server behind is spoken to in; it speaks both by itself."""
RUNS = [(version, behind) for version in (LEGACY, MODERN) for behind in BEHIND]
CASES = [
    pytest.param(version, behind, name, id=f"{version} with a {behind} server behind: {name}")
    for version, behind in RUNS
    for name in scenarios("server", version)
]

Verdicts = dict[tuple[str, str], dict[str, Verdict]]


async def judged(home: str, factory: pytest.TempPathFactory, behind: str) -> Verdicts:
    """All the scenarios, through the adapter, with one server behind."""
    suite = {
        "command": sys.executable,
        "args": ["-m", "tests.servers.conformance"],
        "cwd": str(ROOT),
        "protocol": BEHIND[behind],
    }
    config = toolboxes(**{TOOLBOX: {SERVER: suite}})
    results = factory.mktemp(f"{home}-results")
    async with http_bench(factory.mktemp(home), config) as bench:
        opened = await bench.call("open_toolbox", {"toolbox_name": TOOLBOX, "detail": "full"}, ABLE)
        async with adapter(bench.port, opened["structuredContent"]["tools"]) as port:
            url = f"http://localhost:{port}/mcp"
            found: Verdicts = {}
            for version in (LEGACY, MODERN):
                options = ("--suite", "all", "--spec-version", version)
                found[version, behind] = await judge_server(url, results / version, *options)
            if behind == "modern":
                found[EXTENSION, behind] = {}
                for name in scenarios("server", EXTENSION):
                    judgement = await judge_server(url, results / name, "--scenario", name)
                    found[EXTENSION, behind] |= judgement
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    runs = await asyncio.gather(*(judged(f"behind-{it}", tmp_path_factory, it) for it in BEHIND))
    return {version: found for run in runs for version, found in run.items()}


@pytest.mark.parametrize(("version", "behind", "scenario"), CASES)
def test_the_suite_has_no_objection(verdicts: Verdicts, version: str, behind: str, scenario: str) -> None:
    ways: list[Way] = ["server", "behind-legacy"] if behind == "legacy" else ["server"]
    wrong = exceptions(scenario, *ways).judge(verdicts[version, behind][scenario])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("scenario", scenarios("server", EXTENSION))
def test_an_extension_is_offered_or_is_listed_as_none_of_ours(verdicts: Verdicts, scenario: str) -> None:
    wrong = exceptions(scenario, "server").judge(verdicts[EXTENSION, "modern"][scenario])
    assert not wrong, "\n".join(wrong)
