"""Chooses the toolbox of each imported server, and writes the descriptions that a model chooses by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.model.results import TOOLBOX as RESERVED
from mcp_workbench.setup.importing.categories import CATEGORIES, OTHER, Category, category_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MAX_SERVERS_OF_ONE_TOOLBOX: Final = 4
"""Number of servers up to which one toolbox for all of them is enough."""
MAX_NAMES_IN_DESCRIPTION: Final = 12
"""Number of servers that a description names, at most."""
MAX_NAME_CHARACTERS: Final = 40
"""Length of the longest name that is made from the name of a directory."""

MAIN: Final = "main"
"""The name of the toolbox for all servers, where there are few of them."""
_PROJECT: Final = "Tools of the project "


class GroupedServer(msgspec.Struct, frozen=True):
    """What a toolbox is chosen by: the name of a server, its category, and its project if it has one."""

    name: str
    category: Category
    project: str = ""
    """The name of the directory that the server belongs to, or an empty string."""


class Box(msgspec.Struct, frozen=True):
    """A toolbox that the configuration has already: its description, and its servers with categories."""

    description: str
    members: tuple[GroupedServer, ...]


def assign(members: Sequence[GroupedServer], boxes: Mapping[str, Box], toolbox: str | None) -> list[str]:
    """Return the name of a toolbox for each new server. `toolbox` is the one that a person has named."""
    if toolbox is not None:
        return [toolbox] * len(members)
    by_category = {category.name: name for name in boxes if (category := category_named(name))}
    of_projects: dict[str, str] = {}
    for project in dict.fromkeys(member.project for member in members if member.project):
        of_projects[project] = _project_box(project, boxes, of_projects.values())
    are_few = _one_is_enough([member for member in members if not member.project], boxes)

    def choose(member: GroupedServer) -> str:
        if member.project:
            return of_projects[member.project]
        return MAIN if are_few else by_category.get(member.category.name, member.category.name)

    return [choose(member) for member in members]


def rank_of(toolbox: str) -> tuple[int, str]:
    """Return the place of a toolbox in the order in which new ones are added: categories, then the others."""
    order = [MAIN, *(category.name for category in CATEGORIES), OTHER.name]
    return (order.index(toolbox) if toolbox in order else len(order), toolbox)


def describe(name: str, members: Sequence[GroupedServer]) -> str:
    """Return the description of a toolbox that import proposes: what its servers are for, and their names."""
    names = _listed([member.name for member in members])
    project = next((member.project for member in members if member.project), "")
    if project:
        return f"{_PROJECT}{plain_name(project)}: {names}"
    category = category_named(name)
    subjects = [category.subject] if category else _subjects(members)
    lead = "; ".join(subjects) or "tools of these servers"
    return f"{lead[0].upper()}{lead[1:]}: {names}"


def describe_again(name: str, box: Box, members: Sequence[GroupedServer]) -> str | None:
    """Return the new description of a toolbox that gets more servers, or None if it names no servers.

    A description that ends with the names of all servers, as import writes it, has to stay complete.
    """
    lead, colon, names = box.description.rpartition(": ")
    if not colon or names != _listed([member.name for member in box.members]):
        return None
    everybody = [*box.members, *members]
    if box.description == describe(name, box.members):
        return describe(name, everybody)
    return f"{lead}: {_listed([member.name for member in everybody])}"


def plain_name(text: str) -> str:
    """Return a name of a directory as the short name of a toolbox: words with hyphens between."""
    words = re.findall(r"[^\W_]+", text.casefold())
    return "-".join(words)[:MAX_NAME_CHARACTERS].strip("-") or "project"


def free_name(name: str, taken: Collection[str], *, endings: Iterable[str] = ()) -> str:
    """Return a name that is not taken, whatever its case: as it is, with an ending, or with a number."""
    folded = {one.casefold() for one in taken}
    candidates = [name, *(f"{name}-{ending}" for ending in endings)]
    for candidate in candidates:
        if candidate.casefold() not in folded:
            return candidate
    number = 2
    while f"{name}-{number}".casefold() in folded:
        number += 1
    return f"{name}-{number}"


def _one_is_enough(members: Sequence[GroupedServer], boxes: Mapping[str, Box]) -> bool:
    """Whether all servers go into one toolbox: there are few of them, and the file has no others."""
    others = [name for name, box in boxes.items() if name != MAIN and not _is_of_project(box)]
    in_main = boxes[MAIN].members if MAIN in boxes else ()
    return not others and len(members) + len(in_main) <= MAX_SERVERS_OF_ONE_TOOLBOX


def _project_box(project: str, boxes: Mapping[str, Box], proposed: Iterable[str]) -> str:
    name = plain_name(project)
    for candidate, box in boxes.items():
        # A toolbox that an earlier import has made for the same project.
        if box.description.startswith(f"{_PROJECT}{name}:"):
            return candidate
    meant_for_others = (MAIN, OTHER.name, RESERVED, *(category.name for category in CATEGORIES))
    return free_name(name, (*boxes, *proposed, *meant_for_others), endings=("project",))


def _is_of_project(box: Box) -> bool:
    return box.description.startswith(_PROJECT)


def _subjects(members: Sequence[GroupedServer]) -> list[str]:
    found = {member.category.name for member in members}
    return [category.subject for category in CATEGORIES if category.name in found]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NAMES_IN_DESCRIPTION])
    left = len(names) - MAX_NAMES_IN_DESCRIPTION
    return f"{shown} and {left} more" if left > 0 else shown
