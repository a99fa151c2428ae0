"""How the era of a server is found out, at what cost, and how it is remembered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import server, toolboxes
from tests.support.sessions import ModernSession, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Start
    from tests.support.client import Json
    from tests.support.journal import Journal


async def seconds_to_answer(start: Start, entry: Json) -> float:
    """From asking a fresh workbench for one call, to its answer, by which the server has started."""
    session = ModernSession(await start(toolboxes(dev={"files": entry})))
    await session.greet()
    started = time.monotonic()
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    return time.monotonic() - started


async def test_a_silent_legacy_server_costs_a_second_at_most_and_only_once(
    start: Start, journal: Journal
) -> None:
    silent = server(journal, era="silent-legacy")
    told = await seconds_to_answer(start, {**silent, "protocol": "legacy"})
    first = await seconds_to_answer(start, silent)
    second = await seconds_to_answer(start, silent)
    assert first - told < 1
    assert second - told < 0.2
    assert ["server/discover" in methods for methods in journal.lives] == [False, True, False]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_era_once_found_is_not_asked_for_again(start: Start, journal: Journal, era: str) -> None:
    for _ in range(2):
        await seconds_to_answer(start, server(journal, era=era))
    first, second = journal.lives
    assert first[0] == "server/discover"
    assert second[0] == ("initialize" if era == "legacy" else second[0])
    assert ("initialize" in second) is (era == "legacy")


@pytest.mark.parametrize("era", ["legacy", "modern", "dual", "silent-legacy"])
async def test_a_server_that_is_slow_to_start_is_understood(start: Start, journal: Journal, era: str) -> None:
    await seconds_to_answer(start, server(journal, era=era, start_delay=1.5))
    assert journal.starts == 1


@pytest.mark.parametrize("era", ["dies-on-probe", "refuses-and-dies"])
async def test_a_server_that_dies_of_the_probe_is_started_again_without(
    start: Start, journal: Journal, era: str
) -> None:
    for _ in range(2):
        await seconds_to_answer(start, server(journal, era=era))
    assert [methods[0] for methods in journal.lives] == ["server/discover", "initialize", "initialize"]


@pytest.mark.parametrize(
    ("protocol", "era", "unheard"),
    [("legacy", "dual", "server/discover"), ("2026-07-28", "dual", "initialize")],
)
async def test_a_configured_protocol_is_not_put_to_the_test(
    start: Start, journal: Journal, protocol: str, era: str, unheard: str
) -> None:
    await seconds_to_answer(start, server(journal, {"protocol": protocol}, era=era))
    assert unheard not in journal.lives[0]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_a_server_of_an_older_legacy_version_is_accepted(start: Start, version: str) -> None:
    await seconds_to_answer(start, server(greeting={"protocolVersion": version}))


@pytest.mark.parametrize(
    "entry",
    [
        server(greeting={"protocolVersion": "1999-01-01"}),
        server(era="modern", discovery={"supportedVersions": ["2099-01-01"]}),
    ],
    ids=["legacy", "modern"],
)
async def test_a_server_of_no_version_that_we_know_is_named_as_a_failure(start: Start, entry: Json) -> None:
    session = ModernSession(await start(toolboxes(dev={"strange": entry, "files": server()})))
    (failure,) = (await session.open_toolbox("dev"))["structuredContent"]["failed_servers"]
    assert failure["error"].startswith("Failed to connect to MCP server 'strange': ")
    assert "99-01-01" in failure["error"]


@pytest.mark.parametrize(
    ("before", "after"), [("legacy", "modern"), ("modern", "legacy"), ("modern", "dies-on-probe")]
)
async def test_a_remembered_era_that_proves_wrong_is_found_out_anew(
    start: Start, tmp_path: Path, before: str, after: str
) -> None:
    era = tmp_path / "era"
    for now in (before, after, after):
        era.write_text(now, encoding="utf-8")
        await seconds_to_answer(start, server(era_file=str(era)))


async def test_a_damaged_cache_is_ignored(start: Start, tmp_path: Path) -> None:
    entry = server()
    await seconds_to_answer(start, entry)
    remembered = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert remembered
    for damage in (b"", b"\xff\x00{", b'{"version":[]}', b"[]"):
        for path in remembered:
            path.write_bytes(damage)
        await seconds_to_answer(start, entry)


async def test_a_cache_that_cannot_be_written_is_done_without(start: Start, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be", encoding="utf-8")
    await seconds_to_answer(start, server())


async def test_no_secret_is_written_to_the_cache(start: Start, tmp_path: Path) -> None:
    entry = server(entry={"env": {"API_TOKEN": "${API_TOKEN}"}})
    entry["args"].append("--token=${API_TOKEN}")
    session = ModernSession(await start(toolboxes(dev={"files": entry}), env={"API_TOKEN": "s3cr3t-value"}))
    await session.open_toolbox("dev")
    written = [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert written
    assert b"s3cr3t-value" not in b"".join(written)
