"""Entries of the same server have the same identity, and others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.setup.importing.identity import NO_LIMITS, identity_of, limits_of

if TYPE_CHECKING:
    from pathlib import Path

    Entry = dict[str, Any]

NPX = {"command": "npx", "args": ["-y", "p", "-y"]}
REMOTE = {"url": "https://mcp.example.com/mcp"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NPX, {"command": "npx", "args": ["p", "-y"]}),
        (NPX, {"command": "npx", "args": ["--yes", "p", "-y"], "env": {}, "timeout": 3, "disabled": True}),
        (NPX, {"command": "cmd", "args": ["/c", "npx", "-y", "p", "-y"]}),
        (NPX, {"command": "npx.cmd", "args": ["p", "-y"], "transport": "stdio"}),
        (REMOTE, {"url": "HTTPS://MCP.example.com:443/mcp/", "transport": "http", "toolFilters": ["a"]}),
        (
            {**REMOTE, "headers": {"X-Key": "a"}},
            {**REMOTE, "headers": {"x-key": "a"}, "required": True},
        ),
    ],
)
def test_spellings_of_one_server_are_equal(one: Entry, other: Entry) -> None:
    assert identity_of(one, {}) == identity_of(other, {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NPX, {"command": "npx", "args": ["-y", "p"]}),
        (NPX, {**NPX, "env": {"A": "1"}}),
        (NPX, {**NPX, "cwd": "/srv"}),
        (NPX, {"command": "bunx", "args": ["p", "-y"]}),
        ({"command": "/opt/a/run"}, {"command": "/opt/b/run"}),
        (REMOTE, {"url": "https://mcp.example.com/mcp?team=1"}),
        (REMOTE, {"url": "https://me:pw@mcp.example.com/mcp"}),
        (REMOTE, {**REMOTE, "transport": "sse"}),
        (REMOTE, {**REMOTE, "oauth": {"clientId": "me"}}),
        ({"url": "http://[bad"}, {"url": "http://[bad/"}),
        ({"command": "npx", "args": [{}]}, {"command": "npx", "args": [[]]}),
    ],
)
def test_servers_that_differ_in_meaning_are_not_equal(one: Entry, other: Entry) -> None:
    assert identity_of(one, {}) != identity_of(other, {})


def test_a_path_is_equal_to_the_name_that_leads_to_the_same_program(tmp_path: Path) -> None:
    program = tmp_path / "real" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(program)
    environ = {"PATH": str(tmp_path / "bin")}
    by_name = identity_of({"command": "tool"}, environ)
    assert identity_of({"command": str(program)}, environ) == by_name
    assert identity_of({"command": str(program)}, {}) != by_name


def test_limits_are_equal_if_they_show_the_same_tools() -> None:
    def limits(*filters: str) -> object:
        return limits_of({"toolFilters": list(filters)})

    assert limits("*") == limits("a", "*") == NO_LIMITS == limits_of({})
    assert limits("!a") == limits("*", "!a") == limits("!a", "b", "*") != NO_LIMITS
    assert limits("a", "b") == limits("b", "a") != NO_LIMITS
    assert limits() not in (NO_LIMITS, limits("a"))
