"""The rules of clients that limit servers outside of their entries, one function for each kind of rule.

What cannot be said in `toolFilters` is a refusal: it is never left out. `Client.outer_limits` names the rule.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mcp_workbench.config.clients.found import OuterLimit
from mcp_workbench.config.clients.limit_parts import (
    ALL_TOOLS,
    NOT_IN_A_TOOL,
    UnclearRule,
    disabled,
    hidden_tools,
    may_overlap,
    read_settings,
    refused,
    rest_of_glob,
    spellings,
    texts_at,
    tree_at,
)
from mcp_workbench.config.entries.tool_limits import both, included

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_workbench.config.clients.found import FoundFile, FoundServer
    from mcp_workbench.config.clients.limit_parts import Tree
    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import OuterLimits


def project_settings(data: Tree, directory: str) -> tuple[str, Tree]:
    """Return what the person's file of Claude Code has for a project, and the path by which it is there."""
    wanted = {_same_path(directory), _same_path(os.path.realpath(directory))}
    for name, project in tree_at(data, "projects").items():
        if _same_path(name) in wanted and isinstance(project, dict):
            return name, project
    return directory, {}


def _same_path(path: str) -> str:
    return os.path.normcase(path).replace("\\", "/").rstrip("/")


def _gemini(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    name = server.name
    for keys in (("mcp", "allowed"), ("allowMCPServers",)):
        is_given = tree_at(data, *keys[:-1]).get(keys[-1]) is not None
        if is_given and name not in texts_at(data, *keys):
            return disabled(f'"{".".join(keys)}" does not name it')
    for keys in (("mcp", "excluded"), ("excludeMCPServers",)):
        if name in texts_at(data, *keys):
            return disabled(f'"{".".join(keys)}" names it')
    hidden: list[str] = []
    for tool in (*texts_at(data, "tools", "exclude"), *texts_at(data, "excludeTools")):
        # The arguments of an excluded tool do not matter: it is hidden whatever it is called with.
        whole = tool.partition("(")[0]
        owners = [
            (other, whole.removeprefix(prefix))
            for other in dict.fromkeys((name, *tree_at(data, "mcpServers")))
            for spelling in spellings(other)
            for prefix in (f"mcp__{spelling}__", f"mcp_{spelling}_", f"{spelling}__")
            if whole.startswith(prefix)
        ]
        hidden.extend(f"!{bare}" for owner, bare in owners or [(name, whole)] if owner == name)
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or ALL_TOOLS)


def _opencode(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read `tools` and `permission`, whose keys are globs over `server_tool`; the last that matches wins."""
    prefix = NOT_IN_A_TOOL.sub("_", server.name) + "_"
    permission = data.get("permission")
    rules: list[tuple[str, bool]] = [("*", False)] if permission == "deny" else []
    rules += [(glob, value is not False) for glob, value in tree_at(data, "tools").items()]
    for glob, value in tree_at(permission).items():
        if isinstance(value, str) or value == {"*": "deny"}:
            rules.append((glob, value in ("allow", "ask")))
        elif rest_of_glob(glob, prefix) != "" and value is not None:
            raise UnclearRule(f'"permission.{glob}"')
    filters: list[str] = []
    for glob, is_shown in rules:
        rest = rest_of_glob(glob, prefix)
        if rest == "":
            continue
        if is_shown:
            if any(may_overlap(rest, pattern[1:]) for pattern in filters):
                return refused(f'"{glob}" shows tools again that another line hides: write "toolFilters"')
        elif rest is None:
            return refused(f'"{glob}" hides tools in a way that "toolFilters" cannot say')
        else:
            filters.append(f"!{rest}")
    if "!*" in filters:
        return OuterLimit(filters=())
    return OuterLimit(filters=tuple(dict.fromkeys(filters)) or ALL_TOOLS)


def _claude_code(file: FoundFile, data: Tree, server: FoundServer, machine: Machine) -> OuterLimit:
    name = server.name
    is_shared = os.path.basename(file.path) == ".mcp.json"
    settings = [*_claude_settings(machine)]
    personal = _claude_home(machine) if is_shared else data
    _, project = project_settings(personal, machine.directory)
    sources = [project, *settings]
    if name in texts_at(project, "disabledMcpServers"):
        return disabled("it is turned off for this project")
    if is_shared:
        if any(name in texts_at(source, "disabledMcpjsonServers") for source in sources):
            return disabled('"disabledMcpjsonServers" names it')
        approved = [text for source in sources for text in texts_at(source, "enabledMcpjsonServers")]
        is_open = any(source.get("enableAllProjectMcpServers") is True for source in sources)
        if approved and name not in approved and not is_open:
            return disabled('"enabledMcpjsonServers" does not name it')
    hidden: list[str] = []
    whole = [f"mcp__{spelling}" for spelling in spellings(name)]
    for rule in (text for source in settings for text in texts_at(source, "permissions", "deny")):
        bare = rule.partition("(")[0]
        hidden += ["!*"] if bare in whole else hidden_tools(bare, [f"{prefix}__" for prefix in whole])
    if "!*" in hidden:
        return disabled('"permissions.deny" names it')
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or ALL_TOOLS)


def _claude_home(machine: Machine) -> Tree:
    """Return the person's own file of Claude Code, which has the approvals of projects."""
    directory = machine.environ.get("CLAUDE_CONFIG_DIR") or machine.home
    return read_settings(os.path.join(directory, ".claude.json"))


def _claude_settings(machine: Machine) -> Iterator[Tree]:
    home = machine.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(machine.home, ".claude")
    inside = os.path.join(machine.directory, ".claude")
    for path in (
        os.path.join(home, "settings.json"),
        os.path.join(inside, "settings.json"),
        os.path.join(inside, "settings.local.json"),
    ):
        yield read_settings(path)


def _amazon_q(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read the `tools` of an agent: `*`, `@server` or `@server/tool`. Other files have no such list."""
    if not isinstance(data.get("tools"), list):
        return OuterLimit()
    listed = texts_at(data, "tools")
    whole = f"@{server.name}"
    if "*" in listed or whole in listed or f"{whole}/*" in listed:
        return OuterLimit()
    names = [text.removeprefix(f"{whole}/") for text in listed if text.startswith(f"{whole}/")]
    if any(re.search(r"[*?\[!]", name) for name in names):
        return refused(f'"tools" chooses tools of "{whole}" by a pattern: write "toolFilters"')
    if names:
        return OuterLimit(filters=tuple(names))
    return disabled('"tools" of the agent does not name it')


def _amp(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    rules = data.get("amp.mcpPermissions")
    if not isinstance(rules, list | None):
        raise UnclearRule('"amp.mcpPermissions"')
    for rule in rules or ():
        if not isinstance(rule, dict) or not isinstance(matches := rule.get("matches"), dict):
            return refused('"amp.mcpPermissions" has a rule of an unknown form')
        if all(_matches(server.entry, key, glob) for key, glob in matches.items()):
            if rule.get("action") != "allow":
                return disabled('"amp.mcpPermissions" rejects it')
            break
    prefixes = [f"mcp__{spelling}__" for spelling in spellings(server.name)]
    hidden = _amp_disabled(texts_at(data, "amp.tools.disable"), prefixes)
    if "!*" in hidden:
        return disabled('"amp.tools.disable" hides all its tools')
    hidden += _amp_rejected(data.get("amp.permissions"), prefixes)
    if data.get("amp.tools.enable") is None:
        return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or ALL_TOOLS)
    enabled = texts_at(data, "amp.tools.enable")
    shown = [pattern[1:] for glob in enabled for pattern in hidden_tools(glob, prefixes)]
    if not shown:
        return disabled('"amp.tools.enable" does not name it')
    return OuterLimit(filters=tuple(both(shown, list(dict.fromkeys(hidden)) or list(ALL_TOOLS))))


def _amp_disabled(globs: list[str], prefixes: list[str]) -> list[str]:
    """Return the patterns that hide what these globs hide, by full names or by names without the server."""
    hidden = []
    for glob in globs:
        is_bare = not glob.startswith(("builtin:", "mcp__"))
        hidden += hidden_tools(glob, prefixes) or ([f"!{glob}"] if is_bare else [])
    return hidden


def _amp_rejected(rules: object, prefixes: list[str]) -> list[str]:
    """Return the patterns for the tools that `amp.permissions` rejects, of which the first match counts."""
    if not isinstance(rules, list | None):
        raise UnclearRule('"amp.permissions"')
    hidden: list[str] = []
    shown: list[str] = []
    for rule in rules or ():
        tool = rule.get("tool") if isinstance(rule, dict) else None
        if not isinstance(tool, str):
            raise UnclearRule('"amp.permissions"')
        patterns = hidden_tools(tool, prefixes)
        if rule.get("action") in ("allow", "ask"):
            shown += patterns
            continue
        is_partial = not rule.keys() <= {"tool", "action"}
        is_shown = any(may_overlap(one[1:], other[1:]) for one in shown for other in patterns)
        if patterns and (is_partial or is_shown):
            raise UnclearRule('"amp.permissions"')
        hidden += patterns
    return hidden


def _matches(entry: Tree, key: str, glob: object) -> bool:
    value = entry.get(key)
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return isinstance(text, str) and isinstance(glob, str) and fnmatchcase(text, glob)


def _zed(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    agent = tree_at(data, "agent")
    profile = agent.get("default_profile", "write")
    chosen = tree_at(agent, "profiles", str(profile))
    tools = tree_at(chosen, "context_servers", server.name, "tools")
    filters = [f"!{tool}" for tool, is_shown in tools.items() if is_shown is False]
    filters += _zed_denied(tree_at(agent, "tool_permissions"), f"mcp:{server.name}:")
    # Of the profiles that Zed comes with, this one alone has all servers.
    if not chosen.get("enable_all_context_servers", profile == "write"):
        shown = [included(tool, is_glob=False) for tool, is_shown in tools.items() if is_shown is True]
        if not shown:
            return disabled(f'the profile "{profile}" does not use it')
        filters = both(shown, filters or list(ALL_TOOLS))
    return OuterLimit(filters=tuple(dict.fromkeys(filters)) or ALL_TOOLS)


def _zed_denied(permissions: Tree, prefix: str) -> list[str]:
    """Return the patterns that hide the tools of a server that Zed never runs. Raises UnclearRule."""
    if permissions.get("default") == "deny":
        raise UnclearRule('"agent.tool_permissions.default"')
    settings = {
        name.removeprefix(prefix): tree_at(setting)
        for name, setting in tree_at(permissions, "tools").items()
        if name.startswith(prefix)
    }
    if any(setting.get("always_deny") for setting in settings.values()):
        raise UnclearRule('"agent.tool_permissions"')
    return [f"!{tool}" for tool, setting in settings.items() if setting.get("default") == "deny"]


def _goose(file: FoundFile, _data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read the tools that a person has forbidden, by full name, in the file beside that of the servers."""
    permissions = read_settings(os.path.join(os.path.dirname(file.path), "permission.yaml"), "yaml")
    names = {str(name) for name in (server.name, server.entry.get("name")) if name}
    prefixes = [NOT_IN_A_TOOL.sub("_", re.sub(r"\s", "", name)).lower() + "__" for name in sorted(names)]
    hidden = [
        f"!{tool.removeprefix(prefix)}"
        for tool in texts_at(permissions, "user", "never_allow")
        for prefix in prefixes
        if tool.startswith(prefix)
    ]
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or ALL_TOOLS)


RULES: dict[OuterLimits, Callable[[FoundFile, Tree, FoundServer, Machine], OuterLimit]] = {
    "amazon-q": _amazon_q,
    "amp": _amp,
    "claude-code": _claude_code,
    "gemini": _gemini,
    "goose": _goose,
    "opencode": _opencode,
    "zed": _zed,
}
"""The rule by the name that the table of clients has for it."""
