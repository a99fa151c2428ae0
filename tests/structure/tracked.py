"""The files of the project, those that are not committed yet included, as git knows them."""

from __future__ import annotations

import subprocess

import pytest

from tests.structure.package import ROOT

in_a_clone = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="only a clone knows which files are the project's"
)


def project_texts() -> dict[str, str]:
    """The text of every file that git does not ignore, by its path in the project."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    paths = {name: ROOT / name for name in listed if name}
    return {name: path.read_text("utf-8", "replace") for name, path in paths.items() if path.is_file()}
