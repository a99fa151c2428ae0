"""What a policy costs a call, counted in steps. A configuration without one pays nothing. No clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.workbench.call_counts import CallCounts
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.policy.configured import ConfiguredPolicy
from tests.serve.test_cost_of_observing import steps_of_a_call
from tests.workbench.policy.deciding import Person, config_with

if TYPE_CHECKING:
    from pathlib import Path

POLICIES: dict[str, tuple[object, int, int]] = {
    "none": (None, 0, 0),
    "rules by name": ({"delete_*": "deny", "read": "allow"}, 3, 0),
    "hints": ({"preset": "careful", "unknown": "allow"}, 4, 0),
    "limits": ({"limits": {"callsPerMinute": 1000, "callsInFlight": 100}}, 10, 2),
}
"""A policy, and how many steps it may add to a request and to its answer."""


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
@pytest.mark.parametrize("policy", POLICIES)
async def test_a_decision_takes_few_steps(tmp_path: Path, modern: bool, policy: str) -> None:
    written, request, answer = POLICIES[policy]
    plain = steps_of_a_call(tmp_path, Door(observers=[CallCounts()]), modern=modern)
    door = Door(observers=[CallCounts()])
    ConfiguredPolicy(door, Person).configure(config_with(written))
    decided = steps_of_a_call(tmp_path, door, modern=modern)
    assert decided[0] - plain[0] <= request
    assert decided[1] - plain[1] <= answer


async def test_without_a_policy_and_observers_a_call_has_no_record(tmp_path: Path) -> None:
    door = Door()
    ConfiguredPolicy(door, Person).configure(config_with(None))
    assert (door.is_watched, door.has_deciders, door.policy) == (False, False, None)
    assert steps_of_a_call(tmp_path, door, modern=True) == steps_of_a_call(tmp_path, None, modern=True)
