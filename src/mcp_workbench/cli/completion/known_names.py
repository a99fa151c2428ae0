"""The names that a configuration and the catalogue have, for completion."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcp_workbench.cli.shell.addresses import WrongAddress, resolve
from mcp_workbench.cli.shell.schema_reading import SchemaReader, allowed_values, input_schema
from mcp_workbench.config import load_usable, locate
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text
from mcp_workbench.workbench.registry import build
from mcp_workbench.workbench.text.signatures import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_workbench.workbench.toolbox import Toolbox

SUMMARY_CHARACTERS = 60


class KnownNames:
    """The toolboxes, servers and tools of a configuration, as far as they are known without a start."""

    def __init__(self, toolboxes: Mapping[str, Toolbox], servers: Mapping[str, Sequence[str]]) -> None:
        self._toolboxes = toolboxes
        self._servers = servers

    def toolboxes(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield each toolbox with its description and its servers, disabled ones included."""
        for name, toolbox in self._toolboxes.items():
            yield name, toolbox.description, self._servers.get(name, ())

    def tools(self, toolbox: str, server: str) -> Iterator[tuple[str, str]]:
        """Yield the known tools of a server, each with a summary."""
        found = self._toolboxes[toolbox].toolbox_servers.get(server)
        known = None if found is None else found.known()
        for name, definition in () if known is None else known.index.items():
            description = decode_text(decode_members(definition).get("description", ABSENT)) or ""
            yield name, summary(description, SUMMARY_CHARACTERS)

    def arguments(self, tool: str) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the arguments of a tool: name, type, and the values that it can have if they are few."""
        try:
            definition = resolve(tool, self._toolboxes).definition
        except WrongAddress:
            return
        schema = input_schema(definition)
        schemas = SchemaReader(schema)
        for name, is_required, inner in schemas.fields(schema):
            mark = ", required" if is_required else ""
            yield name, f"{schemas.kind_of(inner)}{mark}", _values(schemas.resolved(inner))


def known_names(config: str | None) -> KnownNames:
    """Return the names in a configuration file, mistakes or not. Secrets are not looked up."""
    loaded = load_usable(locate(config, os.environ), os.environ, lookup=_pretend)
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ))
    servers = {name: list(toolbox.servers) for name, toolbox in loaded.config.toolboxes.items()}
    return KnownNames(workbench.toolboxes, servers)


def _pretend(name: str) -> str:
    """Return a value for a secret that is not looked up, so that no keyring is unlocked."""
    return f"<secret {name}>"


def _values(schema: dict[str, Any]) -> list[str]:
    if schema.get("type") == "boolean":
        return ["true", "false"]
    return [value for value in allowed_values(schema) if isinstance(value, str)]
