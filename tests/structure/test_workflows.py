"""What runs on the forge: workflows that fit the Makefile, the package and the README, with few rights."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.structure.documents import README
from tests.structure.documents import commands as commands_in
from tests.structure.package import ROOT
from tests.structure.workflows import WORKFLOWS, commands, recipe, steps, targets, workflow

NAMES = [path.stem for path in WORKFLOWS]

each_workflow = pytest.mark.parametrize("name", NAMES)

PINNED = re.compile(r"^[\w./-]+@[0-9a-f]{40}$")

FAULTS = {
    'needs job "tests" which does not exist': (
        "jobs:\n  a:\n    needs: tests\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n"
    ),
    'property "pyton" is not defined': (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n        python: ['3.13']\n"
        "    steps:\n      - run: echo ${{ matrix.pyton }}\n"
    ),
    "SC2086": "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: rm $HOME\n",
}


def classified() -> list[str]:
    """The versions of Python that the package says it is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", name) for name in project["classifiers"]
    )
    return [version[1] for version in found if version]


def linted(text: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What `make lint` says of a workflow."""
    (command,) = [line for line in recipe("lint") if "actionlint" in line]
    path = tmp_path / "workflow.yml"
    path.write_text(f"on: push\n{text}", encoding="utf-8")
    command = command.replace("$(VENV)/bin", str(Path(sys.executable).parent))
    command = command.replace(".github/workflows/*.yml", str(path))
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_in_a_workflow_is_found_by_lint(tmp_path: Path, fault: str) -> None:
    done = linted(FAULTS[fault], tmp_path)
    assert done.returncode == 1
    assert fault in done.stdout


def test_a_workflow_without_a_mistake_passes_lint(tmp_path: Path) -> None:
    done = linted("jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_tests_run_on_every_version_of_python_that_the_package_is_for() -> None:
    assert workflow("ci")["jobs"]["test"]["strategy"]["matrix"]["python"] == classified()


def test_a_release_is_tested_on_the_oldest_and_on_the_newest_version_of_python() -> None:
    ends = [classified()[0], classified()[-1]]
    assert workflow("release")["jobs"]["test"]["strategy"]["matrix"]["python"] == ends


@each_workflow
def test_every_make_target_in_a_workflow_exists(name: str) -> None:
    called = {
        target
        for step in steps(name)
        for target in re.findall(r"^make (\w+)", step.get("run", ""), re.MULTILINE)
    }
    assert called
    assert called - targets() == set()


@each_workflow
def test_every_action_is_pinned_to_a_commit(name: str) -> None:
    used = [step["uses"] for step in steps(name) if "uses" in step]
    assert [action for action in used if not PINNED.match(action)] == []


@each_workflow
def test_no_job_has_rights_that_it_was_not_given_or_runs_for_ever(name: str) -> None:
    read = workflow(name)
    assert read["permissions"] in ({}, {"contents": "read"})
    assert [job for job, what in read["jobs"].items() if "timeout-minutes" not in what] == []


def test_only_the_job_that_publishes_can_publish() -> None:
    rights = {job: what.get("permissions", {}) for job, what in workflow("release")["jobs"].items()}
    assert rights == {
        "build": {"contents": "read"},
        "test": {"contents": "read"},
        "publish": {"id-token": "write"},
        "image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        "release": {"contents": "write"},
    }
    assert workflow("release")["jobs"]["publish"]["environment"] == "pypi"


def test_nothing_is_published_before_the_tag_was_checked_and_the_wheel_tested() -> None:
    jobs = workflow("release")["jobs"]
    assert 'python scripts/release_notes.py "$GITHUB_REF_NAME" > release-notes.md' in commands(jobs["build"])
    needs = {job: what.get("needs") for job, what in jobs.items()}
    assert needs == {
        "build": None,
        "test": "build",
        "publish": "test",
        "image": "test",
        "release": ["publish", "image"],
    }


def test_the_commands_of_the_readme_run_on_a_clean_machine() -> None:
    run = commands(workflow("ci")["jobs"]["quickstart"])
    assert [line for line in run if line.startswith(("make", "uv", "mkdir", "mcp-workbench"))] == [
        "make demo",
        "uv tool install .",
        "mkdir -p ~/notes",
        "mcp-workbench check --connect",
    ]
    assert ["demo"] in commands_in(README, "make")
    assert ["tool", "install", "."] in commands_in(README, "uv")
    assert ["-p", "~/notes"] in commands_in(README, "mkdir")
    assert ["check", "--connect"] in commands_in(README, "mcp-workbench")


def test_the_job_on_windows_may_fail() -> None:
    job = workflow("ci")["jobs"]["windows"]
    assert (job["runs-on"], job["continue-on-error"]) == ("windows-latest", True)
    assert "unsupported, may fail" in job["name"]


def test_before_a_commit_runs_what_lint_runs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (hook,) = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert (hook["entry"], hook["pass_filenames"], hook["always_run"]) == ("make lint", False, True)
    assert "make lint" in commands(workflow("ci")["jobs"]["lint"])


def test_everything_that_is_pinned_is_kept_up_to_date() -> None:
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    watched = {(update["package-ecosystem"], update["directory"]) for update in config["updates"]}
    assert watched == {("github-actions", "/"), ("pip", "/"), ("npm", "/tests/node"), ("docker", "/")}
    assert (ROOT / "constraints.txt").exists()
    assert (ROOT / "tests" / "node" / "package-lock.json").exists()
    assert (ROOT / "Dockerfile").exists()
