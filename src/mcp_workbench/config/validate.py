"""The whole file against the model: toolboxes and what stands at the top.

Owns the rules of the top level and of a toolbox. Does not know what a server entry may hold: see `entry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.entry import read_server
from mcp_workbench.config.fields import as_object, check_keys, convert_fields
from mcp_workbench.config.model import ToolboxConfig, WorkbenchConfig
from mcp_workbench.config.text import check_name, check_text

if TYPE_CHECKING:
    from mcp_workbench.config.findings import Findings, Place
    from mcp_workbench.config.model import ServerConfig

_NESTING = '{ "toolboxes": { "dev": { "description": "What it is for", "mcpServers": { … } } } }'
_TOOLBOX = '{ "description": "What it is for", "mcpServers": { … } }'
_SERVER = '{ "command": "npx", "args": ["-y", "some-package"] }'

# The other field holds the servers, which are read one by one.
_DESCRIPTION = [field for field in msgspec.structs.fields(ToolboxConfig) if field.name == "description"]


def validate(tree: dict[str, object], findings: Findings) -> WorkbenchConfig:
    """The configuration, whole if `findings` holds no problem; what is wrong is left out and reported."""
    pasted = [key for key in ("mcpServers", "servers") if key in tree]
    for key in pasted:
        what = "servers stand inside a toolbox, not at the top of the file"
        findings.problem((key,), what, f"Move them: {_NESTING}")
    meant = check_keys(tree, ("$schema", "toolboxes", "toolMode", *pasted), (), findings)
    if "toolMode" in tree:
        _check_tool_mode(tree["toolMode"], findings)
    written = meant.get("toolboxes")
    if written is None:
        if not pasted:
            findings.problem((), '"toolboxes" is missing', f"Write {_NESTING}")
        return WorkbenchConfig(toolboxes={})
    # Under a key that is only nearly right too, so that one round of corrections is enough.
    named = as_object(tree[written], (written,), _NESTING, findings) or {}
    toolboxes = {name: _read_toolbox(value, (written, name), findings) for name, value in named.items()}
    return WorkbenchConfig(toolboxes={name: box for name, box in toolboxes.items() if box is not None})


def _check_tool_mode(mode: object, findings: Findings) -> None:
    place = ("toolMode",)
    delete = 'Delete the "toolMode" field.'
    if mode == "proxy":
        findings.warn(place, f"deprecated: the workbench always works in proxy mode. {delete}")
    elif mode == "dynamic":
        what = 'the mode "dynamic" was removed; the workbench always works in proxy mode'
        findings.problem(place, what, delete)
    else:
        what = "there is no such mode; the workbench always works in proxy mode"
        findings.problem(place, what, delete)


def _read_toolbox(value: object, place: tuple[str, str], findings: Findings) -> ToolboxConfig | None:
    check_name(place[-1], "toolbox", place, findings)
    toolbox = as_object(value, place, _TOOLBOX, findings)
    if toolbox is None:
        return None
    meant = check_keys(toolbox, ("description", "mcpServers"), place, findings)
    for key, example in (("description", '"What the toolbox is for"'), ("mcpServers", "{ … }")):
        if key not in meant:
            findings.problem((*place, key), "is missing", f'Write "{key}": {example}')
    description = _read_description(toolbox, place, findings)
    written = meant.get("mcpServers")
    servers = {} if written is None else _read_servers(toolbox[written], (*place, written), findings)
    return None if description is None else ToolboxConfig(description=description, servers=servers)


def _read_description(toolbox: dict[str, object], place: Place, findings: Findings) -> str | None:
    description: str | None = convert_fields(toolbox, _DESCRIPTION, place, findings).get("description")
    if description is not None:
        check_text(description, (*place, "description"), findings)
    return description


def _read_servers(value: object, place: Place, findings: Findings) -> dict[str, ServerConfig]:
    entries = as_object(value, place, f'{{ "my-server": {_SERVER} }}', findings)
    if entries == {}:
        findings.warn(place, "this toolbox has no servers")
    servers = {}
    for name, described in (entries or {}).items():
        check_name(name, "server", (*place, name), findings)
        entry = as_object(described, (*place, name), _SERVER, findings)
        if entry is not None:
            servers[name] = read_server(entry, (*place, name), findings)
    return servers
