"""Applies a changed configuration while the workbench runs.

Owns what happens when the file has changed, and what is logged about it. The workbench finds out which
servers a change concerns. Files are loaded in a thread: a secret in one may wait for a keyring.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from mcp_workbench.config import load_usable
from mcp_workbench.serve.watch import Watcher, is_special, stamp_at
from mcp_workbench.storage.secret_lookup import secret_lookup, secrets_path
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.faults import ConfigFaults
    from mcp_workbench.errors import Problem
    from mcp_workbench.serve.logs import SecretSink
    from mcp_workbench.workbench.registry import ToolboxRegistry

T = TypeVar("T")

LOAD_TIMEOUT_SECONDS: Final = 60.0
"""Time after which a file that is being loaded is given up: more than a locked keyring costs."""

log = logging.getLogger(__name__)


class BackgroundLoad(Generic[T]):
    """Loads a file in a thread, and applies the outcome on the event loop. There is one load at a time."""

    def __init__(self, path: str, load: Callable[[], T], apply: Callable[[T], None]) -> None:
        self._path = path
        self._load = load
        self._apply = apply
        self._task: asyncio.Task[None] | None = None
        self._has_changed = False
        """Whether the file has changed since it is being loaded."""

    def start(self) -> None:
        """Load the file. If it is being loaded, that outcome is dropped, and it is loaded once more."""
        self._has_changed = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Drop the load in progress. Its thread ends by itself, even if it waits for a keyring."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while self._has_changed:
            self._has_changed = False
            try:
                outcome = await in_thread(self._load, LOAD_TIMEOUT_SECONDS)
            except TimeoutError:
                limit = f"{LOAD_TIMEOUT_SECONDS:g} s"
                log.error("%s has changed and could not be loaded within %s", self._path, limit)  # noqa: TRY400 - no traceback
                continue
            if not self._has_changed:
                self._apply(outcome)


def log_faults(loaded: LoadedConfig) -> None:
    """Log the mistakes in spite of which a configuration is used."""
    for problem in loaded.faults.all:
        log.error("%s", problem.in_file(loaded.path, in_one_line=True))


class Reloader:
    """Keeps a workbench in step with its configuration file, until it is closed.

    A file with a mistake is not applied. With `keeps_going` it is, and the mistake costs what it is in; but a
    file of which nothing can be used does not replace one that works.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        environ: Mapping[str, str],
        workbench: ToolboxRegistry,
        log_handler: SecretSink,
        on_reload: Callable[[LoadedConfig], None],
        *,
        keeps_going: bool,
    ) -> None:
        self._path = loaded.path
        self._environ = environ
        self._keeps_going = keeps_going
        self._workbench = workbench
        self._log_handler = log_handler
        self._on_reload = on_reload
        self._loading = BackgroundLoad(self._path, self._read, self._apply)
        self._watcher = Watcher(loaded.path, loaded.stamp, self.reload)
        self._others: dict[str, Watcher] = {}
        """The watchers of the other files that the configuration refers to, and of the stored secrets."""
        self._watch_others(loaded)

    def start(self) -> None:
        """Watch the configuration file from now on."""
        self._watcher.start()
        for watcher in self._others.values():
            watcher.start()

    def close(self) -> None:
        """Stop watching the configuration file, and apply nothing any more."""
        self._watcher.close()
        for watcher in self._others.values():
            watcher.close()
        self._loading.close()

    def reload(self) -> None:
        """Read the configuration file again, and apply it if it is valid."""
        if is_special(self._path):
            log.error("%s is a pipe or a device now; the configuration stays as it was", self._path)
            return
        self._loading.start()

    def _read(self) -> LoadedConfig:
        return load_usable(self._path, self._environ, lookup=secret_lookup(self._environ))

    def _apply(self, loaded: LoadedConfig) -> None:
        # Even if it is refused: the mistake may be that another file or a secret is not there yet.
        for path in self._watch_others(loaded):
            self._others[path].start()
        if refused := self._refused(loaded.faults):
            log.error(
                "%s has changed and cannot be used; the configuration stays as it was: %s",
                self._path,
                "; ".join(problem.brief for problem in refused),
            )
            return
        self._log_handler.hide(loaded.secrets)
        log_faults(loaded)
        for warning in loaded.warnings:
            log.warning("warning: %s", warning)
        self._workbench.reconfigure(loaded)
        self._on_reload(loaded)
        log.info("%s has changed; the configuration is reloaded", loaded.path)

    def _refused(self, faults: ConfigFaults) -> Sequence[Problem]:
        """Return the mistakes because of which a configuration is not applied, or nothing if it is."""
        if not self._keeps_going:
            return faults.all
        # What worked so far is better than nothing.
        return faults.file if self._workbench.unusable is None else ()

    def _watch_others(self, loaded: LoadedConfig) -> list[str]:
        """Have a watcher for each other file that a configuration refers to. Return those that are new."""
        wanted = {*loaded.files, *([secrets_path(self._environ)] if loaded.has_secrets else [])}
        for path in self._others.keys() - wanted:
            self._others.pop(path).close()
        new = sorted(wanted - self._others.keys())
        for path in new:
            self._others[path] = Watcher(path, stamp_at(path), self.reload)
        return new
