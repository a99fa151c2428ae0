"""The notes of a release come from the changelog, and only for the version that the package has."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench import __version__
from scripts.release_notes import NoRelease, notes_of
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CHANGELOG = """\
# Changelog

## [Unreleased]

### Added

- Something to come.

## [1.2.0] - 2026-11-17

### Added

- A [page](docs/page.md), a [site](https://example.org/) and a [part](#here).

## [1.1.0] - 2026-10-01

- Something old.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "mcp_workbench"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""A package."""\n\n__version__ = "1.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nSource = "https://forge.example/it"\n', "utf-8")
    return tmp_path


def test_the_notes_are_the_section_of_the_version_with_links_that_work_elsewhere(project: Path) -> None:
    assert notes_of("v1.2.0", project) == (
        "### Added\n\n- A [page](https://forge.example/it/blob/v1.2.0/docs/page.md), "
        "a [site](https://example.org/) and a [part](#here).\n"
    )


@pytest.mark.parametrize("tag", ["v1.1.0", "v1.3.0", "1.2.0", "v1.2.0rc1", ""])
def test_a_tag_of_another_version_is_refused(project: Path, tag: str) -> None:
    with pytest.raises(NoRelease, match=r"version of the package is 1\.2\.0: tag it v1\.2\.0"):
        notes_of(tag, project)


@pytest.mark.parametrize(
    "heading", ["## [1.2.0]\n", "## [1.2.0] - soon\n", "## [11.2.0] - 2026-11-17\n", "## 1.2.0\n"]
)
def test_a_version_without_dated_notes_is_refused(project: Path, heading: str) -> None:
    changelog = CHANGELOG.replace("## [1.2.0] - 2026-11-17\n", heading)
    (project / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    with pytest.raises(NoRelease, match=r"CHANGELOG\.md has no notes"):
        notes_of("v1.2.0", project)


def test_empty_notes_are_refused(project: Path) -> None:
    empty = "## [1.2.0] - 2026-11-17\n\n## [1.1.0] - 2026-10-01\n"
    (project / "CHANGELOG.md").write_text(empty, encoding="utf-8")
    with pytest.raises(NoRelease, match=r"CHANGELOG\.md has no notes"):
        notes_of("v1.2.0", project)


def test_the_command_says_why_there_is_no_release() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "release_notes.py"), "v0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    refusal = f"The tag is v0.0.0, but the version of the package is {__version__}: tag it v{__version__}.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", refusal)
