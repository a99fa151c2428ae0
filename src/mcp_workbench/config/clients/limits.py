"""Limits of servers that are written outside of their entries, in the same file or beside it.

Owns the rules of each client as one function per kind (`Client.outer_limits`). What cannot be said in
`toolFilters` is a refusal: it is never left out.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mcp_workbench.config.clients.found import OuterLimit
from mcp_workbench.config.clients.parsing import UnreadableFile, parse_file
from mcp_workbench.config.entries.tool_limits import UnclearLimit, included

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcp_workbench.config.clients.found import FoundFile, FoundServer
    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import OuterLimits

Tree = dict[str, object]
_ALL = ("*",)


class _UnclearRule(Exception):
    """A key that limits servers has a value that cannot be understood; the text names the key."""


def outer_limits(
    file: FoundFile, data: Tree, servers: Iterable[FoundServer], machine: Machine
) -> dict[str, OuterLimit]:
    """Return the limits of the servers of a file by name, without those that have none."""
    rule = _RULES.get(file.client.outer_limits) if file.client is not None else None
    if rule is None:
        return {}
    limits: dict[str, OuterLimit] = {}
    for server in servers:
        try:
            limit = rule(file, data, server, machine)
        except _UnclearRule as error:
            limit = _refused(f"{error} limits servers in a way that cannot be understood")
        except UnclearLimit as error:
            limit = _refused(f"its tools are limited in a way that cannot be said here: {error}")
        if limit != OuterLimit():
            limits[server.name] = limit
    return limits


def project_settings(data: Tree, directory: str) -> tuple[str, Tree]:
    """Return what the person's file of Claude Code has for a project, and the path by which it is there."""
    wanted = {_same_path(directory), _same_path(os.path.realpath(directory))}
    for name, project in _tree(data, "projects").items():
        if _same_path(name) in wanted and isinstance(project, dict):
            return name, project
    return directory, {}


def _same_path(path: str) -> str:
    return os.path.normcase(path).replace("\\", "/").rstrip("/")


def _disabled(why: str) -> OuterLimit:
    return OuterLimit(is_disabled=True, notes=(f"is disabled: {why}",))


def _refused(why: str) -> OuterLimit:
    return OuterLimit(refusals=(why,))


def _texts(node: object, *keys: str) -> list[str]:
    """Return the strings in the list under these keys; nothing if there is no such list."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    if node is None:
        return []
    if not isinstance(node, list) or not all(isinstance(item, str) for item in node):
        raise _UnclearRule(f'"{".".join(keys)}"')
    return node


def _tree(node: object, *keys: str) -> Tree:
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _gemini(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    name = server.name
    for keys in (("mcp", "allowed"), ("allowMCPServers",)):
        is_given = _tree(data, *keys[:-1]).get(keys[-1]) is not None
        if is_given and name not in _texts(data, *keys):
            return _disabled(f'"{".".join(keys)}" does not name it')
    for keys in (("mcp", "excluded"), ("excludeMCPServers",)):
        if name in _texts(data, *keys):
            return _disabled(f'"{".".join(keys)}" names it')
    hidden: list[str] = []
    for tool in (*_texts(data, "tools", "exclude"), *_texts(data, "excludeTools")):
        # The arguments of an excluded tool do not matter: it is hidden whatever it is called with.
        whole = tool.partition("(")[0]
        owners = [
            (other, whole.removeprefix(prefix))
            for other in _tree(data, "mcpServers")
            for prefix in (f"mcp__{other}__", f"mcp_{other}_", f"{other}__")
            if whole.startswith(prefix)
        ]
        hidden.extend(f"!{bare}" for owner, bare in owners or [(name, whole)] if owner == name)
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)


def _opencode(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read `tools` and `permission`, whose keys are globs over `server_tool`; the last that matches wins."""
    prefix = re.sub(r"[^A-Za-z0-9_-]", "_", server.name) + "_"
    permission = data.get("permission")
    rules: list[tuple[str, bool]] = [("*", False)] if permission == "deny" else []
    rules += [(glob, value is not False) for glob, value in _tree(data, "tools").items()]
    rules += [(glob, value != "deny") for glob, value in _tree(permission).items() if isinstance(value, str)]
    filters: list[str] = []
    for glob, is_shown in rules:
        rest = _rest_of_glob(glob, prefix)
        if rest == "":
            continue
        if is_shown:
            if any(_may_overlap(rest, pattern[1:]) for pattern in filters):
                return _refused(f'"{glob}" shows tools again that another line hides: write "toolFilters"')
        elif rest is None:
            return _refused(f'"{glob}" hides tools in a way that "toolFilters" cannot say')
        else:
            filters.append(f"!{rest}")
    if "!*" in filters:
        return OuterLimit(filters=())
    return OuterLimit(filters=tuple(dict.fromkeys(filters)) or _ALL)


def _may_overlap(shown: str | None, hidden: str) -> bool:
    """Whether a tool may match both patterns; two globs are taken to overlap."""
    if shown is None or (re.search(r"[*?]", shown) and re.search(r"[*?]", hidden)):
        return True
    return fnmatchcase(shown, hidden) or fnmatchcase(hidden, shown)


def _rest_of_glob(glob: str, prefix: str) -> str | None:
    """Return what a glob over `server_tool` says about the tools of a server.

    Empty if it does not concern the server, None if it is not clear.
    """
    head = re.split(r"[*?]", glob)[0]
    if head.startswith(prefix):
        return glob.removeprefix(prefix)
    if glob == head or not prefix.startswith(head):
        return ""
    return "*" if glob == f"{head}*" else None


def _claude_code(file: FoundFile, data: Tree, server: FoundServer, machine: Machine) -> OuterLimit:
    name = server.name
    is_shared = os.path.basename(file.path) == ".mcp.json"
    settings = [*_claude_settings(machine)]
    personal = _claude_home(machine) if is_shared else data
    _, project = project_settings(personal, machine.directory)
    sources = [project, *settings]
    if name in _texts(project, "disabledMcpServers"):
        return _disabled("it is turned off for this project")
    if is_shared:
        if any(name in _texts(source, "disabledMcpjsonServers") for source in sources):
            return _disabled('"disabledMcpjsonServers" names it')
        approved = [text for source in sources for text in _texts(source, "enabledMcpjsonServers")]
        is_open = any(source.get("enableAllProjectMcpServers") is True for source in sources)
        if approved and name not in approved and not is_open:
            return _disabled('"enabledMcpjsonServers" does not name it')
    hidden = []
    for rule in (text for source in settings for text in _texts(source, "permissions", "deny")):
        if rule in (f"mcp__{name}", f"mcp__{name}__*", "mcp__*"):
            return _disabled('"permissions.deny" names it')
        if rule.startswith(f"mcp__{name}__"):
            hidden.append("!" + rule.removeprefix(f"mcp__{name}__").partition("(")[0])
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)


def _claude_home(machine: Machine) -> Tree:
    """Return the person's own file of Claude Code, which has the approvals of projects."""
    directory = machine.environ.get("CLAUDE_CONFIG_DIR") or machine.home
    return _settings(os.path.join(directory, ".claude.json"))


def _claude_settings(machine: Machine) -> Iterator[Tree]:
    home = machine.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(machine.home, ".claude")
    inside = os.path.join(machine.directory, ".claude")
    for path in (
        os.path.join(home, "settings.json"),
        os.path.join(inside, "settings.json"),
        os.path.join(inside, "settings.local.json"),
    ):
        yield _settings(path)


def _settings(path: str) -> Tree:
    """Return the content of a file beside that of the servers; empty if the client could not read it."""
    try:
        return parse_file(path, "json")
    except UnreadableFile:
        return {}


def _amazon_q(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read the `tools` of an agent: `*`, `@server` or `@server/tool`. Other files have no such list."""
    if not isinstance(data.get("tools"), list):
        return OuterLimit()
    listed = _texts(data, "tools")
    whole = f"@{server.name}"
    if "*" in listed or whole in listed or f"{whole}/*" in listed:
        return OuterLimit()
    names = [text.removeprefix(f"{whole}/") for text in listed if text.startswith(f"{whole}/")]
    if any(re.search(r"[*?\[!]", name) for name in names):
        return _refused(f'"tools" chooses tools of "{whole}" by a pattern: write "toolFilters"')
    if names:
        return OuterLimit(filters=tuple(names))
    return _disabled('"tools" of the agent does not name it')


def _amp(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    rules = data.get("amp.mcpPermissions")
    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, dict) or not isinstance(matches := rule.get("matches"), dict):
            return _refused('"amp.mcpPermissions" has a rule of an unknown form')
        if all(_matches(server.entry, key, glob) for key, glob in matches.items()):
            if rule.get("action") != "allow":
                return _disabled('"amp.mcpPermissions" rejects it')
            break
    hidden = []
    for glob in _texts(data, "amp.tools.disable"):
        prefix = f"mcp__{server.name}__"
        if glob.startswith(prefix):
            hidden.append("!" + glob.removeprefix(prefix))
        elif glob in ("*", "mcp__*"):
            return _disabled('"amp.tools.disable" hides all its tools')
        elif not glob.startswith(("builtin:", "mcp__")):
            hidden.append(f"!{glob}")
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)


def _matches(entry: Tree, key: str, glob: object) -> bool:
    value = entry.get(key)
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return isinstance(text, str) and isinstance(glob, str) and fnmatchcase(text, glob)


def _zed(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    agent = _tree(data, "agent")
    profile = agent.get("default_profile")
    chosen = _tree(agent, "profiles", profile if isinstance(profile, str) else "write")
    tools = _tree(chosen, "context_servers", server.name, "tools")
    hidden = [f"!{tool}" for tool, is_shown in tools.items() if is_shown is False]
    if chosen.get("enable_all_context_servers") is False:
        shown = [included(tool, is_glob=False) for tool, is_shown in tools.items() if is_shown is True]
        if not shown:
            return _disabled(f'the profile "{profile or "write"}" does not use it')
        return OuterLimit(filters=tuple(shown))
    for name, setting in _tree(agent, "tool_permissions", "tools").items():
        prefix = f"mcp:{server.name}:"
        if name.startswith(prefix) and _tree(setting).get("default") == "deny":
            hidden.append("!" + name.removeprefix(prefix))
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)


_RULES: dict[OuterLimits, Callable[[FoundFile, Tree, FoundServer, Machine], OuterLimit]] = {
    "amazon-q": _amazon_q,
    "amp": _amp,
    "claude-code": _claude_code,
    "gemini": _gemini,
    "opencode": _opencode,
    "zed": _zed,
}
