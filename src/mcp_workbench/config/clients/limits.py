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
from mcp_workbench.config.entries.tool_limits import UnclearLimit, both, included

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcp_workbench.config.clients.found import FoundFile, FoundServer
    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import OuterLimits
    from mcp_workbench.config.documents import Format

Tree = dict[str, object]
_ALL = ("*",)
_NOT_IN_A_TOOL = re.compile(r"[^A-Za-z0-9_-]")
"""Characters in the name of a server that clients replace by `_` in the full names of its tools."""


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
            sources = [data, *_of_the_person(file, machine)]
            limit = _together([rule(file, source, server, machine) for source in sources])
        except _UnclearRule as error:
            limit = _refused(f"{error} limits servers in a way that cannot be understood")
        except UnclearLimit as error:
            limit = _refused(f"its tools are limited in a way that cannot be said here: {error}")
        if limit != OuterLimit():
            limits[server.name] = limit
    return limits


def _of_the_person(file: FoundFile, machine: Machine) -> Iterator[Tree]:
    """Yield the person's own files of the client, whose limits hold for the servers of a project too."""
    if file.scope == "user" or file.client is None:
        return
    for known in file.client.files:
        if known.scope == "user" and known.is_installable:
            yield from (_settings(path) for path in machine.paths_of(known))


def _together(limits: list[OuterLimit]) -> OuterLimit:
    filters = list(_ALL)
    for limit in limits:
        filters = both(filters, list(limit.filters))
    return OuterLimit(
        is_disabled=any(limit.is_disabled for limit in limits),
        filters=tuple(filters),
        notes=tuple(dict.fromkeys(note for limit in limits for note in limit.notes)),
        refusals=tuple(dict.fromkeys(reason for limit in limits for reason in limit.refusals)),
    )


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


def _spellings(name: str) -> list[str]:
    """Return the name of a server as it is, and as it is written in the full names of its tools."""
    return list(dict.fromkeys((name, _NOT_IN_A_TOOL.sub("_", name))))


def _hidden_tools(glob: str, prefixes: list[str]) -> list[str]:
    """Return the patterns that hide what a glob over full names of tools matches. Raises _UnclearRule."""
    rests = [_rest_of_glob(glob, prefix) for prefix in prefixes]
    if None in rests:
        raise _UnclearRule(f'"{glob}"')
    return [f"!{rest}" for rest in dict.fromkeys(rests) if rest]


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
            for other in dict.fromkeys((name, *_tree(data, "mcpServers")))
            for spelling in _spellings(other)
            for prefix in (f"mcp__{spelling}__", f"mcp_{spelling}_", f"{spelling}__")
            if whole.startswith(prefix)
        ]
        hidden.extend(f"!{bare}" for owner, bare in owners or [(name, whole)] if owner == name)
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)


def _opencode(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read `tools` and `permission`, whose keys are globs over `server_tool`; the last that matches wins."""
    prefix = _NOT_IN_A_TOOL.sub("_", server.name) + "_"
    permission = data.get("permission")
    rules: list[tuple[str, bool]] = [("*", False)] if permission == "deny" else []
    rules += [(glob, value is not False) for glob, value in _tree(data, "tools").items()]
    for glob, value in _tree(permission).items():
        if isinstance(value, str) or value == {"*": "deny"}:
            rules.append((glob, value in ("allow", "ask")))
        elif _rest_of_glob(glob, prefix) != "" and value is not None:
            raise _UnclearRule(f'"permission.{glob}"')
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
    head = re.split(r"[*?[{]", glob)[0]
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
    hidden: list[str] = []
    whole = [f"mcp__{spelling}" for spelling in _spellings(name)]
    for rule in (text for source in settings for text in _texts(source, "permissions", "deny")):
        bare = rule.partition("(")[0]
        hidden += ["!*"] if bare in whole else _hidden_tools(bare, [f"{prefix}__" for prefix in whole])
    if "!*" in hidden:
        return _disabled('"permissions.deny" names it')
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


def _settings(path: str, form: Format = "json") -> Tree:
    """Return the content of a file beside that of the servers; empty if there is none.

    Raises _UnclearRule for a file that cannot be read: it may hold a limit.
    """
    if not os.path.lexists(path):
        return {}
    try:
        return parse_file(path, form)
    except UnreadableFile as error:
        raise _UnclearRule(f'"{path}" ({error})') from None


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
    if not isinstance(rules, list | None):
        raise _UnclearRule('"amp.mcpPermissions"')
    for rule in rules or ():
        if not isinstance(rule, dict) or not isinstance(matches := rule.get("matches"), dict):
            return _refused('"amp.mcpPermissions" has a rule of an unknown form')
        if all(_matches(server.entry, key, glob) for key, glob in matches.items()):
            if rule.get("action") != "allow":
                return _disabled('"amp.mcpPermissions" rejects it')
            break
    prefixes = [f"mcp__{spelling}__" for spelling in _spellings(server.name)]
    hidden = _amp_disabled(_texts(data, "amp.tools.disable"), prefixes)
    if "!*" in hidden:
        return _disabled('"amp.tools.disable" hides all its tools')
    hidden += _amp_rejected(data.get("amp.permissions"), prefixes)
    if data.get("amp.tools.enable") is None:
        return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)
    enabled = _texts(data, "amp.tools.enable")
    shown = [pattern[1:] for glob in enabled for pattern in _hidden_tools(glob, prefixes)]
    if not shown:
        return _disabled('"amp.tools.enable" does not name it')
    return OuterLimit(filters=tuple(both(shown, list(dict.fromkeys(hidden)) or list(_ALL))))


def _amp_disabled(globs: list[str], prefixes: list[str]) -> list[str]:
    """Return the patterns that hide what these globs hide, by full names or by names without the server."""
    hidden = []
    for glob in globs:
        is_bare = not glob.startswith(("builtin:", "mcp__"))
        hidden += _hidden_tools(glob, prefixes) or ([f"!{glob}"] if is_bare else [])
    return hidden


def _amp_rejected(rules: object, prefixes: list[str]) -> list[str]:
    """Return the patterns for the tools that `amp.permissions` rejects, of which the first match counts."""
    if not isinstance(rules, list | None):
        raise _UnclearRule('"amp.permissions"')
    hidden: list[str] = []
    shown: list[str] = []
    for rule in rules or ():
        tool = rule.get("tool") if isinstance(rule, dict) else None
        if not isinstance(tool, str):
            raise _UnclearRule('"amp.permissions"')
        patterns = _hidden_tools(tool, prefixes)
        if rule.get("action") in ("allow", "ask"):
            shown += patterns
            continue
        is_partial = not rule.keys() <= {"tool", "action"}
        is_shown = any(_may_overlap(one[1:], other[1:]) for one in shown for other in patterns)
        if patterns and (is_partial or is_shown):
            raise _UnclearRule('"amp.permissions"')
        hidden += patterns
    return hidden


def _matches(entry: Tree, key: str, glob: object) -> bool:
    value = entry.get(key)
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return isinstance(text, str) and isinstance(glob, str) and fnmatchcase(text, glob)


def _zed(_file: FoundFile, data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    agent = _tree(data, "agent")
    profile = agent.get("default_profile", "write")
    chosen = _tree(agent, "profiles", str(profile))
    tools = _tree(chosen, "context_servers", server.name, "tools")
    filters = [f"!{tool}" for tool, is_shown in tools.items() if is_shown is False]
    filters += _zed_denied(_tree(agent, "tool_permissions"), f"mcp:{server.name}:")
    # Of the profiles that Zed comes with, this one alone has all servers.
    if not chosen.get("enable_all_context_servers", profile == "write"):
        shown = [included(tool, is_glob=False) for tool, is_shown in tools.items() if is_shown is True]
        if not shown:
            return _disabled(f'the profile "{profile}" does not use it')
        filters = both(shown, filters or list(_ALL))
    return OuterLimit(filters=tuple(dict.fromkeys(filters)) or _ALL)


def _zed_denied(permissions: Tree, prefix: str) -> list[str]:
    """Return the patterns that hide the tools of a server that Zed never runs. Raises _UnclearRule."""
    if permissions.get("default") == "deny":
        raise _UnclearRule('"agent.tool_permissions.default"')
    settings = {
        name.removeprefix(prefix): _tree(setting)
        for name, setting in _tree(permissions, "tools").items()
        if name.startswith(prefix)
    }
    if any(setting.get("always_deny") for setting in settings.values()):
        raise _UnclearRule('"agent.tool_permissions"')
    return [f"!{tool}" for tool, setting in settings.items() if setting.get("default") == "deny"]


def _goose(file: FoundFile, _data: Tree, server: FoundServer, _machine: Machine) -> OuterLimit:
    """Read the tools that a person has forbidden, by full name, in the file beside that of the servers."""
    permissions = _settings(os.path.join(os.path.dirname(file.path), "permission.yaml"), "yaml")
    names = {str(name) for name in (server.name, server.entry.get("name")) if name}
    prefixes = [_NOT_IN_A_TOOL.sub("_", re.sub(r"\s", "", name)).lower() + "__" for name in sorted(names)]
    hidden = [
        f"!{tool.removeprefix(prefix)}"
        for tool in _texts(permissions, "user", "never_allow")
        for prefix in prefixes
        if tool.startswith(prefix)
    ]
    return OuterLimit(filters=tuple(dict.fromkeys(hidden)) or _ALL)


_RULES: dict[OuterLimits, Callable[[FoundFile, Tree, FoundServer, Machine], OuterLimit]] = {
    "amazon-q": _amazon_q,
    "amp": _amp,
    "claude-code": _claude_code,
    "gemini": _gemini,
    "goose": _goose,
    "opencode": _opencode,
    "zed": _zed,
}
