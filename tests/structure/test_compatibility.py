"""The page of the grid says what its tests prove, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.grid.features import FEATURES, proves
from tests.grid.page import page
from tests.grid.proofs import Proofs
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "compatibility.md"


def proved(mark: pytest.MarkDecorator | None, **params: object) -> Proofs:
    proofs = Proofs()
    proofs.add("test_it", "test_file.py", [mark.mark] if mark else [], params)
    return proofs


@pytest.mark.slow
def test_the_page_says_what_the_tests_prove(tmp_path: Path) -> None:
    written = tmp_path / "page.md"
    collect = ["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "tests.grid.plugin"]
    command = [sys.executable, *collect, "--grid-page", str(written), "tests/grid"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert PAGE.read_text(encoding="utf-8") == written.read_text(encoding="utf-8"), "run `make grid`"


def test_a_test_without_a_cell_is_found() -> None:
    assert proved(None).complaints == ["test_it proves no cell: mark it with `proves`"]


def test_a_feature_or_a_cell_that_there_is_not_is_found() -> None:
    unknown = proved(proves("no-such-thing"))
    nowhere = proved(proves("parked", server="modern"), client_era="modern")
    assert unknown.complaints[0] == "test_it proves 'no-such-thing', which is no feature"
    assert (
        nowhere.complaints[0] == "test_it proves 'parked' in (modern, modern), where there is no such thing"
    )


def test_a_cell_without_a_test_is_found() -> None:
    proofs = proved(proves("roots", server="legacy", by="reference-server"), client_era="modern")
    assert proofs.complaints == []
    assert len(proofs.missing()) == sum(len(feature.cells) for feature in FEATURES.values()) - 1
    assert "| Roots | n/a | n/a | ✓ | n/a | reference-server | [file](../tests/grid/test_file.py) |" in page(
        proofs
    )
