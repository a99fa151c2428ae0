"""Edits of the configuration as a document: servers are found by name, added, removed, switched and moved.

Owns what an edit changes in the document. `config_file` reads and writes the file, and checks the outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.entries.vocabulary import SWITCHES
from mcp_workbench.errors import EditRefused, NameTaken
from mcp_workbench.setup.importing.categories import OTHER, category_of
from mcp_workbench.setup.importing.grouping import GroupedServer, describe
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.config.documents import Document, Step

DEFAULT_TOOLBOX: Final = "main"
"""Name of the toolbox that is made for the first server, where no other is named."""
MAX_LISTED_NAMES: Final = 10
"""Names that an error lists, at most."""
MAX_DESCRIPTION_CHARACTERS: Final = 120
"""Length of the longest description that is made from what a server says about itself."""

TOOLBOXES: Final = "toolboxes"
SERVERS: Final = "mcpServers"


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """A server to add, and the description for its toolbox if that has to be made."""

    toolbox: str
    server: str
    entry: dict[str, object]
    description: str
    replace: bool = False
    """Whether an entry of the same name is replaced."""


def path_of(origin: Origin) -> tuple[Step, ...]:
    """Return where the entry of a server stands in the document."""
    toolbox, server = origin
    return TOOLBOXES, toolbox, SERVERS, server


def toolboxes_of(data: Mapping[str, object]) -> dict[str, object]:
    """Return the toolboxes of a document as the file has them. Raises EditRefused if they are no object."""
    toolboxes = data.get(TOOLBOXES, {})
    if not isinstance(toolboxes, dict):
        raise EditRefused('"toolboxes" in the file is not an object. Correct it first')
    return toolboxes


def servers_of(data: Mapping[str, object]) -> dict[Origin, object]:
    """Return the entries of all servers of a document, as the file has them."""
    return {
        (toolbox, server): entry
        for toolbox, content in toolboxes_of(data).items()
        for server, entry in _servers_in(content).items()
    }


def find_server(data: Mapping[str, object], name: str) -> Origin:
    """Return the server that a person names, as `TOOLBOX/SERVER` or by its own name if only one has it.

    The names of both may have slashes in them. Raises EditRefused if no server is meant, or several are.
    """
    servers = servers_of(data)
    found = [origin for origin in servers if "/".join(origin) == name]
    found = found or [origin for origin in servers if origin[1] == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise EditRefused(
            f"there are several servers called '{show_name(name)}': {_listed(map(_described, found))}"
        )
    whole = " For the whole toolbox put a slash behind its name." if name in toolboxes_of(data) else ""
    if not (servers or whole):
        raise EditRefused(
            "the configuration has no servers yet. To get some: mcp-workbench import, or mcp-workbench add"
        )
    there_are = _listed("/".join(origin) for origin in servers) or "none"
    raise EditRefused(f"there is no server '{show_name(name)}'.{whole} There are: {there_are}")


def find_toolbox(data: Mapping[str, object], name: str) -> str | None:
    """Return the toolbox that a person names with a slash behind it; None if no toolbox is meant.

    Raises EditRefused if a server has that very name too.
    """
    toolbox = name.removesuffix("/")
    if toolbox == name or toolbox not in toolboxes_of(data):
        return None
    if clash := [origin for origin in servers_of(data) if name in ("/".join(origin), origin[1])]:
        both = f"the toolbox '{show_name(toolbox)}', and {_listed(map(_described, clash))}"
        raise EditRefused(f"'{show_name(name)}' can mean {both}")
    return toolbox


def choose_toolbox(data: Mapping[str, object], wanted: str | None) -> str:
    """Return the toolbox for a new server: the one that is wanted, or else the only one of the file.

    A file without toolboxes gets one. Raises EditRefused if there are several to choose from.
    """
    if wanted is not None:
        return wanted
    toolboxes = list(toolboxes_of(data))
    if len(toolboxes) > 1:
        raise EditRefused(f"choose a toolbox with --toolbox NAME. There are: {_listed(toolboxes)}")
    return toolboxes[0] if toolboxes else DEFAULT_TOOLBOX


def describe_toolbox(server: str, entry: Mapping[str, object], title: str = "") -> str:
    """Return a description for a toolbox that is made for one server: what servers of its kind are for.

    If its kind is not known, it is described by the title that it gives itself.
    """
    category = category_of(server, entry)
    if category is not OTHER:
        return describe(category.name, [GroupedServer(server, category)])
    title = " ".join(title.split())
    shown = f"{title} ({server})" if title and title.lower() != server.lower() else server
    text = f"Tools of {shown}"
    return text if len(text) <= MAX_DESCRIPTION_CHARACTERS else f"Tools of {server}"


def add(document: Document, addition: Addition) -> int | None:
    """Put a server into the document, last in its toolbox, which is made if there is none. Return its line.

    Raises NameTaken if the toolbox has another server of that name, unless that is to be replaced.
    """
    origin = addition.toolbox, addition.server
    servers = servers_of(document.data)
    if origin in servers and servers[origin] == addition.entry:
        return document.line_of(path_of(origin))
    if origin in servers and not addition.replace:
        raise NameTaken(*origin)
    if _has_toolbox(document, addition.toolbox):
        document.set(path_of(origin), addition.entry)
    else:
        content = {"description": addition.description, SERVERS: {addition.server: addition.entry}}
        document.set((TOOLBOXES, addition.toolbox), content)
    return document.line_of(path_of(origin))


def remove(document: Document, origin: Origin) -> int | None:
    """Take a server out of the document, and return its line. A toolbox stays even if it is empty then."""
    return _removed(document, path_of(origin))


def remove_toolbox(document: Document, toolbox: str) -> int | None:
    """Take a toolbox with all its servers out of the document, and return its line."""
    return _removed(document, (TOOLBOXES, toolbox))


def is_off(entry: Mapping[str, object]) -> bool:
    """Whether an entry says that its server is left out, in the words of any client."""
    return any(entry.get(key) is (not on) for key, on in SWITCHES.items())


def enable(document: Document, origin: Origin) -> int | None:
    """Enable a server, in the words of its entry, and return its line."""
    entry, path = _entry(document, origin), path_of(origin)
    for key, on in SWITCHES.items():
        if entry.get(key) is not (not on):
            continue
        if key == "disabled":
            document.remove((*path, key))
        else:
            # Another client's word, which the file keeps.
            document.set((*path, key), on)
    return document.line_of(path)


def disable(document: Document, origin: Origin) -> int | None:
    """Disable a server, in the words of its entry, and return the line that says so."""
    entry, path = _entry(document, origin), path_of(origin)
    if is_off(entry):
        return document.line_of(path)
    key = next((key for key, on in SWITCHES.items() if entry.get(key) is on), "disabled")
    document.set((*path, key), not SWITCHES[key])
    return document.line_of((*path, key))


def move(document: Document, origin: Origin, toolbox: str, description: str | None) -> int | None:
    """Move a server to another toolbox, with its comments, and return its line there.

    A toolbox that does not exist is made if it is described. Raises EditRefused if it is not, and NameTaken
    if the toolbox has a server of that name.
    """
    target = toolbox, origin[1]
    if target == origin:
        return document.line_of(path_of(origin))
    if target in servers_of(document.data):
        raise NameTaken(*target)
    if not _has_toolbox(document, toolbox):
        if description is None:
            what = f"there is no toolbox '{show_name(toolbox)}'. With --description TEXT a new one is made"
            raise EditRefused(f"{what}. There are: {_listed(toolboxes_of(document.data))}")
        document.set((TOOLBOXES, toolbox), {"description": description, SERVERS: {}})
    document.move(path_of(origin), path_of(target))
    return document.line_of(path_of(target))


def _has_toolbox(document: Document, toolbox: str) -> bool:
    """Whether there is such a toolbox. Raises EditRefused if it cannot take a server."""
    toolboxes = toolboxes_of(document.data)
    if toolbox not in toolboxes:
        return False
    content = toolboxes[toolbox]
    if not isinstance(content, dict) or not isinstance(content.get(SERVERS, {}), dict):
        raise EditRefused(f"the toolbox '{show_name(toolbox)}' is not written as an object. Correct it first")
    return True


def _removed(document: Document, path: tuple[Step, ...]) -> int | None:
    line = document.line_of(path)
    document.remove(path)
    return line


def _entry(document: Document, origin: Origin) -> dict[str, object]:
    entry = servers_of(document.data)[origin]
    if not isinstance(entry, dict):
        name = show_name("/".join(origin))
        raise EditRefused(f"the entry of '{name}' is not written as an object. Correct it first")
    return entry


def _servers_in(toolbox: object) -> dict[str, object]:
    servers = toolbox.get(SERVERS) if isinstance(toolbox, dict) else None
    return servers if isinstance(servers, dict) else {}


def _described(origin: Origin) -> str:
    toolbox, server = origin
    plain = "/".join(origin)
    if plain.count("/") == 1:
        return plain
    return f"'{server}' in the toolbox '{toolbox}'"


def _listed(names: Iterable[str]) -> str:
    shown = list(map(show_name, names))
    return ", ".join(shown[:MAX_LISTED_NAMES]) + (", …" if len(shown) > MAX_LISTED_NAMES else "")
