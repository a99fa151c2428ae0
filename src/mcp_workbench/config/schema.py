"""The JSON Schema of the configuration file, for editors and for `mcp-workbench schema`.

Owns what the model's types cannot say: `$schema` and `toolMode` at the top, `type` as another word for
`transport`, which keys go together, and which defaults depend on other keys. All else comes from the model.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_workbench.config.model.policy import ACTIONS, PRESETS
from mcp_workbench.config.model.workbench import INHERITED, ToolboxConfig, WorkbenchConfig
from mcp_workbench.config.validation.server import TRANSPORT_OF_TYPE

_NAME = {"pattern": r"\S"}


def json_schema() -> dict[str, object]:
    """Return the schema of the configuration file, in the draft 2020-12."""
    definitions: dict[str, Any] = msgspec.json.schema(WorkbenchConfig)["$defs"]
    _drop_defaults(definitions)
    top = definitions.pop("WorkbenchConfig")
    _complete_server(definitions["ServerConfig"])
    _complete_oauth(definitions["OAuthConfig"])
    toolbox = definitions["ToolboxConfig"]["properties"]
    toolbox["mcpServers"]["propertyNames"] = _NAME
    top["properties"]["toolboxes"]["propertyNames"] = _NAME
    definitions["IssuerConfig"]["properties"]["scopes"]["minProperties"] = 1
    _complete_results(top["properties"], toolbox, definitions)
    _complete_policy(definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "MCP Workbench configuration",
        "description": "MCP servers in toolboxes. Every string may hold ${VAR} or ${VAR:-default}.",
        "type": "object",
        "properties": {
            "$schema": {"description": "The address of this schema, for editors.", "type": "string"},
            **top["properties"],
            "toolMode": {
                "description": "Deprecated: the workbench always works in proxy mode. Delete it.",
                "not": {"const": "dynamic"},
                "deprecated": True,
            },
        },
        "required": top["required"],
        "$defs": definitions,
    }


def _drop_defaults(definitions: dict[str, Any]) -> None:
    """Drop the defaults that stand for "not set": to write such a value into the file is not the same."""
    for definition in definitions.values():
        for described in definition["properties"].values():
            if "$ref" in described or described.get("default", "") is None:
                described.pop("default", None)
    toolbox = definitions["ToolboxConfig"]["properties"]
    for field in msgspec.structs.fields(ToolboxConfig):
        if field.name in INHERITED:
            toolbox[field.encode_name].pop("default", None)
    # A server takes it from its toolbox, which may take it from the file.
    del definitions["ServerConfig"]["properties"]["pin"]["default"]
    # The transport depends on `command` or `url`, and the scopes on what the server asks for.
    del definitions["ServerConfig"]["properties"]["transport"]["default"]
    del definitions["OAuthConfig"]["properties"]["scopes"]["default"]


def _complete_server(server: dict[str, Any]) -> None:
    properties = server["properties"]
    properties["toolFilters"]["default"] = ["*"]
    properties["flows"]["propertyNames"] = {"pattern": "^[^!/][^/]*/[^!]"}
    sandbox = properties["sandbox"]
    properties["sandbox"] = {
        "description": sandbox["description"],
        "examples": sandbox["examples"],
        "anyOf": [{"$ref": "#/$defs/SandboxConfig"}, {"type": ["boolean", "null"]}],
    }
    properties["env"]["additionalProperties"] = {"type": ["string", "number", "null"]}
    properties["type"] = {
        "description": "Another word for `transport`, as other clients write it.",
        "enum": list(TRANSPORT_OF_TYPE),
    }
    program = _target("command", ["stdio"])
    program["properties"]["oauth"] = {"type": "null"}
    server["oneOf"] = [program, _target("url", ["http", "sse"])]


def _complete_oauth(oauth: dict[str, Any]) -> None:
    oauth["dependentRequired"] = {key: ["clientId"] for key in ("clientSecret", "issuer", "privateKeyFile")}
    oauth["not"] = {"required": ["clientId", "clientMetadataUrl"]}


def _complete_results(
    top: dict[str, Any], toolbox: dict[str, Any], definitions: dict[str, dict[str, Any]]
) -> None:
    server = definitions["ServerConfig"]["properties"]
    for described, name in ((top, "Results"), (toolbox, "Inline"), (server, "Inline")):
        description = described["results"]["description"]
        either = [{"$ref": f"#/$defs/{name}Config"}, {"const": False}]
        described["results"] = {"description": description, "anyOf": either}
    # An empty object inside leaves the limit as the toolbox or the file has it.
    del definitions["InlineConfig"]["properties"]["inlineLimit"]["default"]


def _complete_policy(definitions: dict[str, dict[str, Any]]) -> None:
    """Describe a policy as it is written: flat, with patterns as keys, or only the name of a preset."""
    action = {"enum": list(ACTIONS)}
    presets = {"enum": list(PRESETS)}
    described = definitions["PolicyConfig"]["properties"]
    limits = described["limits"]
    settings = {
        "preset": ("Rules with a name: `careful` asks before all that is not read-only.", presets),
        "hide": ("Whether tools that are denied are left out of lists and searches.", {"type": "boolean"}),
        "ask": ("Where a person is asked.", {"enum": ["client", "console"]}),
        "limits": ("How many calls may be made in a minute, and be in flight at once.", limits),
    }
    definitions["PolicyConfig"] = {
        "title": "PolicyConfig",
        "description": "Names and globs of tools, hints and kinds of requests, and what to do with them.",
        "anyOf": [
            presets,
            {
                "type": "object",
                "properties": {
                    # A tool may have one of these names.
                    key: {"description": description, "anyOf": [schema, action]}
                    for key, (description, schema) in settings.items()
                },
                "additionalProperties": action,
            },
        ],
    }
    for limited in ("CallLimits", "LimitsConfig"):
        definitions[limited]["additionalProperties"] = False
        for count in definitions[limited]["properties"].values():
            count.pop("default", None)


def _target(key: str, transports: list[str]) -> dict[str, Any]:
    types = [spelling for spelling, transport in TRANSPORT_OF_TYPE.items() if transport in transports]
    return {
        "required": [key],
        "properties": {key: {"type": "string"}, "transport": {"enum": transports}, "type": {"enum": types}},
    }
