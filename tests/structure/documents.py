"""The project's Markdown, as the tests read it: fenced blocks, commands, links."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from tests.structure.package import ROOT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

README = ROOT / "README.md"
HISTORY = ROOT / "CHANGELOG.md"
DOCUMENTS = [
    path
    for path in (
        *ROOT.glob("*.md"),
        *sorted((ROOT / ".github").rglob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    )
    if path != HISTORY
]
"""What describes the project as it is. The changelog also tells of what is gone."""

FENCE = re.compile(r"^[ ]*```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PROGRAM = re.compile(r"[\w./-]+\.(?:py|sh)")
IN_A_FOLDER = re.compile(r"([\w.-]+)/[\w./-]*")
CLASS = re.compile(r"_?[A-Z]\w*[a-z]\w*(?:\.\w+)?")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
SECTION_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks(document: Path, language: str) -> list[str]:
    fences = FENCE.finditer(document.read_text(encoding="utf-8"))
    return [fence["body"] for fence in fences if fence["language"] == language]


def commands(document: Path, program: str) -> list[list[str]]:
    """The arguments of each call of a program, in fenced blocks of any language and in the text."""
    text = document.read_text(encoding="utf-8")
    lines = [line for fence in FENCE.finditer(text) for line in fence["body"].splitlines()]
    spans = SPAN.findall(FENCE.sub("", text))
    return list(_calls(program, [*lines, *spans]))


def links(document: Path) -> list[str]:
    """The targets of links to other files of the project."""
    return LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8")))


def section_links(document: Path) -> list[tuple[Path, str]]:
    """The targets of links to a section, each as a file and the section's anchor."""
    found = SECTION_LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8")))
    return [((document.parent / path).resolve() if path else document, anchor) for path, anchor in found]


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCE.sub("", document.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def spans(document: Path) -> list[str]:
    """What stands in backticks in the text, outside of fenced blocks."""
    return SPAN.findall(FENCE.sub("", document.read_text(encoding="utf-8")))


def repository_paths(document: Path) -> list[str]:
    """The paths in backticks that can only mean the repository: programs, and names in one of its folders."""
    folders = {path.name for root in (ROOT, SOURCE) for path in root.iterdir() if path.is_dir()}
    return [
        span
        for span in spans(document)
        if PROGRAM.fullmatch(span) or ((path := IN_A_FOLDER.fullmatch(span)) and path[1] in folders)
    ]


def class_names(document: Path) -> list[str]:
    """The names in backticks that are written like a class, or like a class and one of its members."""
    return [span for span in spans(document) if CLASS.fullmatch(span)]


def _calls(program: str, lines: list[str]) -> Iterator[list[str]]:
    for line in lines:
        call = re.match(rf"\s*(?:\$ )?{program}((?:\s.*)?)$", line)
        if call:
            yield shlex.split(re.split(r"\s(?:[|<>]|&&|2>|# )", call[1])[0], comments=True)
