"""Chooses the unit tests: `python -m pytest -p tests.unit`, or `make unit`.

They are the tests of all layers of the package but the uppermost, each in the directory named after its
layer, and those of the project's structure. They are quick, and need Python only: Node.js is hidden from
them. What starts the workbench as a process of its own, and what is marked `slow` or `node`, is left to
`make test`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "mcp_workbench"

UPPERMOST = {"cli", "demo", "library", "serve"}
"""Layers whose tests run whole commands or web servers."""

DIRECTORIES = {"structure", *(path.parent.name for path in PACKAGE.glob("*/__init__.py"))} - UPPERMOST

STARTS_THE_WORKBENCH = {"start", "connect", "connect_modern", "shared_connections"}
"""Fixtures that do."""

LEFT_OUT = ("slow", "node")
"""Markers of what is left to `make test`."""

NODE = ("node", "npm", "npx")

REFUSAL = "#!/bin/sh\necho 'A unit test must not need Node.js.' >&2\nexit 127\n"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Whether a file or directory has none of the unit tests."""
    if TESTS not in collection_path.parents:
        return None
    top, *below = collection_path.relative_to(TESTS).parts
    is_of_the_whole = not below and top.endswith(".py")
    return None if is_of_the_whole or top in DIRECTORIES else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is slow or needs Node.js."""
    left_out = [item for item in items if _is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not _is_left_out(item)]


def _is_left_out(item: pytest.Item) -> bool:
    fixtures: Sequence[str] = getattr(item, "fixturenames", ())
    is_marked = any(item.get_closest_marker(marker) for marker in LEFT_OUT)
    return is_marked or not STARTS_THE_WORKBENCH.isdisjoint(fixtures)


@pytest.fixture(scope="session", autouse=True)
def without_node() -> Iterator[None]:
    """Puts programs before those of Node.js that fail."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        for name in NODE:
            program = Path(directory) / name
            program.write_text(REFUSAL, encoding="utf-8")
            program.chmod(0o755)
        patch.setenv("PATH", directory, prepend=os.pathsep)
        yield
