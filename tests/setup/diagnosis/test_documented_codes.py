"""The page about `doctor` lists every code with its severity, and no other."""

from __future__ import annotations

import re

import pytest

from mcp_workbench.downstream.diagnosis import CAUSES
from mcp_workbench.setup.diagnosis.findings import CODES, FindingCode
from tests.structure.package import ROOT

PAGE = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
OWN = re.compile(r"^\| `([\w-]+)` \| (problem|warning|note) \| (.+?) \| (.+?) \|$", re.MULTILINE)
CAUSE = re.compile(r"`([a-z]+(?:-[a-z]+)*)`")


def test_the_page_has_the_table_of_codes() -> None:
    written = {code: FindingCode(*cells) for code, *cells in OWN.findall(PAGE)}
    assert written == CODES
    assert len(OWN.findall(PAGE)) == len(CODES)


def test_the_page_has_the_causes_of_failed_starts() -> None:
    section = PAGE.partition("### Causes of failed starts")[2].partition("\n## ")[0]
    assert CAUSE.findall(section) == [*CAUSES]


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_in_kebab_case_and_explained_in_sentences(code: str) -> None:
    kind = CODES[code]
    assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", code)
    assert kind.meaning.endswith(".")
    assert kind.mending


def test_a_code_that_is_also_a_cause_means_the_same() -> None:
    assert CODES.keys() & CAUSES.keys() == {
        "program-missing",
        "arguments-in-command",
        "sandbox-unavailable",
    }
