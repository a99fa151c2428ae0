"""The JSON Schema accepts what loads and refuses what an editor can know to be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from mcp_workbench.config import (
    HttpConfig,
    InlineConfig,
    IssuerConfig,
    OAuthConfig,
    ResultsConfig,
    ServerConfig,
    ToolboxConfig,
    WorkbenchConfig,
)
from mcp_workbench.config.schema import json_schema
from tests.config.loading import load_content, one_server, problems, toolbox

EXAMPLES = sorted(Path(__file__).parents[2].glob("docs/examples/*.json"))

ISSUER = {"issuer": "https://x", "resource": "https://y/mcp", "scopes": {"s": ["*"]}}

VALID: list[Any] = [
    {"toolboxes": {}},
    {"$schema": "./x.json", "toolMode": "proxy", "toolboxes": {"my box": toolbox()}},
    {"toolMode": "static", "toolboxes": {}},
    one_server({"command": "x", "type": "stdio", "env": {"A": "1", "B": 2, "C": None}, "autoApprove": []}),
    {"openDeadline": 0.5, "toolboxes": {"dev": toolbox() | {"openDeadline": 60}}},
    one_server({"command": "x", "callLimit": 100_000, "messageLimit": 2**30}),
    one_server({"command": "x", "inheritEnv": True, "toolFilters": [], "timeout": 0.5, "cwd": None}),
    one_server({"url": "https://x", "type": "streamableHttp", "headers": {"A": "b"}}),
    one_server({"url": "https://x", "type": "remote"}),
    one_server({"command": "x", "type": "local"}),
    one_server({"url": "https://x", "transport": "sse", "command": None}),
    one_server({"command": "x", "oauth": None}),
    one_server({"url": "https://x", "oauth": {}}),
    one_server({"url": "https://x", "oauth": {"clientId": "c", "callbackPort": 8765, "scopes": ["a", "b"]}}),
    one_server({"url": "https://x", "oauth": {"clientMetadataUrl": "https://x/client.json"}}),
    {"results": {}, "toolboxes": {}},
    {"results": False, "toolboxes": {"dev": toolbox() | {"results": {"inlineLimit": 1000}}}},
    {"results": {"memory": 0, "quota": 0, "lifetime": 0.5}, "toolboxes": {}},
    one_server({"command": "x", "results": {"inlineLimit": 2**30}}),
    one_server({"command": "x", "results": False}),
    {
        "results": {"inlineLimit": "off"},
        "toolboxes": {"dev": toolbox() | {"results": {"inlineLimit": "off"}}},
    },
    {"policy": "careful", "toolboxes": {"dev": toolbox() | {"policy": {"fs/x_*": "ask", "hide": False}}}},
    one_server({"command": "x", "policy": {"*": "deny", "read-only": "allow", "ask": "console"}}),
    one_server({"command": "x", "policy": {"hide": "deny", "ask": "ask", "limits": "allow"}}),
    {"policy": {"preset": "careful", "limits": {"tools": {"x": {"callsInFlight": 1}}}}, "toolboxes": {}},
    {"http": {}, "toolboxes": {}},
    {"http": {"allowedHosts": ["a", "b:1"], "allowedOrigins": [], "oauth": None}, "toolboxes": {}},
    {"http": {"oauth": ISSUER | {"audience": "x", "jwksUri": None}}, "toolboxes": {}},
]

INVALID: list[Any] = [
    [],
    {},
    {"mcpServers": {}},
    {"toolMode": "dynamic", "toolboxes": {}},
    {"toolboxes": []},
    {"toolboxes": {"": toolbox()}},
    {"toolboxes": {"dev": {"mcpServers": {}}}},
    {"toolboxes": {"dev": {"description": " ", "mcpServers": {}}}},
    {"toolboxes": {"dev": {"description": "d"}}},
    {"toolboxes": {"dev": toolbox(**{"": {"command": "x"}})}},
    one_server({}),
    one_server({"command": ""}),
    one_server({"command": "x", "url": "https://x"}),
    one_server({"command": "x", "transport": "http"}),
    one_server({"command": "x", "type": "sse"}),
    one_server({"url": "https://x", "type": "stdio"}),
    one_server({"command": "x", "args": "-y"}),
    one_server({"command": "x", "args": [1]}),
    one_server({"command": "x", "env": {"A": True}}),
    one_server({"command": "x", "timeout": 0}),
    one_server({"command": "x", "timeout": "5"}),
    one_server({"command": "x", "callLimit": 0}),
    one_server({"command": "x", "callLimit": 1.5}),
    one_server({"command": "x", "messageLimit": 1024}),
    one_server({"command": "x", "oauth": {}}),
    one_server({"url": "https://x", "oauth": True}),
    one_server({"url": "https://x", "oauth": {"clientSecret": "s"}}),
    one_server({"url": "https://x", "oauth": {"clientId": "c", "clientMetadataUrl": "https://x/c"}}),
    one_server({"url": "https://x", "oauth": {"callbackPort": 65536}}),
    one_server({"url": "https://x", "oauth": {"scopes": [1]}}),
    one_server({"url": "https://x", "oauth": {"grant": "password"}}),
    {"openDeadline": 0, "toolboxes": {}},
    {"toolboxes": {"dev": toolbox() | {"openDeadline": "15"}}},
    one_server({"command": "x", "inheritEnv": "A"}),
    one_server({"command": "x", "protocol": "newest"}),
    {"results": True, "toolboxes": {}},
    {"results": None, "toolboxes": {}},
    {"results": {"inlineLimit": "on"}, "toolboxes": {}},
    {"results": {"inlineLimit": 999}, "toolboxes": {}},
    {"results": {"inlineLimit": None}, "toolboxes": {}},
    {"results": {"inlineLimit": 100_000.5}, "toolboxes": {}},
    {"results": {"quota": -1}, "toolboxes": {}},
    {"results": {"lifetime": 0}, "toolboxes": {}},
    {"toolboxes": {"dev": toolbox() | {"results": 100_000}}},
    one_server({"command": "x", "results": {"inlineLimit": "100000"}}),
    {"policy": "strict", "toolboxes": {}},
    {"policy": None, "toolboxes": {}},
    one_server({"command": "x", "policy": {"x": "block"}}),
    one_server({"command": "x", "policy": {"hide": "yes"}}),
    one_server({"command": "x", "policy": {"limits": {"callsPerMinute": 0}}}),
    one_server({"command": "x", "policy": {"limits": {"perMinute": 5}}}),
    {"toolboxes": {"dev": toolbox() | {"policy": {"ask": "never"}}}},
    {"http": [], "toolboxes": {}},
    {"http": {"allowedHosts": "x"}, "toolboxes": {}},
    {"http": {"allowedOrigins": [1]}, "toolboxes": {}},
    {"http": {"oauth": {}}, "toolboxes": {}},
    {"http": {"oauth": ISSUER | {"issuer": " "}}, "toolboxes": {}},
    {"http": {"oauth": ISSUER | {"audience": 1}}, "toolboxes": {}},
    {"http": {"oauth": ISSUER | {"scopes": {}}}, "toolboxes": {}},
    {"http": {"oauth": ISSUER | {"scopes": {"s": "*"}}}, "toolboxes": {}},
    {"http": {"oauth": ISSUER | {"scopes": {"s": [1]}}}, "toolboxes": {}},
]


def accepts(tree: object) -> bool:
    return jsonschema.Draft202012Validator(json_schema()).is_valid(tree)


def test_the_schema_is_a_schema_without_an_address_of_its_own() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema


@pytest.mark.parametrize("tree", VALID, ids=json.dumps)
def test_what_the_schema_accepts_loads(tmp_path: Path, tree: object) -> None:
    assert accepts(tree)
    load_content(tmp_path, tree)


@pytest.mark.parametrize("tree", INVALID, ids=json.dumps)
def test_what_the_schema_refuses_does_not_load(tmp_path: Path, tree: object) -> None:
    assert not accepts(tree)
    assert problems(tmp_path, tree)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_accepted(path: Path) -> None:
    assert accepts(json.loads(path.read_text()))


def test_every_key_is_described() -> None:
    schema: dict[str, Any] = json_schema()
    definitions = schema["$defs"]
    described: dict[type[msgspec.Struct], dict[str, Any]] = {
        WorkbenchConfig: schema["properties"],
        HttpConfig: definitions["HttpConfig"]["properties"],
        InlineConfig: definitions["InlineConfig"]["properties"],
        ResultsConfig: definitions["ResultsConfig"]["properties"],
        IssuerConfig: definitions["IssuerConfig"]["properties"],
        ToolboxConfig: definitions["ToolboxConfig"]["properties"],
        ServerConfig: definitions["ServerConfig"]["properties"],
        OAuthConfig: definitions["OAuthConfig"]["properties"],
    }
    extra: dict[type[msgspec.Struct], set[str]] = {
        WorkbenchConfig: {"$schema", "toolMode"},
        HttpConfig: set(),
        InlineConfig: set(),
        ResultsConfig: set(),
        IssuerConfig: set(),
        ToolboxConfig: set(),
        ServerConfig: {"type"},
        OAuthConfig: set(),
    }
    for struct, properties in described.items():
        keys = {field.encode_name for field in msgspec.structs.fields(struct)}
        assert set(properties) == keys | extra[struct]
        assert all(key["description"] for key in properties.values())
