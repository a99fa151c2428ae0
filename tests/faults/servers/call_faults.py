"""Faults in a call, one function each: what the tool `fault` does in place of an answer.

Each is named for what it does; what must come of it stands in the table beside the tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from tests.faults.servers.conversation import Call, page, read, say, sleep_for_ever, succeed, tool, write

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000
LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}'


def complain(text: str) -> None:
    os.write(2, text.encode() + b"\n")


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


def start_helper(*, new_session: bool = False) -> int:
    """A process that holds our pipes and outlives a SIGTERM."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(120)"
    return subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=new_session).pid


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


# ---- The wrong bytes.


def wraps_its_answer_in_invalid_utf_8(call: Call) -> None:
    say(b"\xff\xfe\x80 banner \xc3\x28")
    call.answer()
    say(b"\xf0\x28\x8c\x28")


def answers_in_invalid_utf_8(call: Call) -> None:
    say(call.answering("cut here").encode().replace(b"here", b"\xff\xc3"))


def answers_in_invalid_utf_8_at_length(call: Call) -> None:
    say(call.answering("cut here" + "x" * 200_000).encode().replace(b"here", b"\xff\xc3"))


def answers_in_latin_1(call: Call) -> None:
    say(call.answering("cut here").replace("here", "caf\xe9").encode("latin-1"))


def answers_with_a_lone_surrogate(call: Call) -> None:
    say(call.answering("cut here").replace("here", r"\ud83d"))


def answers_with_the_wrong_half_of_a_surrogate(call: Call) -> None:
    say(call.answering("cut here").replace("here", r"\udc00 \\ud800"))


def says_nul_bytes_before_the_answer(call: Call) -> None:
    say(b"\x00" * 1000)
    call.answer()


def begins_its_answer_with_nul_bytes(call: Call) -> None:
    say("\x00\x00" + call.answering("done"))


def answers_with_a_nul_byte_inside(call: Call) -> None:
    say(call.answering("cut here").replace("here", "\x00"))


def answers_with_an_escaped_nul(call: Call) -> None:
    say(call.answering("cut here").replace("here", r"\u0000"))


def answers_with_a_bom(call: Call) -> None:
    write(b"\xef\xbb\xbf")
    call.answer()


def answers_with_crlf(call: Call) -> None:
    write(call.answering("done") + "\r\n")


def answers_with_a_bom_and_crlf(call: Call) -> None:
    write(b"\xef\xbb\xbf" + call.answering("done").encode() + b"\r\n")


def answers_in_utf_16(call: Call) -> None:
    write(b"\xfe\xff" + (call.answering("done") + "\n").encode("utf-16-be"))


# ---- The wrong messages.


def answers_in_a_batch(call: Call) -> None:
    say(f"[{call.answering('done')}]")


def answers_in_a_batch_among_others(call: Call) -> None:
    say(f"[{LOG},5,null,[],{call.answering('no', '987654321')},{call.answering('done')}]")


def answers_with_an_empty_batch_first(call: Call) -> None:
    say("[]")
    call.answer()


def answers_twice(call: Call) -> None:
    call.answer("first")
    call.answer("second")


def answers_a_hundred_times(call: Call) -> None:
    for number in range(100):
        call.answer("first" if number == 0 else "later")


def answers_under_unknown_ids_first(call: Call) -> None:
    for request_id in ("987654321", "-1", "0", '"x"', "true", "1.5", "{}", "[]", "1e400", "9" * 5000):
        say(call.answering("not this", request_id))
    call.answer()


def answers_under_an_unknown_id_only(call: Call) -> None:
    say(call.answering("not this", "987654321"))


def answers_under_null_first(call: Call) -> None:
    say(call.answering("not this", "null"))
    say('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}')
    call.answer()


def answers_under_null_only(call: Call) -> None:
    say(call.answering("not this", "null"))


def answers_under_no_id(call: Call) -> None:
    say(f'{{"jsonrpc":"2.0","result":{call.result(json.dumps("not this"))}}}')


def answers_under_its_id_as_text(call: Call) -> None:
    say(call.answering("done", f'"{call.id}"'))


def answers_under_its_id_as_a_float(call: Call) -> None:
    say(call.answering("done", f"{call.id}.0"))


def answers_with_nan(call: Call) -> None:
    call.answer_with('"result":{"content":[],"structuredContent":{"x":NaN,"y":[Infinity,-Infinity]}}')


def answers_nested_100_000_deep(call: Call) -> None:
    call.answer_with(
        '"result":{"content":[],"structuredContent":{"x":' + "[" * 100_000 + "]" * 100_000 + "}}"
    )


def babbles_100_000_deep_before_the_answer(call: Call) -> None:
    say("[" * 100_000)
    say('{"a":' * 100_000 + "1" + "}" * 100_000)
    call.answer()


def refuses_with_text(call: Call) -> None:
    call.answer_with('"error":"went wrong"')


def refuses_with_a_number(call: Call) -> None:
    call.answer_with('"error":5')


def refuses_with_a_list(call: Call) -> None:
    call.answer_with('"error":[{"code":1}]')


def refuses_with_nothing(call: Call) -> None:
    call.answer_with('"error":{}')


def refuses_with_null(call: Call) -> None:
    call.answer_with('"error":null')


def refuses_with_odd_members(call: Call) -> None:
    call.answer_with('"error":{"code":"E_ODD","message":{"text":["went wrong"]},"data":null}')


def refuses_with_a_fraction_and_null(call: Call) -> None:
    call.answer_with('"error":{"code":1.5,"message":null}')


def refuses_at_length(call: Call) -> None:
    call.answer_with(f'"error":{{"code":-32000,"message":"{"x" * (5 * MEGABYTE)}"}}')


def refuses_properly(call: Call) -> None:
    call.answer_with('"error":{"code":-32000,"message":"no room","data":{"free":0}}')


def refuses_and_succeeds(call: Call) -> None:
    call.answer_with(f'"result":{call.result(chr(34) * 2)},"error":{{"code":-32000,"message":"no room"}}')


def answers_null(call: Call) -> None:
    call.answer_with('"result":null')


def answers_42(call: Call) -> None:
    call.answer_with('"result":42')


def answers_text(call: Call) -> None:
    call.answer_with('"result":"done"')


def answers_a_list(call: Call) -> None:
    call.answer_with('"result":[]')


def answers_with_neither(call: Call) -> None:
    say(f'{{"jsonrpc":"2.0","id":{call.id}}}')


def answers_with_broken_json(call: Call) -> None:
    say(call.answering("done")[:-3])


def answers_with_text_after_the_json(call: Call) -> None:
    say(call.answering("done") + " trailing")


def answers_without_a_version(call: Call) -> None:
    say(call.answering("done").replace('"jsonrpc":"2.0",', ""))


def answers_with_white_space(call: Call) -> None:
    result = call.result('"done"')
    say(f' \t{{ "jsonrpc" : "2.0" ,\t"id" : {call.id} , "result" : {result} }}\t \r')


def answers_with_escapes_in_its_keys(call: Call) -> None:
    say(f'{{"\\u006asonrpc":"2.0","\\u0069d":{call.id},"r\\u0065sult":{call.result(json.dumps("done"))}}}')


def answers_with_separators_that_end_no_line(call: Call) -> None:
    separators = "\u2028\u2029\x85"
    say(call.answering("cut here").replace("here", separators))


def answers_with_100_000_parts(call: Call) -> None:
    parts = ",".join('{"type":"text","text":"x"}' for _ in range(100_000))
    call.answer_with(f'"result":{{"content":[{parts}]}}')


def changes_its_tools_to_nonsense(call: Call) -> None:
    call.server.on["tools/list"] = lambda request_id, _: succeed(request_id, "42")
    say(LIST_CHANGED)
    call.answer()


def changes_its_tools_and_never_lists_them(call: Call) -> None:
    call.server.on["tools/list"] = lambda *_: None
    say(LIST_CHANGED)
    call.answer()


def changes_its_tools_to_a_list_without_end(call: Call) -> None:
    numbers = iter(range(10**9))
    call.server.on["tools/list"] = lambda request_id, _: succeed(
        request_id, page(tool("echo"), f"cursor-{next(numbers)}")
    )
    say(LIST_CHANGED)
    call.answer()


def changes_its_tools_in_mid_flight(call: Call) -> None:
    server = call.server
    server.tools = [tool("fresh"), tool("fault")]
    server.calls["fresh"] = lambda later: later.answer("fresh")
    say(LIST_CHANGED)
    call.answer()


def named(name: str) -> Callable[[Call], None]:
    """The fault of that name."""
    fault: Callable[[Call], None] = globals()[name]
    return fault
