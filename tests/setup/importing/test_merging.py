"""Servers of several clients become one where they are the same, and stay apart where they are not."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_workbench.setup.importing.identity import identity_of
from mcp_workbench.setup.importing.merging import Candidate, Fate, KnownServer, Merged, merge, usable_name

GITHUB: dict[str, object] = {"command": "npx", "args": ["-y", "gh"], "env": {"TOKEN": "abc"}}


def candidate(name: str, entry: dict[str, object], ending: str = "cursor", **more: Any) -> Candidate:
    return Candidate(name, entry, identity_of(entry, {}), ending, **more)


def known(name: str, entry: dict[str, object], toolbox: str = "code") -> KnownServer:
    return KnownServer(toolbox, name, entry, identity_of(entry, {}))


def names(merged: Merged) -> list[str]:
    return [newcomer.name for newcomer in merged.newcomers]


def notes(merged: Merged) -> list[tuple[str, ...]]:
    return [fate.notes for fate in merged.fates]


def test_the_same_server_under_two_names_becomes_one() -> None:
    merged = merge([candidate("github", GITHUB), candidate("gh", {**GITHUB, "args": ["gh"]})], [])
    assert names(merged) == ["github"]
    assert merged.fates == [
        Fate(0, is_first=True, notes=()),
        Fate(0, is_first=False, notes=()),
    ]


def test_the_longer_timeout_counts() -> None:
    short, long = {**GITHUB, "timeout": 5, "startupTimeout": 9}, {**GITHUB, "timeout": 30.5}
    (newcomer,) = merge([candidate("a", short), candidate("a", long)], []).newcomers
    assert newcomer.entry == {**GITHUB, "timeout": 30.5, "startupTimeout": 9}


def test_a_server_that_one_client_has_enabled_is_enabled() -> None:
    off = {**GITHUB, "disabled": True}
    merged = merge([candidate("a", off), candidate("a", GITHUB)], [])
    assert [newcomer.entry for newcomer in merged.newcomers] == [GITHUB]
    assert notes(merged) == [("disabled in this client, enabled in another: enabled",), ()]


def test_a_server_that_is_disabled_everywhere_stays_disabled() -> None:
    off = {**GITHUB, "disabled": True}
    merged = merge([candidate("a", off), candidate("a", off)], [])
    assert [newcomer.entry for newcomer in merged.newcomers] == [off]


def test_servers_with_different_limits_stay_apart() -> None:
    limited = {**GITHUB, "toolFilters": ["read_*"]}
    merged = merge([candidate("a", limited), candidate("a", GITHUB, "zed"), candidate("b", limited)], [])
    assert [(one.name, one.entry) for one in merged.newcomers] == [("a", limited), ("a-zed", GITHUB)]
    assert [fate.becomes for fate in merged.fates] == [0, 1, 0]


def test_a_server_that_hides_all_its_tools_is_not_one_that_shows_them() -> None:
    assert (
        len(merge([candidate("a", GITHUB), candidate("a", {**GITHUB, "toolFilters": []})], []).newcomers) == 2
    )


def test_variables_that_only_one_passes_on_keep_two_servers_apart() -> None:
    more = {**GITHUB, "inheritEnv": ["HOME"]}
    assert names(merge([candidate("a", GITHUB), candidate("a", more, "codex")], [])) == ["a", "a-codex"]
    assert names(merge([candidate("a", more)], [known("a", GITHUB)])) == ["a-cursor"]
    assert names(merge([candidate("a", GITHUB)], [known("a", more)])) == []


def test_a_name_with_another_meaning_is_never_overwritten() -> None:
    others = [known("github", {"command": "x"}), known("GitHub-Cursor", {"command": "y"}, "web")]
    mine = [candidate("github", GITHUB), candidate("github", {"command": "z"}, "")]
    assert names(merge(mine, others)) == ["github-2", "github-3"]


def test_a_server_that_the_configuration_has_is_left_as_it_is() -> None:
    there = known("gh", {**GITHUB, "required": True, "timeout": 3})
    merged = merge([candidate("github", GITHUB)], [there])
    assert merged == Merged([], [Fate(there, is_first=False, notes=())])


@pytest.mark.parametrize(
    ("client", "file", "note"),
    [
        ({"toolFilters": ["a"]}, {}, 'the client limits its tools more than code/gh does: see "toolFilters"'),
        ({}, {"disabled": True}, "code/gh is disabled: mcp-workbench enable gh"),
        ({"disabled": True}, {}, "the client has it disabled, and code/gh is enabled"),
    ],
)
def test_it_says_where_the_configuration_differs(
    client: dict[str, object], file: dict[str, object], note: str
) -> None:
    merged = merge([candidate("gh", {**GITHUB, **client})], [known("gh", {**GITHUB, **file})])
    assert (merged.newcomers, notes(merged)) == ([], [(note,)])


def test_of_two_with_different_limits_the_configuration_recognises_each() -> None:
    limited = {**GITHUB, "toolFilters": ["a"]}
    there = [known("gh", GITHUB), known("gh-zed", limited)]
    merged = merge([candidate("gh", limited, "zed"), candidate("gh", GITHUB)], there)
    assert [fate.becomes for fate in merged.fates] == [there[1], there[0]]
    assert notes(merged) == [(), ()]


def test_a_server_whose_secret_is_lost_is_recognised_by_its_name() -> None:
    lost = {**GITHUB, "env": {"TOKEN": "${keyring:GH_TOKEN}"}}
    assert names(merge([candidate("gh", GITHUB)], [known("gh", lost)])) == []
    assert names(merge([candidate("other", GITHUB)], [known("gh", lost)])) == ["other"]
    assert names(merge([candidate("gh", {**GITHUB, "cwd": "/"})], [known("gh", lost)])) == ["gh-cursor"]


def test_the_entry_with_the_fewest_literal_secrets_is_taken() -> None:
    by_reference = {**GITHUB, "env": {"TOKEN": "${TOKEN}"}}
    same = identity_of(GITHUB, {})
    both = [Candidate("a", GITHUB, same, "", secrets=1), Candidate("b", by_reference, same, "")]
    assert [(one.name, one.entry) for one in merge(both, []).newcomers] == [("a", by_reference)]


def test_a_server_that_a_client_has_for_all_projects_is_of_no_project() -> None:
    both = [candidate("a", GITHUB, project="shop"), candidate("a", GITHUB)]
    assert [one.project for one in merge(both, []).newcomers] == [""]
    assert [one.project for one in merge(both[:1], []).newcomers] == ["shop"]


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("github.com/modelcontextprotocol/servers/tree/main/src/github", "github"),
        ("My Server", "My Server"),
        ("a\x1b[31m\nb\u202e", "a b"),
        ("${HOME}", "HOME}"),
        ("///", "server"),
        ("with-s3cr3t", "server"),
        ("ghp_AbCdEfGhIjKlMnOpQrStUvWx", "server"),
        ("x" * 100, "x" * 64),
    ],
)
def test_a_name_is_one_that_people_can_write(name: str, usable: str) -> None:
    assert usable_name(name, ["s3cr3t"]) == usable
