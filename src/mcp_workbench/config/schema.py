"""The JSON Schema of the file, for editors and for `mcp-workbench schema`.

Owns what the model's types cannot say: `$schema` and `toolMode` at the top, `type` as another word for
`transport`, and which keys go together. All else comes from the model.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_workbench.config.model.workbench import WorkbenchConfig
from mcp_workbench.config.validation.server import TRANSPORT_OF_TYPE

_NAME = {"pattern": r"\S"}


def json_schema() -> dict[str, object]:
    """The schema, in the draft 2020-12."""
    definitions: dict[str, Any] = msgspec.json.schema(WorkbenchConfig)["$defs"]
    top = definitions.pop("WorkbenchConfig")
    _complete_server(definitions["ServerConfig"])
    _complete_oauth(definitions["OAuthConfig"])
    toolbox = definitions["ToolboxConfig"]["properties"]
    toolbox["mcpServers"]["propertyNames"] = _NAME
    # Its absence means what the file has at its top.
    del toolbox["openDeadline"]["default"]
    top["properties"]["toolboxes"]["propertyNames"] = _NAME
    _complete_http(top["properties"]["http"], definitions)
    _complete_results(top["properties"], toolbox, definitions)
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
                "const": "proxy",
                "deprecated": True,
            },
        },
        "required": top["required"],
        "$defs": definitions,
    }


def _complete_server(server: dict[str, Any]) -> None:
    properties = server["properties"]
    for key in ("command", "cwd", "oauth", "transport", "url"):
        # Their absence is not the same as any value.
        del properties[key]["default"]
    properties["toolFilters"]["default"] = ["*"]
    properties["env"]["additionalProperties"] = {"type": ["string", "number", "null"]}
    properties["type"] = {
        "description": "Another word for `transport`, as other clients write it.",
        "enum": list(TRANSPORT_OF_TYPE),
    }
    program = _target("command", ["stdio"])
    program["properties"]["oauth"] = {"type": "null"}
    server["oneOf"] = [program, _target("url", ["http", "sse"])]


def _complete_oauth(oauth: dict[str, Any]) -> None:
    for key, described in oauth["properties"].items():
        if key != "grant":
            # Their absence is not the same as any value.
            del described["default"]
    of_a_client = ("clientSecret", "issuer", "privateKeyFile")
    oauth["dependentRequired"] = {key: ["clientId"] for key in of_a_client}
    oauth["not"] = {"required": ["clientId", "clientMetadataUrl"]}


def _complete_http(http: dict[str, Any], definitions: dict[str, Any]) -> None:
    # Their absence is not the same as any value.
    del http["default"]
    del definitions["HttpConfig"]["properties"]["oauth"]["default"]
    del definitions["HttpConfig"]["properties"]["shares"]["default"]
    issuer = definitions["IssuerConfig"]["properties"]
    for key in ("audience", "jwksUri"):
        del issuer[key]["default"]
    issuer["scopes"]["minProperties"] = 1


def _complete_results(
    top: dict[str, Any], toolbox: dict[str, Any], definitions: dict[str, dict[str, Any]]
) -> None:
    server = definitions["ServerConfig"]["properties"]
    for described, name in ((top, "Results"), (toolbox, "Inline"), (server, "Inline")):
        description = described["results"]["description"]
        either = [{"$ref": f"#/$defs/{name}Config"}, {"const": False}]
        described["results"] = {"description": description, "anyOf": either}
    # What does not say how much is kept leaves it at what holds around it.
    del definitions["InlineConfig"]["required"]
    limit = definitions["ResultsConfig"]["properties"]["inlineLimit"]
    (number,) = (side for side in limit.pop("anyOf") if side["type"] == "integer")
    del limit["default"]
    limit |= number


def _target(key: str, transports: list[str]) -> dict[str, Any]:
    types = [spelling for spelling, transport in TRANSPORT_OF_TYPE.items() if transport in transports]
    return {
        "required": [key],
        "properties": {key: {"type": "string"}, "transport": {"enum": transports}, "type": {"enum": types}},
    }
