"""`toolFilters`: which tool names pass."""

from __future__ import annotations

import fnmatch
import time

import pytest

from mcp_workbench.workbench.filters import compile_filters

FILE_TOOLS = ("read_file", "read_tree", "write_file", "delete_file", "delete_tree")


def passing(patterns: list[str], names: tuple[str, ...] = FILE_TOOLS) -> list[str]:
    return list(filter(compile_filters(patterns), names))


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*"], list(FILE_TOOLS)),
        (["read_file"], ["read_file"]),
        (["read_file", "delete_tree", "no_such_tool"], ["read_file", "delete_tree"]),
        (["read_*"], ["read_file", "read_tree"]),
        (["*_file", "read_tree"], ["read_file", "read_tree", "write_file", "delete_file"]),
        (["????_file"], ["read_file"]),
        (["[rw]*_file"], ["read_file", "write_file"]),
        (["!delete_*"], ["read_file", "read_tree", "write_file"]),
        (["!delete_file", "!read_tree"], ["read_file", "write_file", "delete_tree"]),
        (["*_tree", "!delete_*"], ["read_tree"]),
        (["!delete_*", "*_tree"], ["read_tree"]),
        (["*", "!*"], []),
        (["!*"], []),
        ([], []),
    ],
)
def test_a_tool_passes_if_something_names_it_and_nothing_excludes_it(
    patterns: list[str], expected: list[str]
) -> None:
    assert passing(patterns) == expected


def test_an_exact_name_wins_over_its_meaning_as_a_glob() -> None:
    names = ("a[b]", "ab", "what?", "whats", "x*", "xyz")

    assert passing(["a[b]"], names) == ["a[b]", "ab"]
    assert passing(["!a[b]", "!what?"], names) == ["x*", "xyz"]
    assert passing(["x*"], names) == ["x*", "xyz"]


def test_names_are_compared_with_their_case_and_whole() -> None:
    names = ("Read", "read", "reader", "read\n", "a/read", "läsa 📖")

    assert passing(["read"], names) == ["read"]
    assert passing(["re[!x]d"], names) == ["read"]
    assert passing(["*read"], names) == ["read", "a/read"]
    assert passing(["* 📖"], names) == ["läsa 📖"]


@pytest.mark.parametrize(
    "pattern", ["[", "[]", "[!]", "[z-a]", "a[", "[[]*", "(", "\\", "**", "+?", ".*", "|"]
)
def test_odd_patterns_mean_what_fnmatch_says_they_mean(pattern: str) -> None:
    names = ("[", "[]", "[!]", "a", "a[", "[x", "(", "\\", "+a", ".b", "|", "")

    expected = [name for name in names if name == pattern or fnmatch.fnmatchcase(name, pattern)]

    assert passing([pattern], names) == expected


def test_five_thousand_names_are_filtered_in_no_time() -> None:
    names = tuple(f"tool_{number}" for number in range(5_000))
    patterns = [*names[:2_500], "*t*o*o*l*_*99?", "!*7"]

    started = time.perf_counter()
    passed = passing(patterns, names)
    took = time.perf_counter() - started

    expected = [
        name
        for number, name in enumerate(names)
        if (number < 2_500 or number // 10 % 100 == 99) and number % 10 != 7
    ]
    assert (passed, took < 1) == (expected, True)
