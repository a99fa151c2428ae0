"""The trust in one server: which of its listed tools may be used, by what was approved of it.

Owns when a list is judged; `judging` has the rules. A list is judged in a thread before it is used. Judging
it again, byte by byte the same, costs one digest. What was judged is judged again when the pin, the lock or
the level changes.

The first list of a server is used at once under `scan`, because nothing of it would be held. It is pinned and
scanned in the background, before the next list is judged, and before the workbench ends.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary, WeakSet

import msgspec

from mcp_workbench.errors import BadAnswer
from mcp_workbench.storage.trust.pins import PinRecord
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.trust.digests import claim_of, list_digest, program_digest
from mcp_workbench.workbench.trust.judgement import NOTHING_HELD, Judgement
from mcp_workbench.workbench.trust.judging.approved import Seen, ServerIdentity, pin_in_force
from mcp_workbench.workbench.trust.judging.first_list import FirstList
from mcp_workbench.workbench.trust.judging.keeping import PAUSE_SECONDS, TrustKeeper
from mcp_workbench.workbench.trust.judging.verdict import no_pause, verdict_on
from mcp_workbench.workbench.trust.programs import server_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import Origin, ServerConfig
    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.downstream.connection import Tools
    from mcp_workbench.workbench.trust.judging.verdict import Verdict
    from mcp_workbench.workbench.trust.trust_context import TrustContext

MAX_JUDGED_LISTS: Final = 4
"""Lists whose judgement is remembered for each server: clients may have their own, in two versions."""
MAX_ATTEMPTS: Final = 3
"""How often a list is judged if another process changes the pin meanwhile."""
FIRST_DELAY_SECONDS: Final = 1.0
"""Seconds before a first list is pinned and scanned: the caller that opened the server goes first."""
FINISH_TIMEOUT_SECONDS: Final = 2.0
"""Seconds for pinning a first list when the workbench ends."""
REFRESH_TIMEOUT_SECONDS: Final = 60.0
"""Seconds for judging a list again after a person has decided."""

log = logging.getLogger(__name__)


class TrustUser(Protocol):
    """Shows the tools of a server to clients."""

    def forget_listings(self) -> None:
        """Read the lists of tools again: other tools are held now."""


class _LiveList(msgspec.Struct, frozen=True, eq=False):
    """The list that a server sent last in one protocol version."""

    tools: Tools
    instructions: str
    judgement: Judgement


class ServerTrust:
    """What was approved of one server, and what is held of the tools that it lists."""

    def __init__(
        self,
        context: TrustContext,
        origin: Origin,
        config: ServerConfig,
        mask: Callable[[str], str],
        *,
        before: ServerTrust | None = None,
    ) -> None:
        self._context = context
        self._before = before if before is not None and before.is_busy else None
        """The trust in the server as it was configured before, until what that has begun is done."""
        self._log = logging.LoggerAdapter(log, {"server": "/".join(origin)})
        self.config = config
        """The configuration of the server that counts now."""
        program = server_program(config, context.programs.get(origin))
        self._identity = ServerIdentity(origin, program_digest(program), mask(program))
        self._place = context.place(self._identity)
        self._keeper = TrustKeeper(context.store, self._place, self._identity)
        self._users: WeakSet[TrustUser] = WeakSet()
        self._seen: Seen | None = None
        self._judged: dict[str, Judgement] = {}
        """The judgements of the last lists, by their digests, as far as `_seen` still holds."""
        self._live: WeakKeyDictionary[object, dict[bool, _LiveList]] = WeakKeyDictionary()
        """The last list for legacy, and for modern clients, of everybody who shows the server's tools.

        Clients with processes of their own may get different lists.
        """
        self._judging = threading.Lock()
        """Held by threads that judge. The event loop never waits for it."""
        self._first: FirstList | None = None
        """The first list of the server, until it is pinned."""
        self._is_urgent = threading.Event()
        """Set when somebody waits for the first list to be pinned."""
        self._refreshing: asyncio.Task[None] | None = None
        self._background: asyncio.Task[None] | None = None
        """The task that pins and scans a first list: somebody has to hold it."""

    @property
    def is_off(self) -> bool:
        """Whether nothing of the server is pinned or held."""
        return self.config.pin == "off"

    @property
    def is_busy(self) -> bool:
        """Whether something is done in the background, here or for the server as it was configured before."""
        if self._before is not None:
            return True
        return any(task is not None and not task.done() for task in (self._background, self._refreshing))

    async def close(self) -> None:
        """Pin a first list that is not pinned yet, and end what is done in the background."""
        for task in (self._background, self._refreshing):
            if task is not None:
                task.cancel()
        await self.pin_first_list(FINISH_TIMEOUT_SECONDS)
        if self._before is not None:
            await self._before.close()

    def add_user(self, user: TrustUser) -> None:
        """Tell an object that shows the server's tools when other tools are held."""
        self._users.add(user)

    async def admit(
        self, tools: Tools, instructions: str, limit: float, *, user: object, modern: bool
    ) -> None:
        """Judge a list that a server has just sent to a user, before it is used. Raises BadAnswer."""
        if self.is_off:
            self._keeper.keep_held(self.config.pin, ())
            return
        self._context.watch()
        if self._before is not None:
            await self._before.close()
            self._before = None
        if self._can_wait():
            self._admit_first(FirstList(tools, instructions, user=user, is_modern=modern))
            return
        first = self._first
        self._is_urgent.set()
        try:
            work = partial(self._admit, tools, instructions, user=user, modern=modern)
            is_new = await in_thread(work, limit)
        except TimeoutError:
            reason = f"its list of tools could not be compared with what was approved within {limit:g} s"
            raise BadAnswer(reason) from None
        except Exception as error:
            # A fault of ours: the list before goes on to count, and this one is not used.
            self._log.exception("its list of tools could not be judged")
            raise BadAnswer("its list of tools could not be compared with what was approved") from error
        if first is not None:
            self._tell_if_held(first)
        if is_new and self.config.pin == "scan":
            self._background = asyncio.create_task(self._scan(tools, instructions))

    def _can_wait(self) -> bool:
        """Whether the next list is the first of its server, and used whatever is in it."""
        if self._live or self._first is not None:
            return False
        seen = self._look()
        return seen.level == "scan" and seen.lock is None and seen.record == PinRecord()

    def _admit_first(self, first: FirstList) -> None:
        self._first = first
        live = _LiveList(first.tools, first.instructions, first.judgement)
        self._live[first.user] = {first.is_modern: live}
        self._background = asyncio.create_task(self._pin_and_scan(first))

    async def _pin_and_scan(self, first: FirstList) -> None:
        await asyncio.sleep(FIRST_DELAY_SECONDS)
        await self.pin_first_list(REFRESH_TIMEOUT_SECONDS, is_urgent=False)
        await self._scan(first.tools, first.instructions)

    async def pin_first_list(self, limit: float, *, is_urgent: bool = True) -> None:
        """Pin the first list if it is not pinned yet, within `limit` seconds."""
        if (first := self._first) is None:
            return
        if is_urgent:
            self._is_urgent.set()
        try:
            await in_thread(self._keep_first, limit)
        except TimeoutError:
            self._log.warning("its first list of tools could not be pinned within %g s", limit)
        except Exception:  # noqa: BLE001 - the list is in use already
            self._log.exception("its first list of tools could not be pinned")
        self._tell_if_held(first)

    async def _scan(self, tools: Tools, instructions: str) -> None:
        """Scan a first list, which is in use already: what is found in it is only logged."""
        await asyncio.sleep(FIRST_DELAY_SECONDS)
        with suppress(TimeoutError):
            work = partial(self._keeper.log_suspicions, tools, instructions)
            await in_thread(work, REFRESH_TIMEOUT_SECONDS)

    def _tell_if_held(self, first: FirstList) -> None:
        """Have the lists read again if something of the first list is held by now.

        That is so if another process has pinned the server meanwhile, or the level is another.
        """
        judgement = self._live[first.user][first.is_modern].judgement
        if judgement.held or judgement.withheld is not None:
            self._tell_users()

    def _tell_users(self) -> None:
        for user in [*self._users]:
            user.forget_listings()

    def judgement(self, tools: Tools, instructions: str) -> Judgement:
        """Return what may be used of a list. Keeps nothing: that is done when a server sends it."""
        if self.is_off:
            return NOTHING_HELD
        self._context.watch()
        if (first := self._first) is not None and first.tools is tools:
            return first.judgement
        known = self._judged.get(list_digest(tools, instructions))
        if known is not None:
            return known
        seen = self._look()
        self._seen = self._seen or seen
        if seen.level == "scan" and seen.lock is None and seen.record == PinRecord():
            return NOTHING_HELD  # as of every first list
        return self._judge(seen, tools, instructions).judgement

    def hint(self, tool: str) -> ToolHint | None:
        """Return what the approved hints of a tool claim; None if it was never listed."""
        if self.is_off:
            return "unknown"
        if (first := self._first) is not None:
            return first.claim(tool)
        pin = pin_in_force(self._look(), self._identity)
        return None if pin is None or tool not in pin.tools else claim_of(pin.tools[tool].hints)

    def look(self) -> None:
        """Judge the lists again if a person has approved or rejected something, or the lock has changed."""
        if self.is_off or self._seen is None or self._refreshing is not None:
            return
        if not self._look().is_same(self._seen):
            self._refreshing = asyncio.create_task(self._refresh())
        elif self._keeper.has_lost_held:
            self._refreshing = asyncio.create_task(self._show_held_again())

    async def _show_held_again(self) -> None:
        """Let `review` show what is held here, after a process with another list has removed it."""
        try:
            await in_thread(self._keeper.keep_held_again, REFRESH_TIMEOUT_SECONDS)
        except TimeoutError:
            self._log.warning("what is held could not be written within %g s", REFRESH_TIMEOUT_SECONDS)
        finally:
            self._refreshing = None

    async def _refresh(self) -> None:
        try:
            await in_thread(self._judge_again, REFRESH_TIMEOUT_SECONDS)
        except TimeoutError:
            self._log.warning("its tools could not be judged again within %g s", REFRESH_TIMEOUT_SECONDS)
        except Exception:  # noqa: BLE001 - a decision of a person must not be lost because of a fault
            self._log.exception("its tools could not be judged again")
        finally:
            self._refreshing = None
        self._tell_users()

    def _judge_again(self) -> None:
        """Judge the live lists by what is approved now. The pin is not written: no list has changed."""
        with self._judging:
            seen = self._seen = self._look()
            self._judged.clear()
            for lists in [*self._live.values()]:
                for modern, live in [*lists.items()]:
                    key = list_digest(live.tools, live.instructions)
                    if key not in self._judged:
                        self._judged[key] = self._judge(seen, live.tools, live.instructions).judgement
                    lists[modern] = _LiveList(live.tools, live.instructions, self._judged[key])
            self._keep_held()

    def _keep_held(self) -> None:
        lists = [live for of_user in [*self._live.values()] for live in [*of_user.values()]]
        self._keeper.keep_held(self.config.pin, [live.judgement for live in lists])

    def _look(self) -> Seen:
        return Seen(self.config.pin, self._context.store.read(self._place), self._context.lock())

    def _admit(self, tools: Tools, instructions: str, *, user: object, modern: bool) -> bool:
        """Judge a list and keep what it comes to. Return whether nothing was approved before."""
        self._keep_first()
        key = list_digest(tools, instructions)
        with self._judging:
            seen = self._look()
            if not seen.is_same(self._seen):
                self._judged.clear()
            judgement = self._judged.get(key)
            is_new = judgement is None and pin_in_force(seen, self._identity) is None
            if judgement is None:
                judgement = self._judge_and_keep(seen, tools, instructions)
                if len(self._judged) >= MAX_JUDGED_LISTS:
                    self._judged.pop(next(iter(self._judged)))
                self._judged[key] = judgement
            lists = self._live.setdefault(user, {})
            before = lists.get(modern)
            lists[modern] = _LiveList(tools, instructions, judgement)
            if before is None or before.judgement is not judgement:
                self._keep_held()
            return is_new

    def _keep_first(self) -> None:
        """Judge the first list and keep what it comes to, unless that is done."""
        with self._judging:
            if (first := self._first) is None:
                return
            try:
                judgement = self._judge_and_keep(self._look(), first.tools, first.instructions, self._pause)
                self._judged[list_digest(first.tools, first.instructions)] = judgement
                live = _LiveList(first.tools, first.instructions, judgement)
                self._live[first.user][first.is_modern] = live
                self._keep_held()
                first.claims.update(judgement.hints)
            finally:
                self._first = None

    def _pause(self) -> None:
        """Let calls go on while the first list is judged, unless somebody waits for it."""
        self._is_urgent.wait(PAUSE_SECONDS)

    def _judge_and_keep(
        self, seen: Seen, tools: Tools, instructions: str, pause: Callable[[], None] = no_pause
    ) -> Judgement:
        verdict = self._judge(seen, tools, instructions, pause)
        for _ in range(MAX_ATTEMPTS):
            record = self._keeper.keep(seen.record, verdict, tools, instructions)
            if record is not None:
                seen = msgspec.structs.replace(seen, record=record)
                break
            # Another process has changed the pin meanwhile.
            seen = self._look()
            verdict = self._judge(seen, tools, instructions)
        self._seen = seen
        return verdict.judgement

    def _judge(
        self, seen: Seen, tools: Tools, instructions: str, pause: Callable[[], None] = no_pause
    ) -> Verdict:
        read_texts = partial(self._context.store.texts, self._place)
        return verdict_on(seen, self._identity, read_texts, tools, instructions, pause=pause)
