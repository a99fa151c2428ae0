"""Applies a changed configuration while the workbench runs.

Owns what happens when the file has changed, and what is logged about it. The workbench finds out which
servers a change concerns.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mcp_workbench.errors import ConfigError
from mcp_workbench.serve.watch import Watcher, is_special

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.errors import Problem, StrPath
    from mcp_workbench.serve.logs import SecretSink
    from mcp_workbench.workbench.registry import ToolboxRegistry

    Load = Callable[[StrPath, Mapping[str, str]], LoadedConfig]

log = logging.getLogger(__name__)


def log_faults(loaded: LoadedConfig) -> None:
    """Log the mistakes in spite of which a configuration is used."""
    for problem in loaded.faults.all:
        log.error("%s", problem.in_file(loaded.path).replace("\n", " "))


class Reloader:
    """Keeps a workbench in step with its configuration file, until it is closed."""

    def __init__(
        self,
        loaded: LoadedConfig,
        environ: Mapping[str, str],
        workbench: ToolboxRegistry,
        log_handler: SecretSink,
        on_reload: Callable[[LoadedConfig], None],
        *,
        load: Load,
    ) -> None:
        self._path = loaded.path
        self._environ = environ
        self._load = load
        self._workbench = workbench
        self._log_handler = log_handler
        self._on_reload = on_reload
        self._watcher = Watcher(loaded.path, loaded.stamp, self.reload)

    def start(self) -> None:
        """Watch the configuration file from now on."""
        self._watcher.start()

    def close(self) -> None:
        """Stop watching the configuration file."""
        self._watcher.close()

    def reload(self) -> None:
        """Read the configuration file again, and apply it if it is valid."""
        if is_special(self._path):
            log.error("%s is a pipe or a device now; the configuration stays as it was", self._path)
            return
        try:
            loaded = self._load(self._path, self._environ)
        except ConfigError as error:
            self._log_unusable(error.problems)
            return
        if loaded.faults.file and self._workbench.unusable is None:
            # What worked so far is better than nothing.
            self._log_unusable(loaded.faults.file)
            return
        log_faults(loaded)
        self._log_handler.hide(loaded.secrets)
        for warning in loaded.warnings:
            log.warning("warning: %s", warning)
        self._workbench.reconfigure(loaded)
        self._on_reload(loaded)
        log.info("%s has changed; the configuration is reloaded", loaded.path)

    def _log_unusable(self, problems: Sequence[Problem]) -> None:
        log.error(
            "%s has changed and cannot be used; the configuration stays as it was: %s",
            self._path,
            "; ".join(problem.brief for problem in problems),
        )
