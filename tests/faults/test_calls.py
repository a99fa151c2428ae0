"""A fault in a call ends that call in time and with a clear answer, and costs nothing else."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pytest

from tests.faults.servers.conversation import MEGABYTE
from tests.faults.trial import TABLE_LIMIT, Trial, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.client import Reply
    from tests.support.sessions import Era

pytestmark = pytest.mark.timeout(600)  # the first of these tests runs the trials of all of them

FRONT = "(error) Error executing tool '{}' in server '{}' (toolbox 'dev'): "
GONE = 2.0
"""Seconds to the error when the server goes away."""
PROMPT = 4.0
"""Seconds for an answer that is there, or that is known not to come."""
RECOVERY = 6.0
"""Seconds to the answer of the next call: a probe of 2 s, and a new start."""
SLACK = 2.5
"""Seconds that a time-out may be late by, on a busy machine."""


GOES_AFTER_THE_ANSWER = ("answers_and_exits", "answers_without_a_newline_and_exits")


@dataclass(frozen=True)
class Fault:
    """A function of `servers/call_faults.py`, and what must come of it."""

    name: str
    outcome: Literal["result", "error", "either"] = "result"
    words: tuple[str, ...] = ()
    within: float = PROMPT
    timeout: float = 20.0
    after: str | None = None
    """The fault that the first call meets, and answers; the judged call is one of `echo` that follows."""
    padding: int = 0
    """Bytes in the arguments of the judged call."""
    length: int | None = None
    recovers_with: str = "echo"
    is_heavy: bool = False
    """Whether it takes much of the machine. The era makes no difference then, and one will do."""
    in_both_eras: bool = False
    """Whether a heavy one is met in both all the same."""

    @property
    def eras(self) -> list[Era]:
        if self.is_heavy and not self.in_both_eras:
            return ["modern" if len(self.name) % 2 else "legacy"]
        return ["legacy", "modern"]

    @property
    def tool(self) -> str:
        return "fault" if self.after is None else "echo"


def ends(name: str, *words: str) -> Fault:
    return Fault(name, "error", words, within=GONE)


def answers(name: str, *words: str, heavy: bool = False, within: float = PROMPT) -> Fault:
    return Fault(name, "result", words or ("done",), within=within, is_heavy=heavy)


def refused(name: str, *words: str) -> Fault:
    return Fault(name, "error", words)


def silent(name: str, timeout: float = 1.0, *, heavy: bool = False) -> Fault:
    """Nothing comes: the call's time ends it."""
    return Fault(name, "error", ("no answer within",), timeout + SLACK, timeout, is_heavy=heavy)


def silent_after(first: str, padding: int = 0) -> Fault:
    name = f"{first}_then_{padding}_bytes_come" if padding else f"{first}_then_a_call_comes"
    return Fault(name, "error", ("no answer within",), 1 + SLACK, 1.0, after=first, padding=padding)


def either(name: str, timeout: float = 1.0) -> Fault:
    """An answer or an error, as long as it comes."""
    return Fault(name, "either", (), timeout + SLACK, timeout)


FAULTS = (
    # It goes away.
    ends("exits", "exited with code 7", "about to exit"),
    ends("exits_as_if_all_were_well", "exited with code 0"),
    ends("is_killed", "SIGKILL"),
    ends("crashes", "SIGSEGV"),
    answers("answers_and_exits"),
    answers("answers_without_a_newline_and_exits"),
    ends("exits_and_leaves_a_helper_on_its_pipes", "exited with code 7"),
    ends("is_killed_and_leaves_a_helper_in_a_new_session", "SIGKILL"),
    # It says nothing.
    silent("never_answers"),
    silent("never_answers_anything_any_more"),
    silent("stops_reading"),
    silent("stops_itself"),
    silent_after("answers_and_stops_reading"),
    silent_after("answers_and_stops_reading", 1_000_000),
    silent_after("answers_and_stops_itself"),
    silent_after("answers_and_stops_itself", 1_000_000),
    silent_after("answers_and_then_nothing_any_more"),
    silent("answers_too_late"),
    silent("is_busy_for_three_times_its_time"),
    ends("closes_its_output"),
    ends("closes_its_input"),
    ends("closes_both"),
    # Half of something.
    ends("says_half_a_line_and_exits", "exited with code 7"),
    ends("says_half_of_a_long_answer_and_exits", "exited with code 7"),
    ends("says_half_a_line_and_closes_its_output"),
    silent("says_half_a_line_and_no_more"),
    silent("says_half_a_line_and_stops_reading"),
    answers("says_its_answer_byte_by_byte"),
    silent("drips_a_line_without_end"),
    # Too much of something.
    answers("babbles_before_the_answer", heavy=True, within=10),
    answers("babbles_json_before_the_answer", heavy=True, within=10),
    answers("says_empty_lines_before_the_answer", heavy=True, within=10),
    silent("babbles_without_end", heavy=True),
    replace(silent("babbles_without_end_beside_its_work", 4.0, heavy=True), in_both_eras=True),
    Fault("answers_with_50_mb", within=10, length=50 * MEGABYTE, is_heavy=True),
    answers("says_a_50_mb_line_of_nothing_before_the_answer", heavy=True, within=10),
    Fault("answers_with_100_mb", "error", ("64 MiB",), within=10, is_heavy=True),
    Fault("answers_with_100_mb_and_its_id_last", "error", ("64 MiB",), within=10, is_heavy=True),
    Fault("says_an_answer_without_end", "error", ("64 MiB",), within=10, is_heavy=True),
    Fault("says_a_line_without_end", "error", (), 1 + SLACK, 1.0, is_heavy=True),
    answers("notifies_50_000_times_before_the_answer", heavy=True, within=10),
    silent("notifies_without_end", heavy=True),
    answers("notifies_oddly"),
    Fault("reports_progress_for_ever", "error", ("no answer within 5 s",), 5 + SLACK, 0.5),
    Fault(
        "reports_progress_as_fast_as_it_can",
        "error",
        ("no answer within 5 s",),
        5 + SLACK,
        0.5,
        is_heavy=True,
    ),
    silent("reports_progress_of_something_else"),
    answers("announces_changes_2_000_times"),
    silent("announces_changes_without_end", heavy=True),
    answers("writes_50_mb_to_stderr", heavy=True, within=15),
    answers("writes_a_50_mb_line_to_stderr", heavy=True, within=15),
    answers("writes_nonsense_to_stderr"),
    answers("asks_once", "1 answers"),
    answers("asks_for_sampling", "1 answers"),
    answers("asks_5_000_times", "5000 answers"),
    answers("asks_5_000_times_for_roots", "5000 answers"),
    silent("asks_without_end_and_never_reads", heavy=True),
    answers("asks_under_odd_ids"),
    answers("asks_as_if_it_were_the_client"),
    answers("asks_under_the_id_of_the_call"),
    # The wrong bytes.
    answers("wraps_its_answer_in_invalid_utf_8"),
    answers("answers_in_invalid_utf_8", "cut \ufffd"),
    answers("answers_in_invalid_utf_8_at_length", "cut \ufffd"),
    answers("answers_in_latin_1", "caf\ufffd"),
    answers("answers_with_a_lone_surrogate", "cut \ufffd"),
    answers("answers_with_the_wrong_half_of_a_surrogate", "cut \ufffd \\ud800"),
    answers("says_nul_bytes_before_the_answer"),
    either("begins_its_answer_with_nul_bytes", 20),
    either("answers_with_a_nul_byte_inside", 20),
    answers("answers_with_an_escaped_nul", "cut \0"),
    answers("answers_with_a_bom"),
    answers("answers_with_crlf"),
    answers("answers_with_a_bom_and_crlf"),
    either("answers_in_utf_16"),
    # The wrong messages.
    answers("answers_in_a_batch"),
    answers("answers_in_a_batch_among_others"),
    answers("answers_with_an_empty_batch_first"),
    answers("answers_twice", "first"),
    answers("answers_a_hundred_times", "first"),
    answers("answers_under_unknown_ids_first"),
    silent("answers_under_an_unknown_id_only"),
    answers("answers_the_next_calls_in_advance"),
    answers("answers_under_null_first"),
    silent("answers_under_null_only"),
    silent("answers_under_no_id"),
    answers("answers_under_its_id_as_text"),
    either("answers_under_its_id_as_a_float"),
    refused("answers_with_nan", "could not be read"),
    refused("answers_nested_a_million_deep", "nested too deeply"),
    answers("babbles_100_000_deep_before_the_answer"),
    refused("refuses_with_text", "went wrong"),
    refused("refuses_with_a_number", "5"),
    refused("refuses_with_a_list"),
    refused("refuses_with_nothing"),
    refused("refuses_with_null"),
    refused("refuses_with_odd_members", "E_ODD", "went wrong"),
    refused("refuses_with_a_fraction_and_null", "1.5"),
    refused("refuses_at_length", "-32000", "xxx"),
    refused("refuses_properly", "-32000", "no room", '{"free":0}'),
    refused("refuses_and_succeeds", "no room"),
    refused("answers_null"),
    refused("answers_42"),
    refused("answers_text"),
    refused("answers_a_list"),
    refused("answers_with_neither"),
    refused("answers_with_broken_json", "could not be read"),
    either("answers_with_text_after_the_json", 20),
    either("answers_without_a_version", 20),
    answers("answers_with_white_space"),
    answers("answers_with_escapes_in_its_keys"),
    answers("answers_with_separators_that_end_no_line", "cut \u2028\u2029\x85"),
    answers("answers_with_100_000_parts", "xxx"),
    answers("changes_its_tools_to_nonsense"),
    Fault("changes_its_tools_and_never_lists_them", words=("done",), timeout=1.0),
    answers("changes_its_tools_to_a_list_without_end"),
    Fault("changes_its_tools_in_mid_flight", words=("done",), recovers_with="fresh"),
    *(
        Fault(f"{first}_and_the_next_call_finds_it_gone", words=("echo",), within=RECOVERY, after=first)
        for first in ("answers_and_exits", "answers_and_closes_its_output", "answers_and_closes_its_input")
    ),
)


async def meet(fault: Fault, directory: Path) -> list[str]:
    """The one body that judges them all. Servers of both eras have the fault in one workbench."""
    trial = Trial(directory)
    entry = {"timeout": fault.timeout, "startupTimeout": 10}
    call = fault.after or fault.name
    servers = {era: trial.server(era, entry, era=era, call=call) for era in fault.eras}
    client_era: Era = "legacy" if len(fault.name) % 2 else "modern"  # either will do, so that both are seen
    async with trial.running(trial.config(**servers), client_era) as session:
        await session.open_toolbox("dev")
        async with asyncio.TaskGroup() as group:
            for era in fault.eras:
                group.create_task(meet_one(trial, fault, era))
        text = await trial.use("sibling", "echo", PROMPT)
        trial.claim(text == "echo", f"the sibling said {text[:300]!r} in the end")
    return trial.complaints


async def meet_one(trial: Trial, fault: Fault, server: str) -> None:
    if server == "modern":
        text = await trial.use(server, "echo", PROMPT)
        trial.claim(text == "echo", f"{server}: the call before it brought {text[:300]!r}")
    if fault.after is not None:
        text = await trial.use(server, "fault", PROMPT)
        trial.claim(text == "done", f"{server}: the first call brought {text[:300]!r}")
        await trial.settle(server)
    padding = json.dumps({"padding": "x" * fault.padding}) if fault.padding else "{}"
    call = await trial.session.begin_tool("dev", server, fault.tool, padding)
    reply, took = await trial.alongside(call, fault.within + SLACK)
    for complaint in judge(fault, server, reply, took):
        trial.complaints.append(f"{server}: {complaint}")
    if fault.name in GOES_AFTER_THE_ANSWER:
        await trial.settle(server)
    text = await trial.use(server, fault.recovers_with, RECOVERY)
    trial.claim(text == fault.recovers_with, f"{server}: the next call brought {text[:500]!r}")


def judge(fault: Fault, server: str, reply: Reply | None, took: float) -> Iterator[str]:
    if reply is None:
        yield f"no answer within {took:g} s"
        return
    if took > fault.within:
        yield f"the answer took {took:.1f} s"
    if any(word in reply.line for word in (b"NaN", b"Infinity")):
        yield "the answer is not JSON"
    text = spoken(reply.message)
    is_error = text.startswith(FRONT.format(fault.tool, server))
    as_hoped = is_error == (fault.outcome == "error") or fault.outcome == "either"
    if not as_hoped or (text.startswith("(") and not is_error):
        yield f"the answer is {text[:500]!r}"
    for words in fault.words:
        if words not in text:
            yield f"the answer {text[:500]!r} does not say {words!r}"
    if fault.length not in (None, len(text)):
        yield f"the answer has a length of {len(text)}"


@pytest.mark.timeout(TABLE_LIMIT)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_costs_its_own_call_and_nothing_else(fault: Fault, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[fault.name] == []
