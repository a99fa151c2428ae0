"""Faults at the start, one function each: what is done to a server before it serves."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.faults.servers import list_faults
from tests.faults.servers.conversation import (
    LIST_CHANGED,
    LOG,
    MEGABYTE,
    complain,
    discovery,
    fail,
    greeting,
    page,
    read,
    say,
    sleep_for_ever,
    start_helper,
    succeed,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.servers.conversation import Handler, Server

GREETINGS = ("initialize", "server/discover")


# ---- It does not come up.


def exits(server: Server) -> None:
    complain("loading")
    complain("no such database")
    sys.exit(3)


def exits_without_a_word(server: Server) -> None:
    os._exit(0)


def crashes(server: Server) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def exits_a_little_later(server: Server) -> None:
    complain("no such database")
    time.sleep(0.5)
    sys.exit(3)


def exits_at_the_first_message(server: Server) -> None:
    read()
    complain("no such database")
    sys.exit(3)


def exits_when_asked_for_its_tools(server: Server) -> None:
    def leave(request_id: str, params: object) -> None:
        complain("no such database")
        sys.exit(3)

    server.on["tools/list"] = leave


def exits_when_it_has_listed_its_tools(server: Server) -> None:
    def list_and_leave(request_id: str, params: object) -> None:
        succeed(request_id, page(",".join(server.tools)))
        complain("no such database")
        sys.exit(3)

    server.on["tools/list"] = list_and_leave


def exits_and_leaves_a_helper(server: Server) -> None:
    server.journal("grandchild", start_helper())
    exits(server)


def never_answers(server: Server) -> None:
    while read() is not None:
        pass


def never_answers_its_greeting(server: Server) -> None:
    for method in GREETINGS:
        server.on[method] = lambda *_: None


def never_answers_its_list(server: Server) -> None:
    server.on["tools/list"] = lambda *_: None


def never_reads(server: Server) -> None:
    sleep_for_ever()


def stops_itself(server: Server) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def ignores_every_way_to_end(server: Server) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep_for_ever()


def closes_its_output(server: Server) -> None:
    os.close(1)
    sleep_for_ever()


def babbles_without_end(server: Server) -> None:
    while True:
        write(b"what is no message\n" * 1000)


def says_a_line_without_end(server: Server) -> None:
    while True:
        write(b"x" * MEGABYTE)


def says_half_a_greeting(server: Server) -> None:
    for method in GREETINGS:
        server.on[method] = lambda request_id, _: write(f'{{"jsonrpc":"2.0","id":{request_id},"resu')


def floods_stderr_without_end(server: Server) -> None:
    while True:
        os.write(2, b"no such database\n" * 1000)


# ---- It comes up oddly.


def answers_after_3_s(server: Server) -> None:
    time.sleep(3)


def prints_banners(server: Server) -> None:
    say("Need to install the following packages:\n\nOk to proceed? (y)\n{not json\nnull\n[]\n5\n\r")
    say(json.dumps({"level": "info", "message": "listening", "id": 1}))
    say(b"\xff\xfe\x1b[2J \x00")


def prints_a_long_banner(server: Server) -> None:
    say("x" * (5 * MEGABYTE))
    write("a line of it\n" * 100_000)


def writes_20_mb_to_stderr(server: Server) -> None:
    for _ in range(200):
        os.write(2, b"x" * 99_999 + b"\n")


def notifies_before_it_answers(server: Server) -> None:
    write(f"{LOG}\n{LIST_CHANGED}\n" * 5000)


def asks_before_it_answers(server: Server) -> None:
    say('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
    say('{"jsonrpc":"2.0","id":2,"method":"ping"}')


def answers_its_greeting_twice(server: Server) -> None:
    def twice(handler: Handler) -> Handler:
        def answer(request_id: str, params: dict[str, Any]) -> None:
            handler(request_id, params)
            handler(request_id, params)

        return answer

    for method in GREETINGS:
        if method in server.on:
            server.on[method] = twice(server.on[method])


# ---- It greets wrongly.


def greets_with(server: Server, answer: Callable[[str], None]) -> None:
    for method in GREETINGS:
        server.on[method] = lambda request_id, _: answer(request_id)


def refuses(server: Server) -> None:
    greets_with(server, lambda request_id: fail(request_id, -32000, "no licence was found"))


def refuses_with_odd_types(server: Server) -> None:
    greets_with(server, lambda request_id: say(f'{{"jsonrpc":"2.0","id":{request_id},"error":"no licence"}}'))


def speaks_an_unknown_version(server: Server) -> None:
    server.on["initialize"] = lambda request_id, _: succeed(request_id, greeting("1999-12-31"))
    server.on["server/discover"] = lambda request_id, _: succeed(request_id, discovery("1999-12-31"))


def greets_with_42(server: Server) -> None:
    greets_with(server, lambda request_id: succeed(request_id, "42"))


def greets_with_null(server: Server) -> None:
    greets_with(server, lambda request_id: succeed(request_id, "null"))


def greets_with_odd_members(server: Server) -> None:
    result = '{"protocolVersion":["2025-11-25"],"supportedVersions":5,"capabilities":null,"serverInfo":7}'
    greets_with(server, lambda request_id: succeed(request_id, result))


def named(name: str) -> Callable[[Server], None]:
    """The fault of that name."""
    fault: Callable[[Server], None] = vars(list_faults).get(name) or globals()[name]
    return fault
