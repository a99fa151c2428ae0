"""docs/compatibility.md: the words of page.md, and tables of what the tests prove."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.grid.features import ALL, GROUPS

if TYPE_CHECKING:
    from tests.grid.features import Feature
    from tests.grid.proofs import Proof, Proofs

TEMPLATE = Path(__file__).parent / "page.md"
PLACE = "<!-- tables -->"
HEADINGS = ["Feature", *(f"{client} → {server}" for client, server in ALL), "Also with", "Tests"]


def page(proofs: Proofs) -> str:
    tables = [
        f"## {title}\n\n{_table([_row(feature, proofs.by_feature[name]) for name, feature in group.items()])}"
        for title, group in GROUPS.items()
    ]
    return TEMPLATE.read_text(encoding="utf-8").replace(PLACE, "\n\n".join(tables))


def _row(feature: Feature, proof: Proof) -> list[str]:
    marks = ["✓" if cell in proof.cells else "n/a" for cell in ALL]
    files = [
        f"[{name.removeprefix('test_').removesuffix('.py')}](../tests/grid/{name})"
        for name in sorted(proof.files)
    ]
    return [feature.title, *marks, _products(proof.others), ", ".join(files)]


def _products(names: set[str]) -> str:
    """Each once, with the sides on which it stood: `Python SDK (client, server)`."""
    sides: dict[str, list[str]] = {}
    for name in sorted({name for several in names for name in several.split(", ")}):
        product, _, side = name.rpartition(" ")
        sides.setdefault(product or side, []).extend([side] if product else [])
    return ", ".join(f"{product} ({', '.join(on)})" if on else product for product, on in sides.items())


def _table(rows: list[list[str]]) -> str:
    ruler = ["---", *(":-:" for _ in ALL), "---", "---"]
    return "\n".join(f"| {' | '.join(row)} |" for row in [HEADINGS, ruler, *rows])
