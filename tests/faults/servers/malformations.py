"""Faults of a call whose answer has the wrong form, in its bytes or as a message; and tools that change."""

from __future__ import annotations

import json

from tests.faults.servers.conversation import (
    LIST_CHANGED,
    LOG,
    MEGABYTE,
    Call,
    page,
    say,
    succeed,
    tool,
    write,
)

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


def answers_the_next_calls_in_advance(call: Call) -> None:
    call.answer()
    for ahead in range(1, 10):
        say(call.answering("not this", str(int(call.id) + ahead)))


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


def answers_nested_a_million_deep(call: Call) -> None:
    call.answer_with(
        '"result":{"content":[],"structuredContent":{"x":' + "[" * 1_000_000 + "]" * 1_000_000 + "}}"
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


# ---- Tools that change.


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
