"""The scenarios of the suite, and what of them does not apply to the workbench.

Both are files beside this module. `scenarios.json` is what the suite lists, kept here so that the tests have
their names before the suite is asked; `does_not_apply.toml` gives a reason for each scenario, or for each
single check in it, that the workbench need not satisfy. Neither may go out of date: tests see to it.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tests.conformance.suite import Leg, Verdict

Way = Literal["server", "behind-legacy", "client"]
"""How the workbench is judged: as a server, as one with a legacy server behind, or as a client."""

HERE = Path(__file__).parent
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
OLDEST = "2025-03-26"
"""The version of two scenarios about authorization servers of old."""
EXTENSION = "extension"

SCENARIOS: dict[Leg, dict[str, list[str]]] = json.loads((HERE / "scenarios.json").read_text(encoding="utf-8"))
REASONS: dict[str, dict[str, str]] = tomllib.loads((HERE / "does_not_apply.toml").read_text(encoding="utf-8"))
"""By the way of judging."""


def scenarios(leg: Leg, version: str) -> list[str]:
    """Those that the suite runs for a version of the protocol."""
    return [name for name, versions in SCENARIOS[leg].items() if version in versions]


@dataclass(frozen=True)
class Exceptions:
    """What does not apply to one scenario."""

    scenario: bool
    checks: frozenset[str]

    def judge(self, verdict: Verdict) -> list[str]:
        """What is wrong: the objections that count, and the exceptions that nothing calls for any more."""
        if self.scenario:
            return ["it passes: it is no exception any more"] if verdict.is_pass else []
        objections = [it for it in verdict.objections if not any(check in it for check in self.checks)]
        idle = [it for it in self.checks if not any(it in objection for objection in verdict.objections)]
        nothing = [] if verdict.succeeded else ["no check succeeded"]
        return [*objections, *nothing, *(f"{check} passes: it is no exception any more" for check in idle)]


def exceptions(scenario: str, *ways: Way) -> Exceptions:
    listed = {entry for way in ways for entry in REASONS[way]}
    checks = {entry.removeprefix(f"{scenario}:") for entry in listed if entry.startswith(f"{scenario}:")}
    return Exceptions(scenario in listed, frozenset(checks))
