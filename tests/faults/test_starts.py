"""A fault at the start costs one server of the toolbox, is named with its reason, and is bounded in time."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pytest

from tests.faults.servers.list_faults import ENGLAND, FAMILY, HEART, HIDDEN, HIDING_NAMES, ODD_NAMES
from tests.faults.trial import OPEN, TABLE_LIMIT, Trial, spoken
from tests.support.sessions import names

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.timeout(600)  # the first of these tests runs the trials of all of them

STARTUP = 2.0
"""The `startupTimeout` of the servers that never come up."""
GONE = 3.0
"""Seconds to the error when the server goes away at once."""
PROMPT = 5.0
SLACK = 3.0
AGAIN = STARTUP + SLACK
"""Seconds for the next call, which starts the server again or says why not."""


@dataclass(frozen=True)
class Fault:
    """A function of `servers/start_faults.py`, and what must come of it."""

    function: str
    outcome: Literal["opens", "fails", "opens or fails", "comes back"]
    words: tuple[str, ...] = ()
    within: float = PROMPT
    startup: float = 10.0
    eras: tuple[Era, ...] = ("legacy", "modern")
    tools: tuple[str, ...] = ("echo",)
    is_heavy: bool = False
    goes: bool = False
    """Whether it goes away when it has opened."""
    entry: Json | None = None
    """What stands in the configuration in place of the faulty server, under the function's name."""

    @property
    def name(self) -> str:
        return f"{self.function}_once" if self.outcome == "comes back" else self.function


def fails(function: str, *words: str, within: float = GONE) -> Fault:
    return Fault(function, "fails", words, within)


def hangs(function: str, *, heavy: bool = False) -> Fault:
    return Fault(function, "fails", ("2 s",), STARTUP + SLACK, STARTUP, is_heavy=heavy)


def opens(function: str, *tools: str, heavy: bool = False, within: float = PROMPT) -> Fault:
    return Fault(function, "opens", (), within, tools=("echo", *tools), is_heavy=heavy)


def comes_back(function: str) -> Fault:
    """It fails once: whether that one fails the opening or not, the next call finds the server."""
    return Fault(function, "comes back", (), STARTUP + SLACK, STARTUP)


def no_server(name: str, command: str, *args: str, cwd: str | None = None) -> Fault:
    """A command that is none of ours."""
    entry: Json = {"command": command, "args": args, **({} if cwd is None else {"cwd": cwd})}
    return Fault(name, "fails", (), STARTUP + SLACK, STARTUP, ("legacy",), entry=entry)


FAULTS = (
    # There is no server at all.
    no_server("does_not_exist", "no-such-command-at-all"),
    no_server("is_a_directory", "/"),
    no_server("is_not_executable", __file__),
    no_server("has_no_directory", sys.executable, cwd="/no/such/directory"),
    no_server("says_why_it_fails", sys.executable, "-c", "raise SystemExit('no such database')"),
    no_server("has_nothing_to_do", "true"),
    no_server("sends_everything_back", "cat"),
    no_server("says_yes_without_end", "yes"),
    no_server("has_too_long_an_argument", sys.executable, "x" * 200_000),
    # It does not come up.
    fails("exits", "3", "no such database"),
    fails("exits_without_a_word", "exited with code 0"),
    fails("crashes", "SIGSEGV"),
    fails("exits_a_little_later", "3", "no such database"),
    fails("exits_at_the_first_message", "3", "no such database"),
    fails("exits_when_asked_for_its_tools", "3", "no such database"),
    Fault("exits_when_it_has_listed_its_tools", "opens or fails", goes=True),
    fails("exits_and_leaves_a_helper", "3", "no such database"),
    hangs("never_answers"),
    hangs("never_answers_its_greeting"),
    hangs("never_answers_its_list"),
    hangs("never_reads"),
    hangs("stops_itself"),
    hangs("ignores_every_way_to_end"),
    fails("closes_its_output", within=STARTUP + SLACK),
    hangs("babbles_without_end", heavy=True),
    hangs("says_a_line_without_end", heavy=True),
    hangs("says_half_a_greeting"),
    hangs("floods_stderr_without_end", heavy=True),
    # It comes up after all.
    comes_back("exits"),
    comes_back("exits_without_a_word"),
    comes_back("exits_at_the_first_message"),
    comes_back("exits_when_asked_for_its_tools"),
    Fault("exits_when_it_has_listed_its_tools", "comes back", startup=STARTUP, goes=True),
    comes_back("never_answers"),
    comes_back("never_answers_its_list"),
    comes_back("never_reads"),
    comes_back("stops_itself"),
    comes_back("closes_its_output"),
    comes_back("says_half_a_greeting"),
    comes_back("refuses"),
    comes_back("greets_with_42"),
    comes_back("lists_42"),
    comes_back("lists_without_end"),
    # It comes up oddly.
    opens("answers_after_3_s", within=3 + SLACK),
    opens("prints_banners"),
    opens("prints_a_long_banner", heavy=True),
    opens("writes_20_mb_to_stderr", heavy=True, within=10),
    opens("notifies_before_it_answers"),
    opens("asks_before_it_answers"),
    opens("answers_its_greeting_twice"),
    # It greets wrongly.
    fails("refuses", "no licence"),
    fails("refuses_with_odd_types", "no licence"),
    fails("speaks_an_unknown_version", "1999-12-31"),
    fails("greets_with_42"),
    fails("greets_with_null"),
    fails("greets_with_odd_members"),
    # It lists wrongly.
    fails("lists_42", "tools"),
    fails("lists_null", "tools"),
    fails("lists_nothing_at_all", "tools"),
    fails("lists_an_object", "tools"),
    fails("refuses_to_list", "no licence"),
    opens("lists_wrong_types", "fault"),
    opens("lists_null_schemas", "fault"),
    opens("lists_a_schema_100_000_deep", "fault", heavy=True),
    fails("lists_nan", "could not be read"),
    opens("lists_invalid_utf_8", "odd", "fault"),
    opens("lists_lone_surrogates", "odd", "fault"),
    fails("lists_without_end", "never ends", within=PROMPT),
    Fault("lists_large_pages_without_end", "fails", (), STARTUP + SLACK, STARTUP, is_heavy=True),
    fails("lists_one_page_again_and_again", "never ends"),
    fails("lists_two_pages_in_a_circle", "never ends"),
    Fault("lists_with_cursors_of_the_wrong_type", "opens or fails"),
    opens("lists_1_000_large_tools", "tool_000", "tool_999", heavy=True, within=10),
    Fault("lists_100_mb", "fails", ("64 MiB",), within=10, is_heavy=True),
    opens("lists_duplicate_names", "fault"),
    opens("lists_odd_names", *ODD_NAMES),
    opens("lists_hiding_names", *(name for name in HIDING_NAMES if name)),
    opens("lists_hidden_text", "hiding"),
)


async def meet(fault: Fault, directory: Path) -> list[str]:
    """The one body that judges them all. Servers of both eras have the fault in one workbench."""
    trial = Trial(directory)
    eras = fault.eras[:1] if fault.is_heavy else fault.eras
    lives = {"lives": 1} if fault.outcome == "comes back" else {}
    entry = {"startupTimeout": fault.startup, "timeout": 10}
    servers = {era: trial.server(era, entry, era=era, start=fault.function, **lives) for era in eras}
    if fault.entry is not None:
        servers = {era: {**fault.entry, **entry} for era in eras}
    client_era: Era = "legacy" if len(fault.name) % 2 else "modern"  # either will do, so that both are seen
    async with trial.running(trial.config(**servers), client_era) as session:
        opening = await session.begin("tools/call", OPEN)
        reply, took = await trial.alongside(opening, fault.within + SLACK)
        if reply is None:
            trial.complaints.append(f"no answer within {took:g} s")
            return trial.complaints
        trial.claim(took <= fault.within, f"the opening took {took:.1f} s")
        message = reply.message
        if "error" in message or message["result"].get("isError"):
            trial.complaints.append(f"the opening brought {spoken(message)[:500]!r}")
            return trial.complaints
        listing = message["result"]["structuredContent"]
        await asyncio.gather(*(judge(trial, fault, era, listing) for era in eras))
        text = await trial.use("sibling", "echo", PROMPT)
        trial.claim(text == "echo", f"the sibling said {text[:300]!r} in the end")
    return trial.complaints


async def judge(trial: Trial, fault: Fault, server: str, listing: Json) -> None:
    tools = [tool for tool in listing["tools"] if tool["source_server"] == server]
    failures = [failure for failure in listing.get("failed_servers", ()) if failure["server"] == server]
    trial.claim(len(failures) == (not tools), f"{server}: it has {names(tools)} and {failures}"[:500])
    for failure in failures:
        said = f"{failure['error']} {failure.get('stderr')}"
        front = f"Failed to connect to MCP server '{server}': "
        trial.claim(said.startswith(front), f"{server}: the failure is {said[:500]!r}")
        for words in fault.words:
            trial.claim(words in said, f"{server}: the failure {said[:500]!r} does not say {words!r}")
    if fault.outcome == "opens":
        missing = set(fault.tools) - set(names(tools))
        trial.claim(not missing, f"{server}: its tools {missing} are missing; {failures}"[:500])
    elif fault.outcome == "fails":
        trial.claim(failures, f"{server}: it opened, with {names(tools)}"[:500])
    if fault.goes and tools:
        await trial.settle(server)
    comes_back = fault.outcome == "comes back"
    for tool in fault.tools:
        text = await trial.use(server, tool, AGAIN)
        if comes_back or (tools and not fault.goes):
            trial.claim(text == "echo", f"{server}: the call of {tool!r} brought {text[:500]!r}")
        else:
            front = f"(error) Error executing tool '{tool}' in server '{server}' (toolbox 'dev'): "
            trial.claim(text.startswith(front), f"{server}: a call brought {text[:500]!r}")


@pytest.mark.timeout(TABLE_LIMIT)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_at_the_start_costs_one_server(fault: Fault, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[fault.name] == []


async def test_hidden_text_is_removed_and_noted_and_emoji_stay(trial: Trial) -> None:
    config = trial.config(faulty=trial.server("faulty", start="lists_hidden_text"))
    async with trial.running(config) as session:
        result = await session.open_toolbox("dev", detail="full")
    listing = result["structuredContent"]
    (hiding,) = (tool for tool in listing["tools"] if tool["name"] == "hiding")
    text = str(hiding) + result["content"][0]["text"]
    assert [character for character in HIDDEN if character in text and not is_wanted(character)] == []
    for tool_text in (
        hiding["title"],
        hiding["description"],
        hiding["annotations"]["title"],
        hiding["inputSchema"]["description"],
        hiding["inputSchema"]["properties"]["path"]["description"],
        hiding["outputSchema"]["properties"]["path"]["title"],
    ):
        assert f"also {FAMILY} {ENGLAND} {HEART}" in tool_text
        assert "shown " in tool_text
    (note,) = listing["notes"]
    assert note["server"] == "faulty"
    assert "hidden" in note["note"]
    assert "hiding" in note["note"]


def is_wanted(character: str) -> bool:
    """Whether it is also part of what a person sees: punctuation, or a piece of an emoji."""
    return character in FAMILY + ENGLAND + HEART or (character.isprintable() and character.isascii())


async def test_nothing_is_noted_where_nothing_was_hidden(trial: Trial) -> None:
    async with trial.running(trial.config()) as session:
        assert "notes" not in (await session.open_toolbox("dev"))["structuredContent"]
