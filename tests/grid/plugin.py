"""A plugin of pytest that writes the page of the grid: `-p tests.grid.plugin --grid-page FILE tests/grid`.

The page is written if all went well; of tests that were only collected, that is if each has its cell. A run
of some of the tests alone writes nothing, because cells are missing then.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.grid.page import page
from tests.grid.proofs import proofs_of

if TYPE_CHECKING:
    from tests.grid.proofs import Proofs

PROOFS: pytest.StashKey[Proofs] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--grid-page", type=Path, required=True, help="write docs/compatibility.md here")


def pytest_collection_finish(session: pytest.Session) -> None:
    proofs = proofs_of(session.items)
    if proofs.complaints:
        raise pytest.UsageError("\n".join(proofs.complaints))
    session.config.stash[PROOFS] = proofs


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    proofs = session.config.stash.get(PROOFS, None)
    if exitstatus == pytest.ExitCode.OK and proofs:
        session.config.getoption("grid_page").write_text(page(proofs), encoding="utf-8")
