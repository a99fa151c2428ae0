"""What the mistakes in a configuration cost, when the workbench serves in spite of them (`--keep-going`).

A mistake makes the server, the toolbox or the setting unusable that it is in, and nothing else. Whatever
cannot be attributed makes the whole file unusable: a limit that is misread must not become a wider right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from mcp_workbench.errors import Problem  # noqa: TC001 - msgspec needs the type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config.model.workbench import Origin
    from mcp_workbench.config.validation.problems import Place

Key = TypeVar("Key")


class ConfigFaults(msgspec.Struct, frozen=True):
    """The mistakes of a configuration that is used in spite of them, by what they make unusable."""

    all: tuple[Problem, ...] = ()
    """All mistakes, in the order in which they were found."""
    file: tuple[Problem, ...] = ()
    """Mistakes because of which there are no toolboxes at all."""
    toolboxes: dict[str, tuple[Problem, ...]] = {}
    """Mistakes because of which a toolbox cannot be opened, by its name."""
    servers: dict[tuple[str, str], tuple[Problem, ...]] = {}
    """Mistakes because of which a server cannot be started, by the names of its toolbox and itself."""
    settings: tuple[Problem, ...] = ()
    """Mistakes because of which a setting has its default value."""


class Layout:
    """Where the toolboxes and servers stand in a file, which need not spell its keys right."""

    def __init__(self) -> None:
        self.toolboxes: Place | None = None
        """The place of the object with the toolboxes; None if there is none."""
        self.names: dict[Place, str] = {}
        """The names of the toolboxes, by their places."""
        self.server_lists: dict[Place, str] = {}
        """The name of the toolbox, by the place of the object with its servers."""
        self.policy: Place = ("policy",)
        """The place of the policy of the whole file, if there is one."""
        self.policies: dict[Place, str] = {}
        """The name of the toolbox, by the place of its policy, if it has one."""
        self.servers: dict[Place, Origin] = {}
        """The names of the servers' toolboxes and the servers, by their places."""


def attribute(problems: Sequence[tuple[Place, Problem]], layout: Layout) -> ConfigFaults:
    """Return what each problem makes unusable."""
    file: list[Problem] = []
    toolboxes: dict[str, list[Problem]] = {}
    servers: dict[Origin, list[Problem]] = {}
    settings: list[Problem] = []
    for place, problem in problems:
        if (origin := layout.servers.get(place[:4])) is not None:
            servers.setdefault(origin, []).append(problem)
        elif (name := _toolbox_of(place, layout)) is not None:
            toolboxes.setdefault(name, []).append(problem)
        elif _is_setting(place, layout):
            settings.append(problem)
        else:
            file.append(problem)
    every = tuple(problem for _, problem in problems)
    return ConfigFaults(every, tuple(file), _frozen(toolboxes), _frozen(servers), tuple(settings))


def _toolbox_of(place: Place, layout: Layout) -> str | None:
    """Return the toolbox that a problem makes unusable: one with itself, its policy or its servers."""
    if (name := layout.names.get(place)) is not None:
        return name
    return layout.server_lists.get(place[:3]) or layout.policies.get(place[:3])


def _is_setting(place: Place, layout: Layout) -> bool:
    """Whether a problem is about a key at the top of the file, or of a toolbox, that has a default.

    A policy has none: with half of its rules, calls would be allowed that are not meant to be.
    """
    if place[:1] == layout.policy:
        return False
    if not place or layout.toolboxes is None or place[:1] == layout.toolboxes:
        return place[:2] in layout.names
    return True


def _frozen(found: Mapping[Key, list[Problem]]) -> dict[Key, tuple[Problem, ...]]:
    return {key: tuple(problems) for key, problems in found.items()}
