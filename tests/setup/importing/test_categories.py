"""The category of an imported server, by its package, address and name."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_workbench.setup.importing.categories import CATEGORIES, OTHER, category_named, category_of


def npx(package: str, *rest: str) -> dict[str, Any]:
    return {"command": "npx", "args": ["-y", package, *rest]}


@pytest.mark.parametrize(
    ("name", "entry", "expected"),
    [
        ("filesystem", npx("@modelcontextprotocol/server-filesystem", "/srv/code/github"), "files"),
        ("gh", npx("@modelcontextprotocol/server-github"), "code"),
        ("github", {"url": "https://api.githubcopilot.com/mcp/"}, "code"),
        (
            "serena",
            {"command": "uvx", "args": ["--from", "git+https://github.com/oraios/serena", "x"]},
            "code",
        ),
        ("mine", {"command": "uvx", "args": ["--from", "git+https://github.com/acme/mine", "mine"]}, "other"),
        ("fetch", {"command": "uvx", "args": ["mcp-server-fetch"]}, "web"),
        ("pw", npx("@playwright/mcp@latest"), "web"),
        ("brave", npx("@modelcontextprotocol/server-brave-search"), "web"),
        ("db", {"command": "docker", "args": ["run", "-i", "--rm", "mcp/postgres"]}, "databases"),
        ("work", {"url": "https://mcp.linear.app/sse"}, "projects"),
        ("remote", npx("mcp-remote", "https://mcp.linear.app/sse"), "projects"),
        ("wiki", {"url": "https://mcp.notion.com/mcp"}, "docs"),
        ("context7", npx("@upstash/context7-mcp"), "docs"),
        ("chat", npx("@modelcontextprotocol/server-slack"), "communication"),
        ("aws", {"command": "uvx", "args": ["awslabs.aws-documentation-mcp-server@latest"]}, "cloud"),
        ("Figma", {"url": "http://127.0.0.1:3845/mcp"}, "design"),
        ("memory", npx("@modelcontextprotocol/server-memory"), "thinking"),
        ("think", npx("@modelcontextprotocol/server-sequential-thinking"), "thinking"),
        ("pay", {"url": "https://mcp.stripe.com"}, "payments"),
        ("errors", {"url": "https://mcp.sentry.dev/mcp"}, "monitoring"),
        ("weather", {"command": "python", "args": ["/srv/git/sqlite/weather.py"]}, "other"),
        ("x", {"command": "/opt/postgres-mcp/bin/postgres-mcp"}, "databases"),
        ("x", {"command": "${TOOL}", "args": ["${GITHUB}", "--github", "mode=github", 3]}, "other"),
        ("x", {"url": "http://[bad"}, "other"),
    ],
)
def test_the_category_says_what_the_server_is_for(name: str, entry: dict[str, Any], expected: str) -> None:
    assert category_of(name, entry).name == expected


def test_every_name_leads_to_one_category() -> None:
    named = [name for one in (*CATEGORIES, OTHER) for name in {one.name, *one.aliases}]
    assert sorted(named) == sorted(set(named))


def test_a_toolbox_named_by_a_person_is_recognised_by_its_name() -> None:
    found = [category_named(name) for name in ("Browser", "sql", "personal")]
    assert [one.name if one else None for one in found] == ["web", "databases", None]
