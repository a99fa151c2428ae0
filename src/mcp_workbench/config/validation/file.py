"""Checks the whole file against the model: the keys at the top, and the toolboxes.

Owns the rules of the top level and of a toolbox. The rules of a server entry are in `validation.server`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.config.faults import Layout
from mcp_workbench.config.model.access import HttpConfig
from mcp_workbench.config.model.results import TOOLBOX, InlineConfig, ResultsConfig
from mcp_workbench.config.model.workbench import (
    DEFAULT_PIN,
    INHERITED,
    ServerConfig,
    ToolboxConfig,
    WorkbenchConfig,
)
from mcp_workbench.config.validation.fields import (
    as_object,
    check_keys,
    convert_fields,
    plain_fields,
    report_missing,
    warn_of_long_wait,
)
from mcp_workbench.config.validation.server import read_policy_of, read_results, read_server
from mcp_workbench.config.validation.text import check_name, check_names_differ, check_text

if TYPE_CHECKING:
    from msgspec.structs import FieldInfo

    from mcp_workbench.config.model.workbench import PinLevel
    from mcp_workbench.config.validation.problems import Place, Problems

_NESTING = '{ "toolboxes": { "dev": { "description": "What it is for", "mcpServers": { … } } } }'
_TOOLBOX = '{ "description": "What it is for", "mcpServers": { … } }'
_SERVER = '{ "command": "npx", "args": ["-y", "some-package"] }'

NO_DESCRIPTION = "(no description)"
"""The description of a toolbox that lacks one, where the workbench serves in spite of it."""

_FILE_KEYS = ("$schema", "toolMode", *WorkbenchConfig.__struct_encode_fields__)
_FILE_FIELDS = plain_fields(WorkbenchConfig)
_TOOLBOX_FIELDS = plain_fields(ToolboxConfig)


def validate(tree: dict[str, object], problems: Problems, layout: Layout | None = None) -> WorkbenchConfig:
    """Return the configuration in the tree of a file. Report every mistake, and leave out what is wrong.

    The configuration is complete only if no problem was found. `layout` is filled in with the places of
    toolboxes and servers.
    """
    layout = layout or Layout()
    pasted = [key for key in ("mcpServers", "servers") if key in tree]
    for key in pasted:
        what = "servers belong in a toolbox, not at the top of the file"
        problems.add((key,), what, f"Move them: {_NESTING}")
    meant = check_keys(tree, (*_FILE_KEYS, *pasted), (), problems)
    if "toolMode" in tree:
        _check_tool_mode(tree["toolMode"], problems)
    settings = _read_settings(tree, _FILE_FIELDS, (), problems)
    http = _read_http(tree, meant, problems)
    results = _read_results(tree, meant, problems)
    policy = read_policy_of(tree, meant, "file", (), problems)
    layout.policy = (meant.get("policy", "policy"),)
    written = meant.get("toolboxes")
    if written is None:
        if not pasted:
            problems.add((), '"toolboxes" is missing', f"Write {_NESTING}")
        return WorkbenchConfig(toolboxes={}, http=http, results=results, policy=policy, **settings)
    # A slip such as "toolboxs" is read too, so that one round of corrections is enough.
    named = as_object(tree[written], (written,), _NESTING, problems) or {}
    check_names_differ(named, "toolboxes", (written,), problems)
    layout.toolboxes = (written,)
    inherited = {name: value for name, value in settings.items() if name in INHERITED}
    inherited["results"] = InlineConfig(inline_limit=results.inline_limit)
    toolboxes = {
        name: _read_toolbox(value, inherited, (written, name), problems, layout)
        for name, value in named.items()
    }
    servers = {(name, server): at for name, box in toolboxes.items() for server, at in box.servers.items()}
    if any(config.flows for config in servers.values()):
        from mcp_workbench.config.validation.flows import warn_of_idle_flows  # noqa: PLC0415 - few files have them

        warn_of_idle_flows(servers, layout.servers, problems)
    if TOOLBOX in toolboxes:
        from mcp_workbench.config.validation.results import check_name_is_free  # noqa: PLC0415 - hardly any file

        check_name_is_free(toolboxes, (written,), problems)
    return WorkbenchConfig(toolboxes=toolboxes, http=http, results=results, policy=policy, **settings)


def _read_http(tree: dict[str, object], meant: dict[str, str], problems: Problems) -> HttpConfig:
    written = meant.get("http")
    if written is None:
        return HttpConfig()
    from mcp_workbench.config.validation.http import read_http  # noqa: PLC0415 - most files have no such object

    toolboxes = tree.get(meant.get("toolboxes", ""))
    named = toolboxes if isinstance(toolboxes, dict) else {}
    return read_http(tree[written], (written,), named, problems)


def _read_results(tree: dict[str, object], meant: dict[str, str], problems: Problems) -> ResultsConfig:
    written = meant.get("results")
    if written is None:
        return ResultsConfig()
    from mcp_workbench.config.validation.results import read_file_results  # noqa: PLC0415 - as for `http`

    return read_file_results(tree[written], (written,), problems)


def _read_settings(
    entry: dict[str, object], fields: list[FieldInfo], place: Place, problems: Problems
) -> dict[str, Any]:
    settings = convert_fields(entry, fields, place, problems)
    warn_of_long_wait(settings.get("open_deadline", 0), (*place, "openDeadline"), problems)
    return settings


def _check_tool_mode(mode: object, problems: Problems) -> None:
    place = ("toolMode",)
    delete = 'Delete the "toolMode" field.'
    if mode == "proxy":
        problems.warn(place, f"deprecated: the workbench always works in proxy mode. {delete}")
    elif mode == "dynamic":
        what = 'the mode "dynamic" was removed; the workbench always works in proxy mode'
        problems.add(place, what, delete)
    else:
        # Only `dynamic` ever meant something else than what the workbench does.
        what = "the workbench does not know this mode and ignores it; it always works in proxy mode"
        problems.warn(place, f"{what}. {delete}")


def _read_toolbox(
    value: object, inherited: dict[str, Any], place: tuple[str, str], problems: Problems, layout: Layout
) -> ToolboxConfig:
    layout.names[place] = place[-1]
    check_name(place[-1], "toolbox", place, problems)
    toolbox = as_object(value, place, _TOOLBOX, problems)
    if toolbox is None:
        return ToolboxConfig(description=NO_DESCRIPTION, servers={}, **inherited)
    meant = check_keys(toolbox, ToolboxConfig.__struct_encode_fields__, place, problems)
    report_missing(ToolboxConfig, meant, place, problems)
    settings = inherited | _read_settings(toolbox, _TOOLBOX_FIELDS, place, problems)
    check_text(settings.get("description", ""), (*place, "description"), problems)
    written = meant.get("mcpServers")
    results = settings["results"] = read_results(toolbox, meant, settings["results"], place, problems)
    settings["policy"] = read_policy_of(toolbox, meant, "toolbox", place, problems, around=place[-1:])
    layout.policies[*place, meant.get("policy", "policy")] = place[-1]
    inside = (*place, written or "mcpServers")
    layout.server_lists[inside] = place[-1]
    servers = {}
    if written is not None:
        pin = settings.get("pin", DEFAULT_PIN)
        servers = _read_servers(toolbox[written], results, pin, inside, problems)
        layout.servers |= {(*inside, name): (place[-1], name) for name in servers}
    return ToolboxConfig(servers=servers, **({"description": NO_DESCRIPTION} | settings))


def _read_servers(
    value: object, results: InlineConfig, pin: PinLevel, place: Place, problems: Problems
) -> dict[str, ServerConfig]:
    entries = as_object(value, place, f'{{ "my-server": {_SERVER} }}', problems)
    if entries == {}:
        problems.warn(place, "this toolbox has no servers")
    check_names_differ(entries or {}, "servers", place, problems)
    servers = {}
    for name, described in (entries or {}).items():
        check_name(name, "server", (*place, name), problems)
        entry = as_object(described, (*place, name), _SERVER, problems)
        servers[name] = (
            ServerConfig()
            if entry is None
            else read_server(entry, results, pin, (*place, name), problems, around=(str(place[1]), name))
        )
    return servers
