"""The unit tests are chosen by what they are, and run without Node.js."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import unit
from tests.structure.package import ROOT
from tests.structure.workflows import commands, recipe, workflow

if TYPE_CHECKING:
    from pathlib import Path

SCRATCH = """
import subprocess
import pytest
from tests import unit

@pytest.mark.parametrize("program", unit.NODE)
def test_without_node(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (127, "A unit test must not need Node.js.\\n")

@pytest.fixture
def start():
    pass

@pytest.fixture
def connect():
    pass

@pytest.fixture
def connect_modern():
    pass

def test_that_starts_it(start):
    pass

def test_that_connects(connect):
    pass

def test_that_connects_as_a_modern_client(connect_modern):
    pass

@pytest.mark.slow
def test_that_is_slow():
    pass

@pytest.mark.node
def test_that_needs_node():
    pass
"""


def test_node_is_hidden_and_what_is_slow_or_starts_the_workbench_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "test_scratch.py"
    path.write_text(SCRATCH, encoding="utf-8")
    options = ["-p", "tests.unit", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", *options, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "3 passed, 5 deselected" in done.stdout, done.stdout


def test_every_directory_of_unit_tests_has_some() -> None:
    without = [name for name in unit.DIRECTORIES if not list((unit.TESTS / name).rglob("test_*.py"))]
    assert {"config", "structure", "wire"} <= unit.DIRECTORIES
    assert without == []


@pytest.mark.parametrize(
    ("path", "is_ignored"),
    [
        ("wire/test_peer.py", None),
        ("structure", None),
        ("test_errors.py", None),
        ("serve", True),
        ("real/test_servers.py", True),
        ("node", True),
        (".", None),
        ("../src", None),
    ],
)
def test_only_the_directories_of_unit_tests_are_looked_into(path: str, is_ignored: bool | None) -> None:
    assert unit.pytest_ignore_collect((unit.TESTS / path).resolve()) is is_ignored


def test_the_unit_tests_are_chosen_in_one_place() -> None:
    (line,) = recipe("unit")
    (on_windows,) = [line for line in commands(workflow("ci")["jobs"]["windows"]) if "pytest" in line]
    assert "-p tests.unit" in line
    assert on_windows == "python -m pytest -p tests.unit"


def test_the_unit_tests_do_not_install_node_packages() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "unit"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pytest" in done.stdout
    assert "npm" not in done.stdout
