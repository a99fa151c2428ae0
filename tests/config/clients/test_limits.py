"""Limits that a client has outside of the entries are honoured or refused when a server is imported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config.clients import convert, read_file
from tests.config.clients.places import client_of, make_place

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
        ("amp", {"amp.tools.enable": ["Read", "mcp__other__*"]}),
        ("zed", {"agent": {"profiles": {"write": {"enable_all_context_servers": False}}}}),
        ("zed", {"agent": {"default_profile": "ask"}}),
        ("zed", {"agent": {"default_profile": "mine", "profiles": {"mine": {"tools": {"fetch": True}}}}}),
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
        ("amp", {"amp.tools.enable": ["mcp__git__*", "Read"]}, None),
        ("amp", {"amp.tools.enable": ["mcp__git__log*"], "amp.tools.disable": ["x"]}, ["log*", "!x"]),
        ("amp", {"amp.permissions": [{"tool": "mcp__git__push", "action": "reject"}]}, ["!push"]),
        ("amp", {"amp.permissions": [{"tool": "mcp__git__*", "action": "ask"}]}, None),
        ("opencode", {"permission": {"git_push": {"*": "deny"}}}, ["!push"]),
        (
            "zed",
            {"agent": {"profiles": {"write": {"context_servers": {"git": {"tools": {"a": False}}}}}}},
            ["!a"],
        ),
        (
            "zed",
            {
                "agent": {
                    "default_profile": "mine",
                    "profiles": {"mine": {"context_servers": {"git": {"tools": {"a": True, "b": True}}}}},
                    "tool_permissions": {"tools": {"mcp:git:b": {"default": "deny"}}},
                }
            },
            ["a", "b", "!b"],
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
        ("amp", {"amp.mcpPermissions": {"git": "reject"}}),
        ("amp", {"amp.tools.disable": "all"}),
        ("amp", {"amp.tools.disable": ["mcp__*__push"]}),
        (
            "amp",
            {"amp.permissions": [{"tool": "mcp__git__push", "action": "reject", "matches": {"to": "x"}}]},
        ),
        (
            "amp",
            {
                "amp.permissions": [
                    {"tool": "mcp__git__log", "action": "allow"},
                    {"tool": "mcp__*", "action": "reject"},
                ]
            },
        ),
        ("opencode", {"permission": {"git_push": {"main": "deny"}}}),
        ("zed", {"agent": {"tool_permissions": {"default": "deny"}}}),
        (
            "zed",
            {"agent": {"tool_permissions": {"tools": {"mcp:git:a": {"always_deny": [{"pattern": "x"}]}}}}},
        ),
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


@pytest.mark.parametrize(
    ("rule", "entry"),
    [
        ("mcp__my_server__push", {"toolFilters": ["!push"]}),
        ("mcp__my_server__push_*", {"toolFilters": ["!push_*"]}),
        ("mcp__my_server", {"disabled": True}),
        ("mcp__my*", {"disabled": True}),
        ("mcp__other__push", {}),
    ],
)
def test_claude_code_denies_the_tools_of_a_server_by_a_name_without_spaces(
    tmp_path: Path, rule: str, entry: dict[str, Any]
) -> None:
    place = make_place(tmp_path)
    place.put("~/.claude.json", '{"mcpServers": {"my server": {"command": "x"}}}')
    place.put("~/.claude/settings.json", json.dumps({"permissions": {"deny": [rule]}}))
    assert place.converted("claude-code")["my server"].entry == {"command": "x", **entry}


def test_gemini_excludes_the_tools_of_a_server_by_a_name_without_spaces(tmp_path: Path) -> None:
    result = converted(tmp_path, "gemini-cli", {"tools": {"exclude": ["mcp_my_server_push"]}}, "my server")
    assert result.entry == {"command": "git-server", "toolFilters": ["!push"]}


@pytest.mark.parametrize(
    ("client", "project", "limits", "entry"),
    [
        ("gemini-cli", ".gemini/settings.json", {"mcp": {"excluded": ["git"]}}, {"disabled": True}),
        ("gemini-cli", ".gemini/settings.json", {"excludeTools": ["git__a"]}, {"toolFilters": ["!a"]}),
        ("opencode", "opencode.json", {"tools": {"git_a": False}}, {"toolFilters": ["!a"]}),
        ("amp", ".amp/settings.json", {"amp.tools.disable": ["mcp__git__a"]}, {"toolFilters": ["!a"]}),
        ("zed", ".zed/settings.json", {"agent": {"default_profile": "minimal"}}, {"disabled": True}),
    ],
)
def test_what_a_person_limits_everywhere_is_limited_in_a_project_too(
    tmp_path: Path, client: str, project: str, limits: dict[str, Any], entry: dict[str, Any]
) -> None:
    place = make_place(tmp_path)
    path, key = PATHS[client]
    place.put(path, json.dumps(limits))
    place.put(project, json.dumps({key: {"git": {"command": "x"}}}))
    assert place.converted(client)["git"].entry == {"command": "x", **entry}


def test_a_tool_that_goose_never_allows_is_hidden(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    server = {"name": "My Git", "cmd": "x", "type": "stdio", "enabled": True}
    place.put("~/.config/goose/config.yaml", json.dumps({"extensions": {"mygit": server}}))
    never = ["mygit__push", "other__log"]
    permissions = {"user": {"always_allow": ["mygit__log"], "ask_before": [], "never_allow": never}}
    place.put("~/.config/goose/permission.yaml", json.dumps(permissions))
    assert place.converted("goose")["mygit"].entry == {"command": "x", "toolFilters": ["!push"]}


@pytest.mark.parametrize(
    ("beside", "client", "entry"),
    [
        ({"mcp": {"excluded": ["git"]}}, "gemini-cli", {"disabled": True}),
        ({"tools": {"exclude": ["git__push"]}}, "gemini-cli", {"toolFilters": ["!push"]}),
        ({"tools": ["@git/log"]}, "amazon-q", {"toolFilters": ["log"]}),
    ],
)
def test_limits_in_a_copy_of_a_file_are_recognised_wherever_it_is(
    tmp_path: Path, beside: dict[str, Any], client: str, entry: dict[str, Any]
) -> None:
    place = make_place(tmp_path)
    path = place.put("copy.json", json.dumps({"mcpServers": {"git": {"command": "x"}}, **beside}))
    found = read_file(str(path), None, place.machine)
    assert found.client == client_of(client)
    assert convert(found, found.servers[0], place.machine).entry == {"command": "x", **entry}


@pytest.mark.parametrize(
    ("client", "file", "settings"),
    [
        ("claude-code", "~/.claude.json", "~/.claude/settings.json"),
        ("goose", "~/.config/goose/config.yaml", "~/.config/goose/permission.yaml"),
    ],
)
def test_settings_that_cannot_be_read_may_hold_a_limit_and_so_the_server_is_refused(
    tmp_path: Path, client: str, file: str, settings: str
) -> None:
    place = make_place(tmp_path)
    key, entry = (
        ("extensions", {"type": "stdio", "name": "git", "cmd": "x"})
        if client == "goose"
        else ("mcpServers", {"command": "x"})
    )
    place.put(file, json.dumps({key: {"git": entry}}))
    assert place.converted(client)["git"].refusals == ()
    path = place.put(settings, "{{{")
    (refusal,) = place.converted(client)["git"].refusals
    assert refusal.startswith(f'"{path}" (')
    assert refusal.endswith("limits servers in a way that cannot be understood")
