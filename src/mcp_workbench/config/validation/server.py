"""One `mcpServers` entry, as the workbench's own documentation or another client's file spells it.

Owns the rules of a server entry: `type` as another word for `transport`, values that other clients allow, and
which keys go together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    from mcp_workbench.config.model.results import InlineConfig
    from mcp_workbench.config.validation.problems import Place, Problems

TRANSPORT_OF_TYPE: dict[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}

_KEYS = ("type", *ServerConfig.__struct_encode_fields__)
_FIELDS = plain_fields(ServerConfig)


def read_server(
    entry: dict[str, object], results: InlineConfig | bool, place: Place, findings: Problems
) -> ServerConfig:
    """The entry's server, with the `results` of its toolbox if it has none of its own; every mistake in it is
    reported, and what is wrong is left at its default."""
    meant = check_keys(entry, _KEYS, place, findings)
    values = convert_fields(_with_env_as_text(entry), _FIELDS, place, findings)
    if entry.get("oauth") is not None:
        values["oauth"] = read_oauth(entry["oauth"], (*place, "oauth"), findings)
    values["results"] = read_results(entry, meant, results, place, findings)
    transport = _read_transport(entry, values, place, findings)
    given = {key for key in meant if entry.get(key, key) is not None}
    _check_target(given, transport, place, findings)
    _check_characters(values, place, findings)
    _warn_of_surprises(values, place, findings)
    default: Transport = "http" if values.get("url") else "stdio"
    return ServerConfig(**(values | {"transport": transport or default}))


def read_results(
    entry: dict[str, object],
    meant: dict[str, str],
    outer: InlineConfig | bool,
    place: Place,
    findings: Problems,
) -> InlineConfig | bool:
    """The `results` of a toolbox or a server, which are those around it if it has none of its own."""
    written = meant.get("results")
    if written is None:
        return outer
    from mcp_workbench.config.validation.results import read_inside  # noqa: PLC0415 - most files have no such object

    return read_inside(entry[written], outer, (*place, written), findings)


def _with_env_as_text(entry: dict[str, object]) -> dict[str, object]:
    """VS Code allows numbers in `env`, and null for "leave it as it is"."""
    env = entry.get("env")
    if not isinstance(env, dict):
        return entry
    return entry | {"env": {name: _number_as_text(value) for name, value in env.items() if value is not None}}


def _number_as_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _read_transport(
    entry: dict[str, object], values: dict[str, Any], place: Place, findings: Problems
) -> Transport | None:
    """What `transport` and its synonym `type` say together; None when neither says anything usable."""
    declared: Transport | None = values.get("transport")
    if "type" not in entry:
        return declared
    written = entry["type"]
    typed = TRANSPORT_OF_TYPE.get(written) if isinstance(written, str) else None
    spellings = ", ".join(f'"{spelling}"' for spelling in TRANSPORT_OF_TYPE)
    if typed is None:
        suffix = "" if isinstance(written, str) else f", not {kind_of(written)}"
        findings.problem((*place, "type"), f"should be one of {spellings}{suffix}", 'Or delete "type".')
    elif declared is not None and typed != declared:
        what = 'contradicts "transport": they are two words for the same thing'
        findings.problem((*place, "type"), what, "Delete one of the two.")
    return declared or typed


def _check_target(given: set[str], transport: Transport | None, place: Place, findings: Problems) -> None:
    if {"command", "url"} <= given:
        what = 'has both "command" (a program to start) and "url" (a remote server)'
        findings.problem(place, what, "Keep one of the two, or make two servers of it.")
    elif not {"command", "url"} & given:
        what = 'has neither "command" (a program to start) nor "url" (a remote server)'
        findings.problem(place, what, 'Write for example "command": "npx", "args": ["-y", "some-package"]')
    elif transport is not None and ("command" in given) != (transport == "stdio"):
        key = "transport" if "transport" in given else "type"
        if "command" in given:
            what = 'is for a remote server ("url"), but this one has a "command"'
            remedy = f'Write "{key}": "stdio", or delete it.'
        else:
            what = 'is for a program to start ("command"), but this one has a "url"'
            remedy = f'Write "{key}": "http" or "sse", or delete it.'
        findings.problem((*place, key), what, remedy)
    if "oauth" in given and "url" not in given:
        what = 'is for a remote server ("url"), and this one has none'
        findings.problem((*place, "oauth"), what, "Delete it.")


def _check_characters(values: dict[str, Any], place: Place, findings: Problems) -> None:
    for key in ("command", "cwd"):
        if values.get(key) is not None:
            check_os_text(values[key], (*place, key), findings)
    for index, argument in enumerate(values.get("args", ())):
        check_os_text(argument, (*place, "args", index), findings)
    for name, value in values.get("env", {}).items():
        where = (*place, "env", name)
        check_os_text(name + value, where, findings)
        if not name or "=" in name:
            findings.problem(
                where, "is not the name of a variable", "Write a name that is not empty and has no ="
            )
    for name, value in values.get("headers", {}).items():
        check_header(name, value, (*place, "headers", name), findings)
    url = values.get("url")
    if url is not None and not url.lower().startswith(("http://", "https://")):
        findings.problem((*place, "url"), "should start with http:// or https://", "Write the whole address.")


def _warn_of_surprises(values: dict[str, Any], place: Place, findings: Problems) -> None:
    if values.get("tool_filters") == []:
        findings.warn((*place, "toolFilters"), 'an empty list hides every tool; write ["*"] to show all')
    for name, key in (("timeout", "timeout"), ("startup_timeout", "startupTimeout")):
        warn_of_long_wait(values.get(name, 0), (*place, key), findings)
