"""The map of the code is true: what `docs/architecture.md` and `AGENTS.md` name exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.structure.documents import spans
from tests.structure.package import ROOT, SOURCE
from tests.structure.test_layers import ASIDE, LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = ROOT / "docs" / "architecture.md"
AGENTS = ROOT / "AGENTS.md"

REFERENCE = re.compile(r"(?P<path>[\w./-]*\.py)?::(?P<name>[\w.]+)")
"""`wire/peer.py::Peer.receive`; or `::Peer.start`, in the file that was named last."""

SECTION = r"^## {}\n(.*?)(?=^## |\Z)"
FIRST_CELL = re.compile(r"^\| `([\w./]+)`", re.MULTILINE)
MAX_LINES_FOR_AGENTS = 80


def references(document: Path) -> list[tuple[str, str]]:
    """The names in a document that stand for a place in the code, each with its file."""
    found = []
    path = ""
    for span in spans(document):
        if reference := REFERENCE.fullmatch(span):
            path = reference["path"] or path
            found.append((path, reference["name"]))
    return found


def missing(document: Path) -> list[str]:
    """The places in the code that a document names and that do not exist."""
    return [f"{path}::{name}" for path, name in references(document) if name not in names_in(path)]


@cache
def names_in(path: str) -> frozenset[str]:
    """What a file of the repository defines: functions, classes, their members and constants."""
    found = next((root / path for root in (SOURCE, ROOT) if path and (root / path).is_file()), None)
    if found is None:
        return frozenset()
    return frozenset(_defined(ast.parse(found.read_text(encoding="utf-8")).body))


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{member}" for member in {*_defined(node.body), *_attributes(node)})
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _attributes(owner: ast.ClassDef) -> Iterator[str]:
    """What the methods of a class assign to `self`."""
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def section(document: Path, heading: str) -> str:
    text = document.read_text(encoding="utf-8")
    found = re.search(SECTION.format(re.escape(heading)), text, re.MULTILINE | re.DOTALL)
    assert found, f"{document.name} has no section {heading!r}"
    return found[1]


@pytest.mark.parametrize("document", [PAGE, AGENTS], ids=lambda path: path.name)
def test_every_place_in_the_code_that_is_named_exists(document: Path) -> None:
    assert references(document)
    assert missing(document) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "wire/peers.py::Peer",
        "wire/peer.py::Peer.recieve",
        "wire/peer.py::receive",
        "wire/peer.py::Session.call",
        "::Peer",
    ],
)
def test_a_place_that_does_not_exist_is_found(tmp_path: Path, wrong: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"A line goes to `{wrong}`.", encoding="utf-8")
    assert missing(page) == [wrong]


def test_a_name_alone_is_looked_for_in_the_file_that_was_named_last(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`wire/peer.py::Peer.receive`, then `::Peer.is_full`; `config/load.py::STATE_KEY` and `::Peer`.",
        encoding="utf-8",
    )
    assert references(page)[1] == ("wire/peer.py", "Peer.is_full")
    assert missing(page) == ["config/load.py::Peer"]


def test_the_layers_are_those_of_the_code() -> None:
    table = FIRST_CELL.findall(section(PAGE, "The layers"))
    assert table == [*LAYERS, *ASIDE]


def test_the_picture_shows_every_layer_from_the_top_down() -> None:
    (picture,) = re.findall(r"^```text\n(.*?)^```", section(PAGE, "The picture"), re.MULTILINE | re.DOTALL)
    drawn = re.findall(r"^ *│ (\w+)  ", picture, re.MULTILINE)
    assert drawn == [layer for layer in LAYERS if layer != "__main__"]


def test_the_tests_of_every_folder_are_explained() -> None:
    explained = set(re.findall(r"`tests/(\w+)", section(PAGE, "Which tests prove which part")))
    folders = {package.parent.name for package in ROOT.glob("tests/*/__init__.py")}
    assert folders - explained == set()


def test_the_page_for_agents_is_short_and_the_only_one() -> None:
    lines = AGENTS.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES_FOR_AGENTS
    assert (ROOT / "CLAUDE.md").read_text(encoding="utf-8").startswith("@AGENTS.md\n")
