"""Asks a person in a terminal whether a call may be made, where its client cannot ask, or is not to.

The call is refused and waits as a pending approval, which `mcp-workbench approvals` answers; then the client
repeats it. While a person follows pending approvals in a terminal, the call is held for a while instead.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.storage.private_files import warn_if_unsafe
from mcp_workbench.storage.trust.approval_files import EXPIRY_SECONDS, ApprovalFiles, PendingApproval
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.policy.approval_form import masked_name
from mcp_workbench.workbench.policy.approver import UserAnswer, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.storage.trust.approval_files import ApprovalState
    from mcp_workbench.workbench.server_call import ServerCall

HOLD_SECONDS: Final = 45.0
"""How long a call is held for a person at a terminal. Many clients give up after 60 seconds."""
POLL_SECONDS: Final = 0.25
"""Time between two looks for the person's answer."""
DISK_SECONDS: Final = 10.0
"""How long a slow disk may take."""

COMMAND: Final = "`mcp-workbench approvals`"
PENDING: Final = (
    f"The user can allow it with {COMMAND} in a terminal, within {EXPIRY_SECONDS / 60:.0f} minutes. "
    "Then repeat the same call"
)
TOO_MANY: Final = f"Too many calls wait for an approval already: the user can answer them with {COMMAND}"
UNUSABLE: Final = (
    f"It cannot wait for {COMMAND}, because the data directory of the workbench cannot be used. "
    "The user can allow it by a rule of the policy"
)

log = logging.getLogger(__name__)


class Console:
    """The terminals in which a person answers the pending approvals of one configuration."""

    def __init__(self, config: str, environ: Mapping[str, str]) -> None:
        self._config = os.path.realpath(config)
        self._files = ApprovalFiles(environ)

    async def ask(self, call: ServerCall, rule: str, lines: list[str], why: str) -> UserAnswer:
        """Return what a person has answered about this call.

        Raises CallRefused if there is no answer, and says what can be done. `why` says why a terminal is
        needed.
        """
        toolbox, server = call.origin
        asked = PendingApproval(
            id="",
            asked_at=time.time(),
            config=self._config,
            principal=call.principal,
            client=call.client_name,
            method=call.method,
            toolbox=toolbox,
            server=server,
            name=masked_name(call),
            rule=rule,
            lines=lines,
        )
        try:
            state = await self._ask(asked, call.bound())
        except (OSError, TimeoutError) as error:
            warn_if_unsafe(error)
            log.warning("approvals cannot be asked for in a terminal: %s: %s", self._files.path, error)
            raise refused(call, f"{why}. {UNUSABLE}") from None
        if state == "full":
            raise refused(call, f"{why}. {TOO_MANY}")
        if state == "open":
            label = {"server": f"{toolbox}/{server}"}
            log.info("a call waits for `mcp-workbench approvals`: %s", asked.name, extra=label)
            raise refused(call, f"{why}. {PENDING}")
        return UserAnswer("once" if state == "allowed" else "no", "console")

    async def _ask(self, asked: PendingApproval, bound: bytes) -> ApprovalState:
        """Look for an answer, and wait for one while a person follows in a terminal. Raises OSError."""
        files = self._files

        def open_it() -> tuple[PendingApproval, ApprovalState, bool]:
            call_id = files.id_of(
                self._config.encode(errors="surrogateescape"), asked.principal.encode(), bound
            )
            pending = msgspec.structs.replace(asked, id=call_id)
            return pending, files.ask(pending), files.has_terminal()

        pending, state, is_followed = await in_thread(open_it, DISK_SECONDS)
        return await self._hold(pending) if state == "open" and is_followed else state

    async def _hold(self, pending: PendingApproval) -> ApprovalState:
        """Wait for the answer of the person at the terminal. The call stays pending if there is none."""
        files = self._files

        def look() -> ApprovalState:
            state = files.state(pending.id)
            # An equal call may have used up the answer, or was cancelled.
            return files.ask(pending) if state == "gone" else state

        loop = asyncio.get_running_loop()
        end = loop.time() + HOLD_SECONDS
        try:
            while loop.time() < end:
                await asyncio.sleep(POLL_SECONDS)
                if (state := await in_thread(look, DISK_SECONDS)) != "open":
                    return state
        except asyncio.CancelledError:
            # Nothing would be done with an answer.
            with suppress(OSError):
                files.withdraw(pending.id)
            raise
        return "open"
