"""Checks one `mcpServers` entry, written for the workbench or for another client.

Owns the rules of a server entry: `type` as another word for `transport`, values that other clients allow, and
which keys go together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.config.model.policy import NO_POLICY
from mcp_workbench.config.model.workbench import ServerConfig, Transport
from mcp_workbench.config.validation.fields import (
    check_keys,
    convert_fields,
    kind_of,
    plain_fields,
    warn_of_long_wait,
)
from mcp_workbench.config.validation.oauth import read_oauth
from mcp_workbench.config.validation.text import check_header, check_os_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config.model.policy import PolicyConfig, PolicyPlace
    from mcp_workbench.config.model.results import InlineConfig
    from mcp_workbench.config.model.workbench import PinLevel
    from mcp_workbench.config.validation.problems import Place, Problems

TRANSPORT_OF_TYPE: dict[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "remote": "http",
    "sse": "sse",
}
"""The transport for each value of `type`, as clients spell them."""

_KEYS = ("type", *ServerConfig.__struct_encode_fields__)
_FIELDS = plain_fields(ServerConfig)


def read_server(
    entry: dict[str, object],
    results: InlineConfig,
    pin: PinLevel,
    place: Place,
    problems: Problems,
    *,
    around: Sequence[str] = (),
) -> ServerConfig:
    """Return the server of an entry. Report every mistake in it, and leave what is wrong at its default.

    `results` and `pin` are those of the toolbox, which hold if the entry has none of its own. `around` are
    the names of the toolbox and the server.
    """
    meant = check_keys(entry, _KEYS, place, problems)
    values = {"pin": pin} | convert_fields(_with_env_as_text(entry), _FIELDS, place, problems)
    if entry.get("oauth") is not None:
        values["oauth"] = read_oauth(entry["oauth"], (*place, "oauth"), problems)
    if "sandbox" in meant:
        from mcp_workbench.config.validation.sandbox import read_sandbox  # noqa: PLC0415 - few servers have one

        values["sandbox"] = read_sandbox(entry[meant["sandbox"]], (*place, meant["sandbox"]), problems)
    values["results"] = read_results(entry, meant, results, place, problems)
    values["policy"] = read_policy_of(entry, meant, "server", place, problems, around=around)
    if (written := meant.get("flows")) is not None:
        from mcp_workbench.config.validation.flows import read_flows  # noqa: PLC0415 - few files have them

        values["flows"] = read_flows(entry[written], (*place, written), problems)
    transport = _read_transport(entry, values, place, problems)
    given = {key for key in meant if entry.get(key, key) is not None}
    _check_target(given, transport, place, problems)
    _check_characters(values, place, problems)
    _warn_of_surprises(values, place, problems)
    default: Transport = "http" if values.get("url") else "stdio"
    return ServerConfig(**(values | {"transport": transport or default}))


def read_results(
    entry: dict[str, object],
    meant: dict[str, str],
    outer: InlineConfig,
    place: Place,
    problems: Problems,
) -> InlineConfig:
    """Return the `results` of a toolbox or a server, or `outer` if it has none of its own."""
    written = meant.get("results")
    if written is None:
        return outer
    from mcp_workbench.config.validation.results import read_inner_results  # noqa: PLC0415 - most files have no such object

    return read_inner_results(entry[written], outer, (*place, written), problems)


def read_policy_of(
    entry: dict[str, object],
    meant: dict[str, str],
    kind: PolicyPlace,
    place: Place,
    problems: Problems,
    *,
    around: Sequence[str] = (),
) -> PolicyConfig:
    """Return the `policy` of the file, a toolbox, a server or a token; an empty one if it has none."""
    written = meant.get("policy")
    if written is None:
        return NO_POLICY
    from mcp_workbench.config.validation.policy import read_policy  # noqa: PLC0415 - most files have none

    return read_policy(entry[written], kind, (*place, written), problems, around)


def _with_env_as_text(entry: dict[str, object]) -> dict[str, object]:
    """Return the entry with numbers in `env` as text and without nulls: VS Code allows both."""
    env = entry.get("env")
    if not isinstance(env, dict):
        return entry
    return entry | {"env": {name: _number_as_text(value) for name, value in env.items() if value is not None}}


def _number_as_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _read_transport(
    entry: dict[str, object], values: dict[str, Any], place: Place, problems: Problems
) -> Transport | None:
    """Return the transport that `transport` and its synonym `type` name, or None if neither names one."""
    declared: Transport | None = values.get("transport")
    if "type" not in entry:
        return declared
    written = entry["type"]
    typed = TRANSPORT_OF_TYPE.get(written) if isinstance(written, str) else None
    spellings = ", ".join(f'"{spelling}"' for spelling in TRANSPORT_OF_TYPE)
    if typed is None:
        suffix = "" if isinstance(written, str) else f", not {kind_of(written)}"
        problems.add((*place, "type"), f"should be one of {spellings}{suffix}", 'Or delete "type".')
    elif declared is not None and typed != declared:
        what = 'contradicts "transport": they are two words for the same thing'
        problems.add((*place, "type"), what, "Delete one of the two.")
    return declared or typed


def _check_target(given: set[str], transport: Transport | None, place: Place, problems: Problems) -> None:
    if {"command", "url"} <= given:
        what = 'has both "command" (a program to start) and "url" (a remote server)'
        problems.add(place, what, "Keep one of the two, or split it into two servers.")
    elif not {"command", "url"} & given:
        what = 'has neither "command" (a program to start) nor "url" (a remote server)'
        problems.add(place, what, 'Write for example "command": "npx", "args": ["-y", "some-package"]')
    elif transport is not None and ("command" in given) != (transport == "stdio"):
        key = "transport" if "transport" in given else "type"
        if "command" in given:
            what = 'is for a remote server ("url"), but this one has a "command"'
            remedy = f'Write "{key}": "stdio", or delete it.'
        else:
            what = 'is for a program to start ("command"), but this one has a "url"'
            remedy = f'Write "{key}": "http" or "sse", or delete it.'
        problems.add((*place, key), what, remedy)
    if "oauth" in given and "url" not in given:
        what = 'is for a remote server ("url"), and this one has none'
        problems.add((*place, "oauth"), what, "Delete it.")
    for key in ("envFile", "sandbox"):
        if key in given and "command" not in given:
            what = 'is for a program to start ("command"), and this is a remote server'
            problems.add((*place, key), what, "Delete it.")


def _check_characters(values: dict[str, Any], place: Place, problems: Problems) -> None:
    for key in ("command", "cwd"):
        if values.get(key) is not None:
            check_os_text(values[key], (*place, key), problems)
    for index, argument in enumerate(values.get("args", ())):
        check_os_text(argument, (*place, "args", index), problems)
    for name, value in values.get("env", {}).items():
        where = (*place, "env", name)
        check_os_text(name + value, where, problems)
        if not name or "=" in name:
            problems.add(
                where, "is not the name of a variable", "Write a name that is not empty and has no ="
            )
    for name, value in values.get("headers", {}).items():
        check_header(name, value, (*place, "headers", name), problems)
    url = values.get("url")
    if url is not None and url.lower().startswith(("ws://", "wss://")):
        what = "is a WebSocket address, and MCP has no WebSocket transport"
        remedy = (
            "Write the https:// address of the server: its documentation has it, often with /mcp at the end."
        )
        problems.add((*place, "url"), what, remedy, cause="websocket-url")
    elif url is not None and not url.lower().startswith(("http://", "https://")):
        problems.add((*place, "url"), "should start with http:// or https://", "Write the whole address.")


def _warn_of_surprises(values: dict[str, Any], place: Place, problems: Problems) -> None:
    if values.get("tool_filters") == []:
        problems.warn((*place, "toolFilters"), 'an empty list hides every tool; write ["*"] to show all')
    for name, key in (("timeout", "timeout"), ("startup_timeout", "startupTimeout")):
        warn_of_long_wait(values.get(name, 0), (*place, key), problems)
