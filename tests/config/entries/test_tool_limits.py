"""What limits the tools of a server in any client is honoured or refused, and never widened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config.entries.dialects import AMP, ANY, GEMINI, SECONDS, Dialect
from mcp_workbench.config.entries.translate import translate
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.workbench.filters import compile_filters
from tests.config.loading import load_server, one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ["read", "write", "delete", "list_a", "list_b"]
FS = "toolboxes.dev.mcpServers.fs"

ALLOW = [
    *("enabled_tools", "enabledTools", "includeTools", "include_tools"),
    *("allowedTools", "allowed_tools", "available_tools", "tools"),
]
DENY = ["disabled_tools", "disabledTools", "excludeTools", "excludedTools", "exclude_tools", "excluded_tools"]


def shown(keys: dict[str, object], dialect: Dialect = ANY, tools: list[str] = TOOLS) -> list[str]:
    """The tools that an entry shows after its translation."""
    found = Problems()
    entry: Any = translate({"command": "x", **keys}, (), found, dialect)
    assert found.found == []
    return list(filter(compile_filters(entry.get("toolFilters", ["*"])), tools))


@pytest.mark.parametrize("key", ALLOW)
def test_an_allow_list_shows_what_it_names(key: str) -> None:
    assert shown({key: ["read", "unknown"]}) == ["read"]


@pytest.mark.parametrize("key", DENY)
def test_a_deny_list_hides_what_it_names(key: str) -> None:
    assert shown({key: ["write", "delete"]}) == ["read", "list_a", "list_b"]


@pytest.mark.parametrize("key", [key for key in ALLOW if key != "available_tools"])
def test_an_empty_allow_list_shows_nothing(key: str) -> None:
    assert shown({key: []}) == []
    assert shown({key: [], "disabledTools": ["write"]}) == []


def test_lists_that_mean_everything_show_everything() -> None:
    assert shown({"available_tools": []}) == TOOLS
    assert shown({"tools": ["*"]}) == TOOLS
    assert shown({"disabledTools": []}) == TOOLS
    assert shown({"enabledTools": None, "tools": {}}) == TOOLS


@pytest.mark.parametrize("allow", ALLOW)
@pytest.mark.parametrize("deny", DENY)
def test_exclusion_wins_over_inclusion(allow: str, deny: str) -> None:
    assert shown({allow: ["read", "write"], deny: ["write"]}) == ["read"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["*"], ["read", "write"]),
        (["!read"], ["write"]),
        (["read", "list_a"], ["read"]),
        (["list_*"], []),
        (["*r*", "!write"], ["read"]),
        ([], []),
    ],
)
def test_a_list_and_our_own_filters_show_what_both_show(filters: list[str], expected: list[str]) -> None:
    assert shown({"toolFilters": filters, "enabledTools": ["read", "write"]}) == expected


def test_two_allow_lists_show_what_both_show() -> None:
    assert shown({"includeTools": ["read", "write"], "allowedTools": ["write", "delete"]}) == ["write"]


def test_globs_on_both_sides_are_refused() -> None:
    found = Problems()
    translate({"command": "x", "toolFilters": ["l*"], "includeTools": ["*a"]}, (), found, AMP)
    assert [problem.where for problem in found.found] == ["includeTools"]


def test_settings_per_tool_hide_those_that_are_off() -> None:
    tools = {"read": {"approval_mode": "approve"}, "write": {"enabled": False}, "delete": False}
    assert shown({"tools": tools}) == ["read", "list_a", "list_b"]


@pytest.mark.parametrize("name", ["list_*", "list_?", "list_[ab]"])
def test_a_name_with_the_letters_of_a_glob_shows_no_more_than_itself(name: str) -> None:
    assert shown({"enabledTools": [name, "read"]}, SECONDS, [*TOOLS, name]) == ["read", name]


def test_a_glob_of_a_client_that_has_globs_stays_one() -> None:
    assert shown({"includeTools": ["list_*"]}, AMP) == ["list_a", "list_b"]


def test_a_tool_with_arguments_is_the_tool_for_the_client_that_writes_them() -> None:
    assert shown({"includeTools": ["read(path)", "list_a"], "excludeTools": ["list_a(x)"]}, GEMINI) == [
        "read"
    ]


def test_a_hidden_name_with_an_exclamation_mark_stays_hidden() -> None:
    assert shown({"disabledTools": ["!read"]}, tools=["!read", "read"]) == ["read"]


MALFORMED: list[Any] = ["read", {"read": "no"}, 1, True, [1], ["read", None], [["read"]]]


@pytest.mark.parametrize("key", [*ALLOW, *DENY])
@pytest.mark.parametrize("value", MALFORMED)
def test_a_limit_that_cannot_be_understood_is_refused(tmp_path: Path, key: str, value: object) -> None:
    (problem,) = problems(tmp_path, one_server({"command": "x", key: value}))
    assert problem.where.startswith(f"{FS}.{key}")
    assert "toolFilters" in problem.remedy


@pytest.mark.parametrize(
    "entry",
    [
        {"includeTools": ["list_*"]},
        {"enabledTools": ["!read"]},
        {"tools": {"read": True}},
        {"tools": {"read": {"enabled": "no"}}},
        {"tools": {"read": {"allowedPaths": ["/srv"]}}},
        {"sandbox": {"filesystem": {"allowWrite": ["/srv"]}}},
        {"sandboxEnabled": True},
        {"readOnly": True},
        {"readonly": False},
        {"permissions": {"write": "deny"}},
        {"allowedDirectories": ["/srv"]},
        {"blockedHosts": []},
        {"denyList": []},
        {"tool_whitelist": ["read"]},
        {"toolAllowlist": ["read"]},
        {"excludePatterns": ["x"]},
        {"restrictTo": "me"},
        {"only": ["read"]},
        {"policy": "strict"},
        {"enabledToolsets": ["a"]},
        {"enabled": "false"},
        {"isActive": 0},
        {"env_vars": ["GITHUB_*"]},
        {"env_vars": "GITHUB_TOKEN x"},
        {"env_keys": [1]},
    ],
)
def test_another_limit_is_refused_and_not_ignored(tmp_path: Path, entry: dict[str, object]) -> None:
    (problem,) = problems(tmp_path, one_server({"command": "x", **entry}))
    assert problem.where.startswith(f"{FS}.{next(iter(entry))}")
    assert problem.remedy


@pytest.mark.parametrize("entry", [{"sandboxEnabled": False}, {"sandbox": None}])
def test_a_sandbox_that_is_off_limits_nothing(tmp_path: Path, entry: dict[str, object]) -> None:
    assert load_server(tmp_path, {"command": "x", **entry}).command == "x"


@pytest.mark.parametrize(
    ("keys", "is_disabled"),
    [
        ({"enabled": False}, True),
        ({"isActive": False}, True),
        ({"disabled": True}, True),
        ({"enabled": True, "disabled": True}, True),
        ({"enabled": False, "disabled": False}, True),
        ({"isActive": True, "enabled": False}, True),
        ({"enabled": True}, False),
        ({"isActive": True, "disabled": False}, False),
        ({"enabled": None}, False),
    ],
)
def test_a_server_that_is_off_anywhere_is_off(
    tmp_path: Path, keys: dict[str, object], is_disabled: bool
) -> None:
    assert load_server(tmp_path, {"command": "x", **keys}).disabled is is_disabled
