"""Names that are the same but for their form, and names that are nearly the same."""

from __future__ import annotations

import pytest

from mcp_workbench.workbench.text.similar_names import fold_name, similar_names

NAMES = ["git_status", "git_log", "read_file", "readFile", "🔧"]


@pytest.mark.parametrize("name", ["GIT_STATUS", "git-status", "gitStatus", "Git.Status", "git status"])
def test_case_and_separators_make_no_difference(name: str) -> None:
    assert similar_names(name, NAMES) == ["git_status"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("READ_FILE", ["read_file", "readFile"]),
        ("raed_file", ["read_file", "readFile"]),
        ("GIT_STATSU", ["git_status"]),
        ("something", []),
        ("___", []),
    ],
)
def test_else_similar_names_are_found(name: str, expected: list[str]) -> None:
    assert similar_names(name, NAMES) == expected


def test_a_name_of_nothing_but_separators_stays_as_it_is() -> None:
    assert (fold_name("__"), fold_name("🔧")) == ("__", "🔧")


def test_a_name_of_megabytes_is_not_compared() -> None:
    assert similar_names("git_status" * 100_000, ["git_status" * 100_000]) == []
