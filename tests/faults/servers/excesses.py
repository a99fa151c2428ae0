"""Faults of a call in which too much comes: lines, bytes, notifications, progress, stderr, questions."""

from __future__ import annotations

import json
import os
import threading
import time

from tests.faults.servers.conversation import (
    LIST_CHANGED,
    LOG,
    MEGABYTE,
    Call,
    read,
    say,
    write,
)

# ---- Too much of something.


def babbles_before_the_answer(call: Call) -> None:
    for _ in range(200_000):
        say("x" * 100)
    call.answer()


def babbles_json_before_the_answer(call: Call) -> None:
    for number in range(20_000):
        say(json.dumps({"level": "info", "msg": "x" * 1000, "number": number}))
    call.answer()


def says_empty_lines_before_the_answer(call: Call) -> None:
    write(b"\n \n\r\n" * 100_000)
    call.answer()


def babbles_without_end(call: Call) -> None:
    while True:
        write(b"what is no message\n" * 1000)


def babbles_without_end_beside_its_work(call: Call) -> None:
    def babble() -> None:
        while True:
            say("what is no message")
            time.sleep(0.001)

    threading.Thread(target=babble, daemon=True).start()


def answers_with_1_mb(call: Call) -> None:
    say(call.answering("x" * MEGABYTE))


def answers_with_50_mb(call: Call) -> None:
    say(call.answering("x" * (50 * MEGABYTE)))


def says_a_50_mb_line_of_nothing_before_the_answer(call: Call) -> None:
    say(b"x" * (50 * MEGABYTE))
    call.answer()


def answers_with_100_mb(call: Call) -> None:
    say(call.answering("x" * (100 * MEGABYTE)))


def answers_with_100_mb_and_its_id_last(call: Call) -> None:
    say(f'{{"result":{call.result(json.dumps("x" * (100 * MEGABYTE)))},"jsonrpc":"2.0","id":{call.id}}}')


def says_an_answer_without_end(call: Call) -> None:
    write(call.answering("done")[:-6])
    while True:
        write(b"x" * MEGABYTE)


def says_a_line_without_end(call: Call) -> None:
    while True:
        write(b"x" * MEGABYTE)


def notifies_50_000_times_before_the_answer(call: Call) -> None:
    for _ in range(50):
        write((LOG + "\n") * 1000)
    call.answer()


def notifies_without_end(call: Call) -> None:
    while True:
        write((LOG + "\n") * 100)


def notifies_oddly(call: Call) -> None:
    for method in ("progress", "cancelled", "message", "tools/list_changed", "initialized", "nobody/knows"):
        for params in ("null", "5", "[]", "{}", '"text"', '{"requestId":1,"progressToken":{}}'):
            say(f'{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}')
    say(f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{call.id}}}}}')
    call.answer()


def reports_progress_200_000_times(call: Call) -> None:
    for step in range(0, 200_000, 100):
        write("".join(f"{progress(call.token, step + more)}\n" for more in range(100)))
    call.answer()


def reports_progress_for_ever(call: Call) -> None:
    def report() -> None:
        for step in range(10**9):
            say(progress(call.token, step))
            time.sleep(0.05)

    threading.Thread(target=report, daemon=True).start()


def reports_progress_as_fast_as_it_can(call: Call) -> None:
    step = 0
    while True:
        write("".join(f"{progress(call.token, step + more)}\n" for more in range(100)))
        step += 100


def reports_progress_of_something_else(call: Call) -> None:
    def report() -> None:
        while True:
            for token in ('"unknown"', "null", "{}", "-1", "1e400", "[" * 1000 + "]" * 1000):
                say(progress(token, 1))
            time.sleep(0.05)

    threading.Thread(target=report, daemon=True).start()


def progress(token: str, step: int) -> str:
    params = f'{{"progressToken":{token},"progress":{step}}}'
    return f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}'


def announces_changes_2_000_times(call: Call) -> None:
    for _ in range(2000):
        say(LIST_CHANGED)
    call.answer()


def announces_changes_without_end(call: Call) -> None:
    while True:
        say(LIST_CHANGED)


def writes_50_mb_to_stderr(call: Call) -> None:
    for _ in range(500):
        os.write(2, (b"x" * 99 + b"\n") * 1000)
    call.answer()


def writes_5_mb_to_stderr(call: Call) -> None:
    for _ in range(50):
        os.write(2, (b"x" * 999 + b"\n") * 100)
    call.answer()


def writes_a_50_mb_line_to_stderr(call: Call) -> None:
    for _ in range(50):
        os.write(2, b"x" * MEGABYTE)
    call.answer()


def writes_nonsense_to_stderr(call: Call) -> None:
    os.write(2, b"\xff\xfe\x00\x1b[2J\x1b]0;title\x07\r\rover\n" * 100)
    call.answer()


# ---- Questions.


def asks_once(call: Call) -> None:
    ask(call, "roots/list", 1)


def asks_for_sampling(call: Call) -> None:
    ask(call, "sampling/createMessage", 1)


def asks_5_000_times(call: Call) -> None:
    ask(call, "ping", 5000)


def asks_5_000_times_for_roots(call: Call) -> None:
    ask(call, "roots/list", 5000)


def ask(call: Call, method: str, count: int) -> None:
    for number in range(count):
        say(f'{{"jsonrpc":"2.0","id":"asked-{number}","method":"{method}"}}')
    answered: set[object] = set()
    while len(answered) < count:
        message = read()
        if message is None:
            return
        if "method" not in message:
            answered.add(message["id"])
    call.answer(f"{count} answers")


def asks_without_end_and_never_reads(call: Call) -> None:
    number = 0
    while True:
        number += 1
        say(f'{{"jsonrpc":"2.0","id":{number},"method":"ping","params":{{"_meta":{{"x":"{"x" * 200}"}}}}}}')


def asks_under_odd_ids(call: Call) -> None:
    for request_id in ("null", "{}", "[1]", "1.5", "true", "1e400", '""', '"' + "x" * 10_000 + '"'):
        say(f'{{"jsonrpc":"2.0","id":{request_id},"method":"ping"}}')
    call.answer()


def asks_as_if_it_were_the_client(call: Call) -> None:
    for method in ("initialize", "tools/list", "tools/call", "server/discover"):
        say(f'{{"jsonrpc":"2.0","id":"{method}","method":"{method}","params":{{"name":"use_tool"}}}}')
    call.answer()


def asks_under_the_id_of_the_call(call: Call) -> None:
    say(f'{{"jsonrpc":"2.0","id":{call.id},"method":"ping"}}')
    call.answer()
