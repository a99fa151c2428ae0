"""Lists the toolboxes and servers of a configuration file as they are written, mistakes included.

Owns what is shown of an entry: its program or its address, with literal secrets masked. References to
variables and stored secrets are shown as they are written. Starts nothing, and reads no secret.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config import load_usable
from mcp_workbench.config.documents import open_document
from mcp_workbench.config.entries.translate import translate
from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.config.source.expand import is_disabled
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import ConfigError, DocumentError, EditRefused
from mcp_workbench.setup.config_file import stored_names
from mcp_workbench.setup.editing import TOOLBOXES, path_of, servers_of, toolboxes_of
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.registry import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import LoadedConfig, Origin
    from mcp_workbench.config.documents import Document
    from mcp_workbench.errors import Problem

MASK: Final = "***"
"""Stands in the place of a literal secret."""

_USER_IN_URL: Final = re.compile(r"(?<=://)[^/?#\s]*@")


class ListedServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A server in the list: what its entry says, and what is wrong with it."""

    server: str
    line: int | None
    state: Literal["enabled", "disabled"]
    runs: str
    """The command line of the program, or the address of the remote server."""
    tool_filters: tuple[str, ...] = ()
    tools: int | None = None
    """Number of its tools when they were last listed; None if that is not known."""
    problems: tuple[str, ...] = ()


class ListedToolbox(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A toolbox in the list, with its servers in the order of the file."""

    toolbox: str
    line: int | None
    description: str
    servers: tuple[ListedServer, ...]
    problems: tuple[str, ...] = ()


class Listing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The toolboxes of a configuration file in their order, and what is wrong with the file as a whole."""

    file: str
    toolboxes: tuple[ListedToolbox, ...]
    problems: tuple[str, ...] = ()


async def list_configuration(path: str, environ: Mapping[str, str]) -> Listing:
    """Return what a configuration file has. Raises ConfigError if it cannot be read or parsed at all."""
    loaded = load_usable(path, environ, lookup=stored_names(environ))
    faults = loaded.faults
    document = _read(path)
    if document is None:
        raise ConfigError(path, faults.all)
    tools = await _known_tools(loaded, environ)
    servers = [
        (
            origin[0],
            _listed(
                origin[1],
                entry,
                document.line_of(path_of(origin)),
                tools.get(origin),
                _texts(faults.servers.get(origin, ())),
            ),
        )
        for origin, entry in servers_of(document.data).items()
    ]
    return Listing(
        file=path,
        toolboxes=tuple(
            ListedToolbox(
                toolbox=name,
                line=document.line_of((TOOLBOXES, name)),
                description=_text_of(content, "description"),
                servers=tuple(server for toolbox, server in servers if toolbox == name),
                problems=_texts(faults.toolboxes.get(name, ())),
            )
            for name, content in toolboxes_of(document.data).items()
        ),
        problems=_texts((*faults.file, *faults.settings)),
    )


def _read(path: str) -> Document | None:
    """Return the file as a document; None if it has no toolboxes to list."""
    try:
        document = open_document("json", Path(path).read_bytes())
        toolboxes_of(document.data)
    except (OSError, DocumentError, EditRefused):
        return None
    return document


async def _known_tools(loaded: LoadedConfig, environ: Mapping[str, str]) -> dict[Origin, int]:
    """Return the number of tools of each server that the catalogue knows."""
    workbench = build(loaded, environ=environ, cache=cache_directory(environ))
    try:
        servers = workbench.toolbox_servers.items()
        found = {origin: toolbox_server.known() for origin, toolbox_server in servers}
    finally:
        await workbench.close()
    return {origin: len(known.index) for origin, known in found.items() if known is not None}


def _listed(
    name: str, entry: object, line: int | None, tools: int | None, problems: tuple[str, ...]
) -> ListedServer:
    if not isinstance(entry, dict):
        return ListedServer(server=name, line=line, state="enabled", runs="", problems=problems)
    # What is wrong with it is known already.
    ours = translate(entry, (), Problems())
    filters = ours.get("toolFilters")
    return ListedServer(
        server=name,
        line=line,
        state="disabled" if is_disabled(ours) else "enabled",
        runs=shown_target(ours),
        tool_filters=tuple(map(str, filters)) if isinstance(filters, list) else (),
        tools=tools,
        problems=problems,
    )


def shown_target(entry: Mapping[str, object]) -> str:
    """Return the command line of an entry, or its address, with literal secrets masked."""
    secrets = sorted((secret.value for secret in find_secrets(entry)), key=len, reverse=True)
    if url := _text_of(entry, "url"):
        return _masked(url, secrets)
    args = entry.get("args")
    words = [entry.get("command"), *(args if isinstance(args, list) else [])]
    # Masked before they are quoted: a quote in a secret is written in another way.
    return " ".join(_quoted(_masked(word, secrets)) for word in words if isinstance(word, str))


def _masked(text: str, secrets: Sequence[str]) -> str:
    """Return a text without its literal secrets, and an address without user and password."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _USER_IN_URL.sub(f"{MASK}@", text)


def _quoted(word: str) -> str:
    # Not for every character that a shell knows: a reference such as ${HOME} is easier to read without.
    return shlex.quote(word) if not word or re.search(r"[\s'\"\\]", word) else word


def _text_of(node: object, key: str) -> str:
    value = node.get(key) if isinstance(node, dict) else None
    return value if isinstance(value, str) else ""


def _texts(problems: Sequence[Problem]) -> tuple[str, ...]:
    return tuple(map(str, problems))
