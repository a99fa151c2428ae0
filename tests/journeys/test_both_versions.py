"""A server that speaks both protocol versions is spoken to in its client's, so that no question is lost."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.protocol_versions import ABSENCE_SECONDS
from tests.servers import pushing
from tests.support.configs import server, toolboxes
from tests.support.sessions import LegacySession, ModernSession, text_of
from tests.support.talking import Talker, able

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Start
    from tests.support.client import Json, RawClient
    from tests.support.journal import Journal
    from tests.support.sessions import Session

SLOW = 1.5
"""Seconds of a start that take longer than the wait for an answer to the probe."""
NODE = Path(__file__).parent.parent / "node"


def python_sdk(delay: float) -> Json:
    return {"command": sys.executable, "args": [str(Path(pushing.__file__)), str(delay)]}


def typescript_sdk(delay: float) -> Json:
    return {"command": "node", "args": [str(NODE / "pushing.mjs"), str(delay)]}


SDKS = pytest.mark.parametrize("entry", [python_sdk, typescript_sdk])
DELAYS = pytest.mark.parametrize("delay", [0, SLOW])


async def legacy(client: RawClient) -> Session:
    session = LegacySession(client)
    session.capabilities = able("legacy")
    await session.greet()
    return session


def modern(client: RawClient) -> Session:
    session = ModernSession(client)
    session.capabilities = able("modern")
    return session


def says_ada(session: Session) -> Talker:
    talker = Talker(session)
    talker.respond = lambda _: {"result": {"action": "accept", "content": {"said": "Ada"}}}
    return talker


def using(tool: str) -> Json:
    identifier = {"toolbox": "dev", "server": "it", "tool": tool}
    return {"name": "use_tool", "arguments": {"tool": identifier, "arguments": {}}}


@SDKS
@DELAYS
async def test_a_legacy_client_is_asked_by_a_server_that_pushes_its_questions(
    start: Start, entry: Callable[[float], Json], delay: float
) -> None:
    config = toolboxes(dev={"it": entry(delay)})
    for _ in range(2):  # the first time nothing is known of the server
        client = await start(config)
        talker = says_ada(await legacy(client))
        result = await talker.request("tools/call", using("greet"))
        assert text_of(result) == "Hello, Ada"
        assert [question["method"] for question in talker.asked] == ["elicitation/create"]
        await client.close()


@SDKS
async def test_a_modern_client_is_told_what_the_server_tells_modern_clients(
    start: Start, entry: Callable[[float], Json]
) -> None:
    """Without us it would hear the same: such servers cannot push on a modern connection."""
    session = modern(await start(toolboxes(dev={"it": entry(0) | {"protocol": "2026-07-28"}})))
    result = await session.use_tool("dev", "it", "greet")
    assert result["isError"]
    assert re.search(r"2026-07-28|back-channel", result["content"][0]["text"])


async def test_a_slow_server_that_has_accepted_a_legacy_session_may_ask_a_modern_client(start: Start) -> None:
    config = toolboxes(dev={"it": typescript_sdk(SLOW)})
    client = await start(config)
    result = await says_ada(modern(client)).request("tools/call", using("greet"))
    assert text_of(result) == "Hello, Ada"
    await client.close()
    # By now it is known to be modern too, and is waited for.
    again = modern(await start(config))
    assert text_of(await again.use_tool("dev", "it", "echo")) == "echo"
    assert (await again.use_tool("dev", "it", "greet"))["isError"]


@SDKS
@DELAYS
async def test_clients_of_both_versions_share_a_server_and_each_gets_its_own(
    start: Start, entry: Callable[[float], Json], delay: float
) -> None:
    client = await start(toolboxes(dev={"it": entry(delay)}))
    old, new = await legacy(client), modern(client)
    first, second = await asyncio.gather(
        says_ada(old).request("tools/call", using("greet")), new.use_tool("dev", "it", "echo")
    )
    assert (text_of(first), text_of(second)) == ("Hello, Ada", "echo")


async def test_a_server_of_both_versions_has_a_process_for_each_and_no_more(
    start: Start, journal: Journal
) -> None:
    client = await start(toolboxes(dev={"it": server(journal, era="dual")}))
    old, new = await legacy(client), modern(client)
    for session in (old, new, old, new):
        await session.open_toolbox("dev")
        assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'
    first, second = journal.lives
    assert (first[0], second[0]) == ("initialize", "server/discover")
    assert "server/discover" not in first
    assert "initialize" not in second


@pytest.mark.parametrize("era", ["legacy", "silent-legacy", "dies-on-probe", "modern"])
async def test_a_server_of_one_version_has_one_process_whoever_uses_it(
    start: Start, journal: Journal, era: str
) -> None:
    """That it speaks no other is found out once, by a second start that is ended at once."""
    config = toolboxes(dev={"it": server(journal, era=era)})
    known = 0
    for _ in range(2):
        client = await start(config)
        for session in (await legacy(client), modern(client)) * 2:
            assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'
        known = journal.starts
        await client.close()
    assert known <= 4
    client = await start(config)
    for session in (modern(client), await legacy(client)):
        assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'
    assert journal.starts == known + 1


async def test_both_kinds_of_clients_at_once_find_out_about_an_unknown_server_together(
    start: Start, journal: Journal
) -> None:
    client = await start(toolboxes(dev={"it": server(journal, era="legacy", start_delay=0.3)}))
    sessions = [await legacy(client), modern(client)] * 10
    results = await asyncio.gather(
        *(session.use_tool("dev", "it", "echo", {"n": number}) for number, session in enumerate(sessions))
    )
    assert [text_of(result) for result in results] == [f'{{"n": {number}}}' for number in range(20)]
    assert journal.starts == 2
    await journal.wait_until(lambda journal: len(journal.events("eof")) == 1)


async def test_a_program_that_cannot_run_twice_serves_clients_of_both_versions(
    start: Start, journal: Journal, tmp_path: Path
) -> None:
    lock = tmp_path / "free"
    lock.touch()
    entry = server(journal, era="dual", exit_unless=str(lock))
    client = await start(toolboxes(dev={"it": entry}))
    old, new = await legacy(client), modern(client)
    await old.open_toolbox("dev")
    lock.unlink()
    for session in (new, old, new):
        assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'


@pytest.mark.parametrize(
    ("protocol", "opening"), [("legacy", "initialize"), ("2026-07-28", "server/discover")]
)
async def test_the_configuration_can_name_the_version_for_all_clients(
    start: Start, journal: Journal, protocol: str, opening: str
) -> None:
    client = await start(toolboxes(dev={"it": server(journal, {"protocol": protocol}, era="dual")}))
    for session in (await legacy(client), modern(client)):
        assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'
    assert [life[0] for life in journal.lives] == [opening]


async def test_a_server_that_is_remembered_as_modern_gets_no_old_greeting_however_slow_it_is(
    start: Start, journal: Journal, tmp_path: Path
) -> None:
    delay = tmp_path / "delay"
    config = toolboxes(dev={"it": server(journal, era="dual", delay_file=str(delay))})
    for seconds in (0, SLOW):
        delay.write_text(str(seconds), "ascii")
        client = await start(config)
        await modern(client).open_toolbox("dev")
        await client.close()
    assert [life[0] for life in journal.lives] == ["server/discover"] * 2
    assert all("initialize" not in life for life in journal.lives)


async def test_a_modern_server_that_has_learned_a_legacy_version_since_is_spoken_to_in_it(
    start: Start, journal: Journal, tmp_path: Path
) -> None:
    era = tmp_path / "era"
    config = toolboxes(dev={"it": server(journal, era_file=str(era))})
    for now in ("modern", "dual"):
        era.write_text(now, "ascii")
        client = await start(config)
        await (await legacy(client)).open_toolbox("dev")
        await client.close()
        for file in list(tmp_path.rglob("eras/*")):  # noqa: ASYNC240 - a few
            os.utime(file, (0, time.time() - ABSENCE_SECONDS - 1))
    before, after = journal.lives
    assert before[:2] == ["initialize", "server/discover"]
    assert after[0] == "initialize"
    assert "server/discover" not in after


async def test_a_server_that_is_remembered_as_modern_only_gets_no_old_greeting(
    start: Start, journal: Journal
) -> None:
    config = toolboxes(dev={"it": server(journal, era="modern")})
    for _ in range(2):
        client = await start(config)
        await (await legacy(client)).open_toolbox("dev")
        await client.close()
    assert [life[0] for life in journal.lives] == ["initialize", "server/discover"]


async def test_a_server_of_one_version_that_died_is_started_once_for_clients_of_both(
    start: Start, journal: Journal
) -> None:
    client = await start(toolboxes(dev={"it": server(journal, era="legacy")}))
    sessions = (modern(client), await legacy(client))
    for session in sessions:
        await session.use_tool("dev", "it", "echo", {"a": 1})
    assert journal.starts == 1
    os.kill(journal.pids[0], signal.SIGKILL)
    await client.wait_for_stderr("failed: ")
    results = await asyncio.gather(
        *(session.use_tool("dev", "it", "echo", {"a": 2}) for session in reversed(sessions))
    )
    assert [text_of(result) for result in results] == ['{"a": 2}'] * 2
    assert journal.starts == 2
