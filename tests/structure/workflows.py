"""The project's GitHub workflows and Makefile, as the tests read them."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.structure.package import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

Workflow = dict[str, Any]


def workflow(name: str) -> Workflow:
    """A workflow of the project: `ci`."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    read: Workflow = yaml.safe_load(text)
    return read


def steps(name: str) -> list[dict[str, Any]]:
    """All steps of all jobs of a workflow."""
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def commands(job: dict[str, Any]) -> list[str]:
    """What the steps of a job run, line by line."""
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


def targets() -> set[str]:
    """The targets of the Makefile that are for people."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):.* ## ", makefile, re.MULTILINE))


def recipe(target: str) -> list[str]:
    """The lines of a target of the Makefile, with their variables unexpanded."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(rf"^{target}:[^\n]*\n((?:\t[^\n]*\n)+)", makefile, re.MULTILINE)
    assert found is not None, target
    return [line.strip().removeprefix("@") for line in found[1].splitlines()]
