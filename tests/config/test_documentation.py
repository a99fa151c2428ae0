"""The reference for users is complete, and every example in it works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_workbench.config import (
    HttpConfig,
    InlineConfig,
    IssuerConfig,
    OAuthConfig,
    ResultsConfig,
    ServerConfig,
    SharesConfig,
    ToolboxConfig,
    WorkbenchConfig,
    load,
)
from mcp_workbench.config.model.sandbox import SandboxConfig
from mcp_workbench.config.tokens import load_tokens
from tests.config.loading import load_content, one_server, write

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "configuration.md").read_text(encoding="utf-8")
ENVIRON = {
    "HOME": "/home/me",
    "PROJECT_ROOT": "/srv/project",
    "GITHUB_TOKEN": "github-token",
    "TRACKER_TOKEN": "tracker-token",
    "CI_CLIENT_SECRET": "ci-secret",
    "WIKI_CLIENT_SECRET": "wiki-secret",
}


def blocks_of(page: str) -> list[dict[str, Any]]:
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]


BLOCKS = blocks_of(REFERENCE)
REMOTE_BLOCKS = blocks_of((DOCS / "remote-servers.md").read_text(encoding="utf-8"))
OTHER_BLOCKS = [
    block
    for name in ("secrets.md", "permissions.md", "clients/README.md", "policy.md")
    for block in blocks_of((DOCS / name).read_text(encoding="utf-8"))
    if "tokens" not in block
]


def keys_of(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def whole_file(block: dict[str, Any]) -> object:
    """The page shows whole files, other clients' files, and single entries."""
    if "toolboxes" in block:
        return block
    if "mcpServers" in block:
        return {"toolboxes": {"dev": {"description": "Copied", **block}}}
    return one_server(block)


@pytest.mark.parametrize("block", [*BLOCKS, *REMOTE_BLOCKS], ids=json.dumps)
def test_every_example_on_the_page_loads_without_a_warning(tmp_path: Path, block: dict[str, Any]) -> None:
    assert load_content(tmp_path, whole_file(block), ENVIRON).warnings == ()


@pytest.mark.parametrize("block", OTHER_BLOCKS, ids=json.dumps)
def test_every_example_for_newcomers_loads_without_a_warning(tmp_path: Path, block: dict[str, Any]) -> None:
    (tmp_path / "tracker").mkdir()
    (tmp_path / "tracker" / ".env").write_text("TRACKER_TOKEN=tracker-token\n", encoding="utf-8")
    path = write(tmp_path, whole_file(block))
    stored = {"GITHUB_TOKEN": "github-token"}
    assert load(path, {"HOME": str(tmp_path)}, lookup=stored.get).warnings == ()


@pytest.mark.parametrize("path", sorted(DOCS.glob("examples/*.json")), ids=lambda path: path.name)
def test_every_example_file_loads_without_a_warning(path: Path) -> None:
    assert load(path, ENVIRON).warnings == ()


def test_the_example_of_every_key_uses_every_key() -> None:
    tree = json.loads((DOCS / "examples" / "every-key.json").read_text(encoding="utf-8"))
    boxes = tree["toolboxes"].values()
    assert set(tree) == {"$schema", *keys_of(WorkbenchConfig)}
    assert set(tree["http"]) == keys_of(HttpConfig)
    assert set(tree["http"]["oauth"]) == keys_of(IssuerConfig)
    assert set(tree["http"]["shares"]) == keys_of(SharesConfig)
    assert set(tree["results"]) == keys_of(ResultsConfig) | keys_of(InlineConfig)
    assert set().union(*boxes) == keys_of(ToolboxConfig)
    assert set().union(*(entry for box in boxes for entry in box["mcpServers"].values())) == {
        "type",
        *keys_of(ServerConfig),
    }


def test_the_small_example_on_the_page_is_the_small_example_file() -> None:
    assert BLOCKS[0] == json.loads((DOCS / "examples" / "minimal.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "struct",
    [
        WorkbenchConfig,
        HttpConfig,
        IssuerConfig,
        SharesConfig,
        ToolboxConfig,
        ServerConfig,
        OAuthConfig,
        ResultsConfig,
        SandboxConfig,
    ],
)
def test_every_key_has_its_row_in_the_reference(struct: type[msgspec.Struct]) -> None:
    rows = set(re.findall(r"^\| `([^`]+)` \|", REFERENCE, re.MULTILINE))
    assert keys_of(struct) <= rows


def test_every_default_in_the_reference_is_the_default() -> None:
    defaults = {field.encode_name: field for field in msgspec.structs.fields(ServerConfig)}
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", REFERENCE, re.MULTILINE)
    documented = {key: json.loads(text) for key, text in rows if key in defaults}
    server = ServerConfig(command="x")
    assert documented == {key: getattr(server, defaults[key].name) for key in documented}
    assert set(defaults) - set(documented) == {
        *("command", "cwd", "envFile", "oauth", "pin", "policy", "results", "sandbox", "transport", "url"),
    }


def test_every_share_in_the_reference_and_in_the_examples_is_the_default() -> None:
    defaults = msgspec.to_builtins(SharesConfig())
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\d+)` \|", REFERENCE, re.MULTILINE))
    assert {key: int(rows[key]) for key in defaults} == defaults
    shown = [block["http"]["shares"] for block in SHARED if "shares" in block.get("http", {})]
    assert shown == [defaults]
    tree = json.loads((DOCS / "examples" / "every-key.json").read_text(encoding="utf-8"))
    assert tree["http"]["shares"] == defaults


SHARED = [
    *blocks_of((DOCS / "shared-workbench.md").read_text(encoding="utf-8")),
    *(block for block in blocks_of((DOCS / "policy.md").read_text(encoding="utf-8")) if "tokens" in block),
]


@pytest.mark.parametrize("block", SHARED, ids=json.dumps)
def test_every_example_of_a_shared_workbench_loads_without_a_warning(
    tmp_path: Path, block: dict[str, Any]
) -> None:
    environ = ENVIRON | {"CI_TOKEN": "c" * 40, "WORKBENCH_TOKEN": "w" * 40}
    if "tokens" in block:
        path = tmp_path / "tokens.json"
        path.write_text(json.dumps(block), encoding="utf-8")
        assert load_tokens(path, environ).warnings == ()
    else:
        assert load_content(tmp_path, whole_file(block), environ).warnings == ()
