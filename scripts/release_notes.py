"""Prints the notes of a release: the section of its version in CHANGELOG.md.

Called with the tag of the release. A tag that does not fit the version of the package, or a version without
notes, is an error: then there must be no release.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
RELATIVE_LINK = re.compile(r"\]\((?!\w+:|#)(?=[^)\s]+\))")


class NoRelease(Exception):
    """What the tag asks for cannot be released."""


def notes_of(tag: str, root: Path = ROOT) -> str:
    """The notes of the version that the tag names, with links that work outside the repository."""
    version = _version_of_the_package(root)
    if tag != f"v{version}":
        raise NoRelease(f"The tag is {tag}, but the version of the package is {version}: tag it v{version}.")
    notes = _section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not notes:
        raise NoRelease(f"CHANGELOG.md has no notes under a heading '## [{version}] - <date>'.")
    return RELATIVE_LINK.sub(f"]({_address(root)}/blob/{tag}/", notes) + "\n"


def _version_of_the_package(root: Path) -> str:
    found = VERSION.search((root / "src" / "mcp_workbench" / "__init__.py").read_text(encoding="utf-8"))
    if found is None:
        raise NoRelease("src/mcp_workbench/__init__.py does not say __version__.")
    return found[1]


def _section(changelog: str, version: str) -> str:
    """What is written under the heading of a version, up to the next heading of its kind."""
    heading = re.compile(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", re.MULTILINE)
    found = heading.search(changelog)
    return (
        re.split(r"^## ", changelog[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()
        if found
        else ""
    )


def _address(root: Path) -> str:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str = project["urls"]["Source"]
    return address


def main() -> None:
    """Prints the notes, or says why there is no release."""
    try:
        sys.stdout.write(notes_of(sys.argv[1]))
    except NoRelease as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
