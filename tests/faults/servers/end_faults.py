"""Faults at the end, one function each: what keeps a server, or something of it, from going."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.faults.servers.conversation import STUBBORN, sleep_for_ever, start_helper, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.servers.conversation import Server


def ignores_sigterm_and_eof(server: Server) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    server.on_eof = sleep_for_ever


def ignores_eof(server: Server) -> None:
    server.on_eof = sleep_for_ever


def takes_1_5_s_to_finish(server: Server) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def finish() -> None:
        time.sleep(1.5)
        server.journal("finished", os.getpid())

    server.on_eof = finish


def has_a_helper(server: Server) -> None:
    server.journal("grandchild", start_helper())


def has_a_helper_in_a_new_session(server: Server) -> None:
    server.journal("grandchild", start_helper(new_session=True))


def has_a_helper_that_cut_all_ties(server: Server) -> None:
    """As a daemon does: a new session, another parent, pipes of its own."""
    code = (
        "import subprocess, sys; nothing = subprocess.DEVNULL;"
        f"print(subprocess.Popen([sys.executable, '-S', '-c', {STUBBORN!r}], start_new_session=True,"
        " stdin=nothing, stdout=nothing, stderr=nothing).pid)"
    )
    made = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, check=True)
    server.journal("grandchild", int(made.stdout))


def has_helpers_and_is_stubborn(server: Server) -> None:
    has_a_helper(server)
    has_a_helper_in_a_new_session(server)
    ignores_sigterm_and_eof(server)


def starts_a_helper_when_told_to_end(server: Server) -> None:
    def react(*_: object) -> None:
        server.journal("grandchild", start_helper())

    signal.signal(signal.SIGTERM, react)
    server.on_eof = sleep_for_ever


def babbles_at_the_end(server: Server) -> None:
    def babble() -> None:
        while True:
            write(b"what is no message\n" * 1000)

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server.on_eof = babble


def stops_itself_when_its_input_ends(server: Server) -> None:
    server.on_eof = lambda: os.kill(os.getpid(), signal.SIGSTOP)


def closes_its_output_when_its_input_ends(server: Server) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def close() -> None:
        os.close(1)
        sleep_for_ever()

    server.on_eof = close


def goes_in_good_order(server: Server) -> None:
    """No fault: so that the judge of faults is known to let one pass."""


def named(name: str) -> Callable[[Server], None]:
    """The fault of that name."""
    fault: Callable[[Server], None] = globals()[name]
    return fault
