"""Applies a changed configuration while the workbench runs.

Owns what happens when the file has changed, and what is logged about it. The workbench finds out which
servers a change concerns.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mcp_workbench.config import load
from mcp_workbench.errors import ConfigError
from mcp_workbench.serve.watch import Watcher, is_special
from mcp_workbench.storage.secrets import secret_lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.serve.logs import SecretSink
    from mcp_workbench.workbench.registry import ToolboxRegistry

log = logging.getLogger(__name__)


class Reloader:
    """Keeps a workbench in step with its configuration file, until it is closed."""

    def __init__(
        self,
        loaded: LoadedConfig,
        environ: Mapping[str, str],
        workbench: ToolboxRegistry,
        log_handler: SecretSink,
        on_reload: Callable[[LoadedConfig], None],
    ) -> None:
        self._path = loaded.path
        self._environ = environ
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
            loaded = load(self._path, self._environ, lookup=secret_lookup(self._environ))
        except ConfigError as error:
            problems = "; ".join(problem.brief for problem in error.problems)
            log.error(  # noqa: TRY400 - no traceback
                "%s has changed and cannot be used; the configuration stays as it was: %s",
                error.path,
                problems,
            )
            return
        self._log_handler.hide(loaded.secrets)
        for warning in loaded.warnings:
            log.warning("warning: %s", warning)
        self._workbench.reconfigure(loaded)
        self._on_reload(loaded)
        log.info("%s has changed; the configuration is reloaded", loaded.path)
