"""The project's Markdown, as the tests read it: fenced blocks, commands, links."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from tests.structure.package import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^[ ]*```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


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


def _calls(program: str, lines: list[str]) -> Iterator[list[str]]:
    for line in lines:
        call = re.match(rf"\s*(?:\$ )?{program}((?:\s.*)?)$", line)
        if call:
            yield shlex.split(re.split(r"\s(?:[|>]|&&|2>|# )", call[1])[0], comments=True)
