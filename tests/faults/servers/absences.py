"""Faults of a call whose answer does not come, or not whole: it goes away, falls silent, or stops halfway."""

from __future__ import annotations

import os
import signal
import time

from tests.faults.servers.conversation import (
    MEGABYTE,
    Call,
    complain,
    read,
    sleep_for_ever,
    start_helper,
    write,
)

# ---- It goes away.


def exits(call: Call) -> None:
    complain("about to exit")
    os._exit(7)


def exits_as_if_all_were_well(call: Call) -> None:
    os._exit(0)


def is_killed(call: Call) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crashes(call: Call) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def answers_and_exits(call: Call) -> None:
    call.answer()
    os._exit(1)


def answers_without_a_newline_and_exits(call: Call) -> None:
    write(call.answering("done"))
    os._exit(1)


def exits_and_leaves_a_helper_on_its_pipes(call: Call) -> None:
    call.server.journal("grandchild", start_helper())
    os._exit(7)


def is_killed_and_leaves_a_helper_in_a_new_session(call: Call) -> None:
    call.server.journal("grandchild", start_helper(new_session=True))
    os.kill(os.getpid(), signal.SIGKILL)


# ---- It says nothing.


def never_answers(call: Call) -> None:
    """Everything else it answers."""


def never_answers_anything_any_more(call: Call) -> None:
    while read() is not None:
        pass


def stops_reading(call: Call) -> None:
    sleep_for_ever()


def stops_itself(call: Call) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def answer_and_settle(call: Call) -> None:
    call.answer()
    call.server.journal("settled", os.getpid())


def answers_and_stops_reading(call: Call) -> None:
    answer_and_settle(call)
    sleep_for_ever()


def answers_and_stops_itself(call: Call) -> None:
    answer_and_settle(call)
    os.kill(os.getpid(), signal.SIGSTOP)


def answers_and_then_nothing_any_more(call: Call) -> None:
    answer_and_settle(call)
    never_answers_anything_any_more(call)


def answers_too_late(call: Call) -> None:
    time.sleep(1.3)
    call.answer("too late")


def is_busy_for_three_times_its_time(call: Call) -> None:
    time.sleep(3)
    call.answer("too late")


def closes_its_output(call: Call) -> None:
    os.close(1)
    never_answers_anything_any_more(call)


def closes_its_input(call: Call) -> None:
    os.close(0)
    sleep_for_ever()


def closes_both(call: Call) -> None:
    os.close(0)
    os.close(1)
    sleep_for_ever()


def answers_and_closes_its_output(call: Call) -> None:
    call.answer()
    os.close(1)
    call.server.journal("settled", os.getpid())
    never_answers_anything_any_more(call)


def answers_and_closes_its_input(call: Call) -> None:
    call.answer()
    os.close(0)
    call.server.journal("settled", os.getpid())
    sleep_for_ever()


# ---- Half of something.


def says_half_a_line_and_exits(call: Call) -> None:
    write(call.answering("done")[:40])
    os._exit(7)


def says_half_of_a_long_answer_and_exits(call: Call) -> None:
    write(call.answering("x" * (20 * MEGABYTE))[: 10 * MEGABYTE])
    os._exit(7)


def says_half_a_line_and_closes_its_output(call: Call) -> None:
    write(call.answering("done")[:40])
    closes_its_output(call)


def says_half_a_line_and_no_more(call: Call) -> None:
    write(call.answering("done")[:40])


def says_half_a_line_and_stops_reading(call: Call) -> None:
    write(call.answering("done")[:40])
    sleep_for_ever()


def says_its_answer_byte_by_byte(call: Call) -> None:
    for byte in call.answering("done") + "\n":
        write(byte)
        time.sleep(0.002)


def drips_a_line_without_end(call: Call) -> None:
    write(call.answering("done")[:40])
    while True:
        write("x")
        time.sleep(0.02)
