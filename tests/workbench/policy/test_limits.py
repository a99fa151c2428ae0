"""How many calls begin in a minute and be in flight: what is counted where, and when the next may begin."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.config import load_data
from mcp_workbench.config.model.policy import LimitsConfig, PolicyConfig
from mcp_workbench.errors import LimitReached
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.policy import limits
from mcp_workbench.workbench.policy.limits import CallLimiter
from mcp_workbench.workbench.policy.rules import PlacedPolicy
from mcp_workbench.workbench.principal import Principal
from tests.workbench.policy.deciding import Decided
from tests.workbench.test_door import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.workbench.door import CallRecord

MINUTE = 60


class Counted:
    """A limiter, with the clock in the test's hands."""

    def __init__(self, **policies: Any) -> None:
        self.now = 1000.0
        self._limiter = CallLimiter(lambda: self.now)
        self.door = Door(observers=[self._limiter])
        self.adopt(**policies)

    def adopt(self, **policies: Any) -> None:
        """Apply limits of the file, of the toolbox `dev` and of the server `dev/git`."""
        said = {place: {"policy": {"limits": given}} for place, given in policies.items()}
        servers = {"git": {"command": "x", **said.get("server", {})}, "fs": {"command": "x"}}
        boxes = {
            "dev": {"description": "d", "mcpServers": servers, **said.get("toolbox", {})},
            "ops": {"description": "d", "mcpServers": {"git": {"command": "x"}}},
        }
        self._limiter.adopt(load_data({"toolboxes": boxes, **said.get("file", {})}, {}).config)

    def begin(
        self,
        tool: str = "log",
        *,
        by: str = "ann",
        at: tuple[str, str] = ("dev", "git"),
        method: str = "tools/call",
        token: PlacedPolicy | None = None,
        continues: bool = False,
    ) -> CallRecord:
        """Begin a call. Raises LimitReached."""
        record = self.door.begin(Asked(method, at, tool, by))
        self._limiter.begin(record, Principal(by), token, continues=continues)
        return record

    def refused(self, *args: Any, **options: Any) -> str:
        """The limits that refuse a call, and when the next is possible."""
        with pytest.raises(LimitReached) as raised:
            self.begin(*args, **options)
        return raised.value.reason.replace("Nothing was sent. ", "")


async def test_the_error_says_which_limit_it_is_and_when_the_next_call_is_possible() -> None:
    counted = Counted(file={"callsPerMinute": 2})
    counted.begin()
    counted.now += 10
    counted.begin()
    counted.now += 7.5
    wanted = 'the limit "callsPerMinute": 2 of the file is reached. The next call is possible in 43 s'
    assert counted.refused() == wanted
    counted.now += 42.4
    assert "in 1 s" in counted.refused()
    counted.now += 0.1
    counted.begin()
    assert "in 10 s" in counted.refused()


async def test_calls_in_flight_are_free_again_when_they_have_ended() -> None:
    counted = Counted(server={"callsInFlight": 2})
    first, _ = counted.begin(), counted.begin()
    assert counted.refused() == (
        'the limit "callsInFlight": 2 of server dev/git is reached. '
        "The next call is possible when one of the 2 calls in flight has ended"
    )
    first.close("cancelled")
    first.close("client_gone")
    counted.begin()
    counted.refused()


async def test_a_refused_call_counts_nowhere() -> None:
    counted = Counted(file={"callsPerMinute": 3}, server={"callsInFlight": 1})
    first = counted.begin()
    for _ in range(5):
        counted.refused().index('"callsInFlight": 1 of server dev/git')
    first.close("answered")
    counted.begin().close("answered")
    counted.begin().close("answered")
    counted.refused().index('"callsPerMinute": 3 of the file')


async def test_what_a_limit_counts_depends_on_its_place() -> None:
    one = {"callsPerMinute": 1}
    counted = Counted(file=one)
    counted.begin(by="ann")
    counted.begin(by="bob", at=("ops", "git"))
    counted.refused(by="ann", at=("ops", "git"), method="resources/read")

    counted = Counted(toolbox=one)
    counted.begin(by="ann", at=("dev", "fs"))
    counted.begin(by="ann", at=("ops", "git"))
    assert "of toolbox dev" in counted.refused(by="bob", at=("dev", "git"))

    counted = Counted(server=one)
    counted.begin(by="ann", at=("dev", "fs"))
    counted.begin(by="ann", at=("dev", "git"))
    assert "of server dev/git" in counted.refused("x", by="bob")

    counted = Counted()
    token = PlacedPolicy("token", "token ci", PolicyConfig(limits=LimitsConfig(calls_per_minute=1)))
    counted.begin(by="ann")
    counted.begin(by="ci", token=token)
    assert "of token ci" in counted.refused(by="ci", at=("dev", "fs"), token=token)


async def test_tools_are_counted_each_by_itself() -> None:
    tools = {"search_*": {"callsPerMinute": 1}, "ops/*/push": {"callsInFlight": 1}}
    counted = Counted(file={"tools": tools})
    for tool in ("search_a", "search_b", "log", "log", "push", "push"):
        counted.begin(tool)
    assert 'the limit "callsPerMinute": 1 of "search_*" of the file' in counted.refused("search_a")
    counted.begin("search_a", by="bob")
    counted.begin("search_a", at=("dev", "fs"))
    counted.begin("search_a", method="prompts/get")
    counted.begin("push", at=("ops", "git"))
    assert '"callsInFlight": 1 of "ops/*/push"' in counted.refused("push", at=("ops", "git"))


async def test_all_limits_that_are_reached_are_named() -> None:
    counted = Counted(file={"callsPerMinute": 1}, toolbox={"callsPerMinute": 1, "callsInFlight": 1})
    counted.begin()
    counted.now += 15
    assert counted.refused() == (
        'the limit "callsPerMinute": 1 of the file and the limit "callsPerMinute": 1 of toolbox dev and the '
        'limit "callsInFlight": 1 of toolbox dev are reached. The next call is possible in 45 s and when the '
        "call in flight has ended"
    )


async def test_a_call_that_continues_another_counts_once_for_the_minute() -> None:
    counted = Counted(file={"callsPerMinute": 1, "callsInFlight": 1})
    counted.begin().close("asked")
    continued = counted.begin(continues=True)
    counted.refused(continues=True).index("callsInFlight")
    continued.close("answered")
    counted.refused().index("callsPerMinute")


async def test_a_changed_limit_counts_from_what_was_counted_before() -> None:
    counted = Counted(file={"callsPerMinute": 10, "callsInFlight": 10})
    calls = [counted.begin() for _ in range(4)]
    counted.adopt(file={"callsPerMinute": 5, "callsInFlight": 2})
    assert "when one of the 4 calls" in counted.refused()
    for call in calls:
        call.close("answered")
    counted.begin().close("answered")
    counted.now += 20
    counted.adopt(file={"callsPerMinute": 2})
    assert "in 40 s" in counted.refused()


async def test_reading_kept_results_is_not_counted() -> None:
    counted = Counted(file={"callsPerMinute": 1})
    for _ in range(3):
        counted.begin("read_result", at=("workbench", "results"))


async def test_memory_is_bounded_whatever_names_a_client_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_COUNTERS", 10)
    counted = Counted(file={"tools": {"*": {"callsPerMinute": 5}}})
    for number in range(9):
        counted.begin(f"tool {number}").close("answered")
    counted.begin("kept").close("answered")
    # No space for more counters within this minute: what is new shares one.
    for number in range(5):
        counted.begin(f"new {number}").close("answered")
    counted.refused("new 6")
    counted.begin("kept").close("answered")
    counted.now += MINUTE
    for number in range(30):
        counted.begin(f"later {number}").close("answered")
        counted.now += MINUTE
    held = counted._limiter._counters, counted._limiter._of_calls
    assert [len(each) <= 11 for each in held] == [True, True]


STEPS = st.lists(st.tuples(st.sampled_from(["begin", "end", "wait"]), st.integers(0, 40)), max_size=40)


@settings(max_examples=100)
@given(STEPS, st.integers(1, 4), st.integers(1, 4))
def test_calls_pass_as_long_as_both_limits_allow_them(
    steps: list[tuple[str, int]], per_minute: int, in_flight: int
) -> None:
    async def live() -> None:
        counted = Counted(server={"callsPerMinute": per_minute, "callsInFlight": in_flight})
        begun: list[float] = []
        flying: list[CallRecord] = []
        for what, number in steps:
            if what == "wait":
                counted.now += number
            elif what == "end" and flying:
                flying.pop(number % len(flying)).close("answered")
            elif what == "begin":
                recent = [when for when in begun if when > counted.now - MINUTE]
                if len(recent) >= per_minute:
                    waits = recent[-per_minute] + MINUTE - counted.now
                    assert f"is possible in {waits:.0f} s" in counted.refused()
                elif len(flying) == in_flight:
                    assert "in flight has ended" in counted.refused()
                else:
                    flying.append(counted.begin())
                    begun.append(counted.now)

    asyncio.run(live())


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_client_is_told_and_the_next_call_passes_when_one_has_ended(
    tmp_path: Path, modern: bool
) -> None:
    decided = Decided(tmp_path, {"limits": {"callsInFlight": 1}}, modern=modern)
    numbers = count(1)
    decided.call(next(numbers))
    decided.call(next(numbers))
    assert decided.notes.outcomes == [("refused", "LimitReached")]
    assert "when the call in flight has ended" in decided.text
    decided.relayed.answer(5)()
    decided.call(next(numbers))
    assert decided.sent == ["tools/call"] * 2


async def test_limits_that_are_taken_away_and_come_back_do_not_count_what_ended_meanwhile(
    tmp_path: Path,
) -> None:
    decided = Decided(tmp_path, {"limits": {"callsInFlight": 1}})
    decided.call(1)
    decided.reload({"x": "deny"})
    decided.relayed.answer(5)()
    decided.reload({"limits": {"callsInFlight": 1}})
    decided.call(2)
    assert decided.sent == ["tools/call"] * 2


async def test_a_call_that_waits_for_a_person_counts_and_a_denied_one_does_not(tmp_path: Path) -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    policy = {"read": "ask", "x": "deny", "limits": {"callsInFlight": 1}}
    decided = Decided(tmp_path, policy)
    decided.person.hold = answer
    decided.call(1, "x")
    decided.call(2, "x")
    decided.call(3)
    decided.call(4)
    await decided.settle()
    assert decided.notes.outcomes == [
        ("refused", "CallDenied"),
        ("refused", "CallDenied"),
        ("refused", "LimitReached"),
    ]
    assert len(decided.person.asked) == 1


@pytest.mark.parametrize("method", ["resources/read", "tools/call"])
async def test_programs_are_told_the_seconds_as_a_number(tmp_path: Path, method: str) -> None:
    decided = Decided(tmp_path, {"limits": {"callsPerMinute": 1}}, modern=True, is_program=True)
    decided.call(1)
    if method == "tools/call":
        decided.call(2)
    else:
        decided.request(2, method, uri="workbench:dev/files/file:///a")
    await decided.settle()
    assert decided.answer["error"]["data"].items() >= {"retryAfter": 60}.items()
