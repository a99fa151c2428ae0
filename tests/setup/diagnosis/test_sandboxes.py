"""A server that could undo its own sandbox is found, by each path that lets it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mcp_workbench
from mcp_workbench.storage.directories import data_directory
from tests.setup.diagnosis.clinic import PINNED, Clinic

if TYPE_CHECKING:
    from mcp_workbench.setup.diagnosis.findings import Finding

FILE, PROGRAM, DATA = "the configuration file", "the program of the workbench", "the data of the workbench"
PACKAGE = Path(mcp_workbench.__file__).parent


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return Clinic(tmp_path)


async def undoable(clinic: Clinic, *paths: Path | str) -> list[Finding]:
    clinic.write({"it": {**PINNED, "sandbox": {"write": [*map(str, paths)]}}})
    return [one for one in await clinic.findings() if one.code == "sandbox-undoable"]


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("{config}", FILE),
        ("{home}", f"{FILE} and {DATA}"),
        ("{data}", DATA),
        ("{data}/pins", DATA),
        (str(PACKAGE), PROGRAM),
        (str(PACKAGE / "wire"), PROGRAM),
        (sys.prefix, PROGRAM),
        # A directory in a virtual environment, as the tests have it.
        (str(Path(sys.prefix, "lib")), PROGRAM),
        (sys.executable, PROGRAM),
        (os.path.realpath(sys.executable), PROGRAM),
        ("/", f"{FILE} and {PROGRAM} and {DATA}"),
    ],
)
async def test_a_path_that_lets_a_server_undo_its_sandbox_is_named(
    clinic: Clinic, path: str, covered: str
) -> None:
    data = data_directory(clinic.environ)
    path = path.format(config=clinic.config, home=clinic.home, data=data)
    (finding,) = await undoable(clinic, clinic.bin, path)
    assert (finding.severity, finding.servers) == ("warning", ("dev/it",))
    assert f"dev/it can write to {path}, and so to {covered}." in finding.message
    assert finding.line is not None
    assert path in clinic.config.read_text(encoding="utf-8").splitlines()[finding.line - 1]
    assert finding.command == f"${{EDITOR:-vi}} +{finding.line} {clinic.config}"


async def test_links_on_the_way_count(clinic: Clinic) -> None:
    links = clinic.home / "links"
    links.mkdir()
    moved = clinic.config.rename(clinic.home / "moved.json")
    clinic.config.symlink_to(links / "config.json")
    (links / "config.json").symlink_to(moved)
    (clinic.home / "alias").symlink_to(links)
    (finding,) = await undoable(clinic, clinic.home / "alias")
    assert FILE in finding.message


async def test_other_directories_are_no_finding(clinic: Clinic) -> None:
    (clinic.home / "notes").mkdir()
    assert await undoable(clinic, clinic.home / "notes", clinic.bin) == []
