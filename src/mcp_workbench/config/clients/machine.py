"""The machine whose clients are looked for: its system, directories and environment.

Owns the placeholders in the paths of `clients.table`: {home}, {project}, {config} (where programs of this
system keep settings), {dotconfig} (`~/.config`, also on macOS), {localappdata} and {env:NAME}.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Mapping  # noqa: TC003 - msgspec resolves the annotations
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.clients.model import System  # noqa: TC001 - msgspec resolves the annotations
from mcp_workbench.config.places import home_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_workbench.config.clients.model import ClientFile

_PLACEHOLDER = re.compile(r"\{(env:)?(\w+)\}")


class Machine(msgspec.Struct, frozen=True):
    """Where files are looked for: the system, the person's home, the project directory, the environment."""

    system: System
    home: str
    directory: str
    environ: Mapping[str, str]

    def paths_of(self, file: ClientFile) -> Iterator[str]:
        """Yield the paths where a file may be on this machine, best first; of a glob, those that exist."""
        for template in file.paths[self.system]:
            is_glob = "*" in template
            path = self._expand(template, glob.escape if is_glob else str)
            if path is not None:
                yield from sorted(glob.glob(path)) if is_glob else (path,)

    def chosen_path(self, file: ClientFile) -> str | None:
        """Return the path that a variable of the client names for a file, or None if none is set."""
        templates = (template for template in file.paths[self.system] if template.startswith("{env:"))
        return next((path for template in templates if (path := self._expand(template, str))), None)

    def _expand(self, template: str, escape: Callable[[str], str]) -> str | None:
        """Return the path of a template, or None if it needs a variable that is not set."""
        values = self._values()
        missing = False

        def replace(found: re.Match[str]) -> str:
            nonlocal missing
            value = self.environ.get(found[2], "") if found[1] else values[found[2]]
            missing = missing or not value
            return escape(value)

        path = _PLACEHOLDER.sub(replace, template)
        return None if missing else os.path.normpath(os.path.join(self.directory, path))

    def _values(self) -> dict[str, str]:
        get = self.environ.get
        dotconfig = get("XDG_CONFIG_HOME") or f"{self.home}/.config"
        config: dict[System, str] = {
            "linux": dotconfig,
            "darwin": f"{self.home}/Library/Application Support",
            "win32": get("APPDATA") or f"{self.home}/AppData/Roaming",
        }
        return {
            "home": self.home,
            "project": self.directory,
            "config": config[self.system],
            "dotconfig": dotconfig,
            "localappdata": get("LOCALAPPDATA") or f"{self.home}/AppData/Local",
        }


def this_machine(environ: Mapping[str, str], directory: str) -> Machine:
    """Return the machine that this runs on, with the project in `directory`."""
    system: System = "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"
    return Machine(system, home_directory(environ), os.path.abspath(directory), environ)
