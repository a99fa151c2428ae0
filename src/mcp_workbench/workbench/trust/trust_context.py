"""What the trust in all servers of a workbench shares: the pins, the lock, and the look at what changed.

Owns where pins are kept and which lock counts. A person approves tools in another process, so that both are
looked at again and again while the workbench runs.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from mcp_workbench.config import is_same_program
from mcp_workbench.errors import LockUnusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import LoadedConfig, Origin, ServerConfig, Stamp
    from mcp_workbench.errors import StrPath
    from mcp_workbench.storage.trust.lock_file import Lock
    from mcp_workbench.storage.trust.pin_records import PinPlace
    from mcp_workbench.storage.trust.pins import PinStore
    from mcp_workbench.workbench.trust.judging.approved import ServerIdentity
    from mcp_workbench.workbench.trust.pinning import ServerTrust

LOOK_SECONDS: Final = 2.0
"""Seconds between two looks at the pins and at the lock."""

log = logging.getLogger(__name__)


class TrustContext:
    """The pins and the lock of one configuration. Nothing is read before the first list is judged."""

    def __init__(self, data: StrPath, loaded: LoadedConfig) -> None:
        self._data = data
        self._path = loaded.path if loaded.is_from_file else ""
        self.programs = loaded.programs
        """The programs of servers as they are written in the configuration of now, see `LoadedConfig`."""
        self._store: PinStore | None = None
        self._lock_path = ""
        self._lock: tuple[Stamp | None, Lock | LockUnusable | None] | None = None
        self._trusts: WeakValueDictionary[Origin, ServerTrust] = WeakValueDictionary()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def store(self) -> PinStore:
        """The pins in the data directory."""
        if self._store is None:
            from mcp_workbench.storage.trust.pins import PinStore  # noqa: PLC0415 - see the class

            self._store = PinStore(self._data)
        return self._store

    def trust(self, origin: Origin, config: ServerConfig, mask: Callable[[str], str]) -> ServerTrust:
        """Return the trust in a server. All servers of one name and program share it."""
        known = self._trusts.get(origin)
        if known is None or not is_same_program(known.config, config):
            from mcp_workbench.workbench.trust.pinning import ServerTrust  # noqa: PLC0415 - see the class

            known = self._trusts[origin] = ServerTrust(self, origin, config, mask, before=known)
        return known

    def place(self, identity: ServerIdentity) -> PinPlace:
        """Return which pin is that of a server."""
        from mcp_workbench.storage.trust.pin_records import PinPlace, config_name  # noqa: PLC0415 - see the class

        if not self._path:
            return PinPlace("", *identity.origin, identity.digest)
        return PinPlace(config_name(self._path), *identity.origin)

    def lock(self) -> Lock | LockUnusable | None:
        """Return the lock beside the configuration, or why it cannot be used; None if there is none.

        The object stays the same until the file changes.
        """
        if not self._path:
            return None
        from mcp_workbench.storage.trust.lock_file import lock_path, lock_stamp, read_lock  # noqa: PLC0415 - see the class
        from mcp_workbench.workbench.trust.digests import definition_digest  # noqa: PLC0415 - see the class

        self._lock_path = self._lock_path or lock_path(self._path)
        stamp = lock_stamp(self._lock_path)
        if self._lock is None or self._lock[0] != stamp:
            lock: Lock | LockUnusable | None = None
            if stamp is not None:
                try:
                    lock = read_lock(self._lock_path, definition_digest)
                except LockUnusable as error:
                    log.warning("the lock cannot be used: %s", str(error).replace("\n", " "))
                    lock = error
            self._lock = stamp, lock
        return self._lock[1]

    def watch(self) -> None:
        """Judge tools again from now on when a person has approved or rejected some of them."""
        if self._timer is None and not self._is_closed:
            with suppress(RuntimeError):  # a command that asks what is known has no event loop
                self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    async def close(self) -> None:
        """Stop looking at the pins and at the lock, and pin what is not pinned yet."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*(trust.close() for trust in [*self._trusts.values()]))

    def _look(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        for trust in [*self._trusts.values()]:
            trust.look()
