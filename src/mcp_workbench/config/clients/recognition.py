"""Recognises whose file it is: by its path, and by the keys at its top."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcp_workbench.config.clients.table import CLIENTS, client_named

if TYPE_CHECKING:
    from mcp_workbench.config.clients.model import Client
    from mcp_workbench.config.documents import Format, Step

_FORMATS: dict[str, Format] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
_COMMON_NAMES = frozenset(("config.toml", "config.yaml", "mcp.json", "settings.json"))
"""Names of files that say nothing about the client without their directory."""

_KEYS = {
    "context_servers": "zed",
    "amp.mcpServers": "amp",
    "mcp_servers": "codex",
    "extensions": "goose",
    "servers": "vscode",
}
_TARGETS = frozenset(("command", "cmd", "url", "serverUrl", "httpUrl", "uri"))
"""Keys of which every server has one."""
_GEMINI_KEYS = (
    ("mcp", "allowed"),
    ("mcp", "excluded"),
    ("tools", "exclude"),
    ("allowMCPServers",),
    ("excludeMCPServers",),
    ("excludeTools",),
)
"""Keys beside the servers that limit them in Gemini CLI."""
_FORM_OF_MANY = "Claude, Cursor and many other clients"
_TOML = re.compile(rb"^\s*\[\[?\s*\"?mcp_servers\b", re.MULTILINE)
_YAML_LIST = re.compile(rb"^mcpServers:\s*(#.*)?$", re.MULTILINE)
_YAML_MAP = re.compile(rb"^extensions:\s*(#.*)?$", re.MULTILINE)


def guess_format(path: str) -> Format:
    """Return the format of a file by its extension; everything else is JSON with comments."""
    return _FORMATS.get(os.path.splitext(path)[1].lower(), "json")


def guess_client(
    data: dict[str, object], path: str, client: Client | None
) -> tuple[Client | None, tuple[Step, ...]]:
    """Return the client whose form a file has, None if several have it, and the keys to its servers."""
    if client is None:
        client = _by_path(path) or _by_keys(data)
    keys = [file.key for file in client.files if "{project}" not in file.key] if client is not None else []
    for key in (*keys, ("mcpServers",), ("servers",), ("mcp", "servers"), ("mcp",)):
        if _holds(data, key):
            return client, key
    return client, () if looks_flat(data) else keys[0] if keys else ("mcpServers",)


def looks_flat(data: dict[str, object]) -> bool:
    """Whether a document has servers at its top, without a key that leads to them."""
    return bool(data) and all(
        isinstance(entry, dict) and not _TARGETS.isdisjoint(entry) for entry in data.values()
    )


def name_of_form(tree: dict[str, object]) -> str:
    """Return whose form a file has that is not one of ours, in words, or nothing if it has none."""
    client = _by_keys(tree)
    if client is not None:
        return client.title
    return _FORM_OF_MANY if isinstance(tree.get("mcpServers"), dict) or looks_flat(tree) else ""


def name_of_text(content: bytes) -> str:
    """Return whose form a file has that is not JSON, in words, or nothing if it looks like none."""
    for pattern, name in ((_TOML, "codex"), (_YAML_LIST, "continue"), (_YAML_MAP, "goose")):
        if pattern.search(content):
            client = client_named(name)
            return client.title if client is not None else ""
    return ""


def _holds(data: dict[str, object], key: tuple[str, ...]) -> bool:
    node: object = data
    for step in key:
        if not isinstance(node, dict) or step not in node:
            return False
        node = node[step]
    return True


def _by_path(path: str) -> Client | None:
    """Return the client whose files have this name, in these directories or whose alone it is."""
    slashed = path.replace(os.sep, "/")
    tails = [
        (tail, client)
        for client in CLIENTS
        for file in client.files
        for templates in file.paths.values()
        for template in templates
        if (tail := template.partition("}/")[2]) not in _COMMON_NAMES and tail and "*" not in tail
    ]
    for tail, client in tails:
        if slashed.endswith(f"/{tail}"):
            return client
    name = os.path.basename(path)
    owners = {client.id: client for tail, client in tails if os.path.basename(tail) == name}
    is_telling = len(owners) == 1 and name not in _COMMON_NAMES
    return next(iter(owners.values())) if is_telling else None


def _by_keys(data: dict[str, object]) -> Client | None:
    for key, name in _KEYS.items():
        if isinstance(data.get(key), dict):
            return client_named(name)
    if isinstance(data.get("mcpServers"), list):
        return client_named("continue")
    if isinstance(data.get("mcpServers"), dict):
        # What is beside the servers of an agent, or of settings, may limit them.
        if isinstance(data.get("tools"), list):
            return client_named("amazon-q")
        if any(_holds(data, key) for key in _GEMINI_KEYS):
            return client_named("gemini-cli")
    servers = data.get("mcp")
    if not isinstance(servers, dict):
        return None
    if isinstance(servers.get("servers"), dict):
        return client_named("vscode")
    entries = [entry for entry in servers.values() if isinstance(entry, dict)]
    is_opencode = any(
        isinstance(entry.get("command"), list) or entry.get("type") in ("local", "remote")
        for entry in entries
    )
    return client_named("opencode" if is_opencode else "crush") if entries else None
