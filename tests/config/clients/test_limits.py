"""Limits that a client has outside of the entries are honoured or refused when a server is imported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.config.clients.places import make_place

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config.clients import Converted

PATHS = {
    "gemini-cli": ("~/.gemini/settings.json", "mcpServers"),
    "opencode": ("~/.config/opencode/opencode.json", "mcp"),
    "amazon-q": ("~/.aws/amazonq/agents/default.json", "mcpServers"),
    "amp": ("~/.config/amp/settings.json", "amp.mcpServers"),
    "zed": ("~/.config/zed/settings.json", "context_servers"),
    "claude-code": ("~/.claude.json", "mcpServers"),
}


def converted(root: Path, client: str, beside: dict[str, Any], name: str = "git") -> Converted:
    """The server of a client, with these keys beside its servers."""
    place = make_place(root)
    path, key = PATHS[client]
    place.put(path, json.dumps({key: {name: {"command": "git-server"}}, **beside}))
    return place.converted(client)[name]


@pytest.mark.parametrize(
    ("client", "beside"),
    [
        ("gemini-cli", {"mcp": {"allowed": ["other"]}}),
        ("gemini-cli", {"mcp": {"allowed": []}}),
        ("gemini-cli", {"mcp": {"allowed": ["git"], "excluded": ["git"]}}),
        ("gemini-cli", {"allowMCPServers": ["other"]}),
        ("gemini-cli", {"excludeMCPServers": ["git"]}),
        ("amazon-q", {"tools": ["read", "@other"]}),
        ("amp", {"amp.mcpPermissions": [{"matches": {"command": "git*"}, "action": "reject"}]}),
        ("amp", {"amp.tools.disable": ["mcp__*"]}),
        ("zed", {"agent": {"profiles": {"write": {"enable_all_context_servers": False}}}}),
        ("claude-code", {"projects": {"PROJECT": {"disabledMcpServers": ["git"]}}}),
    ],
)
def test_a_server_that_the_client_does_not_start_is_disabled(
    tmp_path: Path, client: str, beside: dict[str, Any]
) -> None:
    result = converted(tmp_path, client, beside)
    assert (result.entry, result.refusals) == ({"command": "git-server", "disabled": True}, ())
    assert len(result.notes) == 1


@pytest.mark.parametrize(
    ("client", "beside", "filters"),
    [
        ("gemini-cli", {"mcp": {"allowed": ["git"]}}, None),
        ("gemini-cli", {"tools": {"exclude": ["mcp__git__push", "mcp_git_reset"]}}, ["!push", "!reset"]),
        ("opencode", {"tools": {"bash": False, "git*": True, "other_*": False}}, None),
        ("opencode", {"tools": {"git_*": False}}, []),
        ("opencode", {"tools": {"*": False}}, []),
        ("opencode", {"tools": {"git_push*": False, "git_reset": False}}, ["!push*", "!reset"]),
        (
            "opencode",
            {"permission": {"git_push": "deny", "git_log": "ask", "edit": {"*": "deny"}}},
            ["!push"],
        ),
        ("opencode", {"permission": "deny"}, []),
        ("amazon-q", {"tools": ["*"]}, None),
        ("amazon-q", {"tools": ["@git"]}, None),
        ("amazon-q", {"tools": ["@git/log", "@git/show", "@other/push"]}, ["log", "show"]),
        ("amazon-q", {}, None),
        ("amp", {"amp.mcpPermissions": [{"matches": {"command": "*"}, "action": "allow"}]}, None),
        ("amp", {"amp.tools.disable": ["mcp__git__push", "log", "builtin:x"]}, ["!push", "!log"]),
        (
            "zed",
            {"agent": {"profiles": {"write": {"context_servers": {"git": {"tools": {"a": False}}}}}}},
            ["!a"],
        ),
    ],
)
def test_a_server_shows_the_tools_that_the_client_shows(
    tmp_path: Path, client: str, beside: dict[str, Any], filters: list[str] | None
) -> None:
    result = converted(tmp_path, client, beside)
    expected = {} if filters is None else {"toolFilters": filters}
    assert (result.entry, result.refusals) == ({"command": "git-server", **expected}, ())


@pytest.mark.parametrize(
    ("client", "beside"),
    [
        ("gemini-cli", {"mcp": {"allowed": "git"}}),
        ("gemini-cli", {"excludeTools": [1]}),
        ("opencode", {"tools": {"*_push": False}}),
        ("opencode", {"tools": {"git_*": False, "git_log": True}}),
        ("amazon-q", {"tools": ["@git/read_*"]}),
        ("amp", {"amp.mcpPermissions": ["no"]}),
        ("amp", {"amp.tools.disable": "all"}),
        ("claude-code", {"projects": {"PROJECT": {"disabledMcpServers": "git"}}}),
    ],
)
def test_a_limit_that_filters_cannot_say_is_a_refusal(
    tmp_path: Path, client: str, beside: dict[str, Any]
) -> None:
    assert len(converted(tmp_path, client, beside).refusals) == 1


@pytest.mark.parametrize(
    ("settings", "is_disabled"),
    [
        ({}, False),
        ({"disabledMcpjsonServers": ["git"]}, True),
        ({"enabledMcpjsonServers": ["git"]}, False),
        ({"enabledMcpjsonServers": ["other"]}, True),
        ({"enabledMcpjsonServers": ["other"], "enableAllProjectMcpServers": True}, False),
        ({"permissions": {"deny": ["mcp__git"]}}, True),
        ({"permissions": {"deny": ["mcp__other", "Bash(rm)"]}}, False),
    ],
)
def test_the_approvals_of_claude_code_hold_for_the_servers_of_a_project(
    tmp_path: Path, settings: dict[str, Any], is_disabled: bool
) -> None:
    place = make_place(tmp_path)
    place.put(".mcp.json", '{"mcpServers": {"git": {"command": "x"}}}')
    place.put(".claude/settings.local.json", json.dumps(settings))
    assert place.converted("claude-code")["git"].entry.get("disabled", False) is is_disabled


def test_a_tool_that_claude_code_denies_is_hidden(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put("~/.claude.json", '{"mcpServers": {"git": {"command": "x"}}}')
    place.put("~/.claude/settings.json", '{"permissions": {"deny": ["mcp__git__push"]}}')
    assert place.converted("claude-code")["git"].entry == {"command": "x", "toolFilters": ["!push"]}


def test_limits_in_and_beside_an_entry_hold_together(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    entry = {"command": "x", "includeTools": ["log", "push"]}
    tree = {"mcpServers": {"git": entry}, "excludeTools": ["git__push"]}
    place.put("~/.gemini/settings.json", json.dumps(tree))
    assert place.converted("gemini-cli")["git"].entry["toolFilters"] == ["log", "push", "!push"]
