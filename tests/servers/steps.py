"""What the conversing server can be told to do in the middle of a request: the functions named `do_*`."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.wares import LEVELS, RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.conversing import Server
    from tests.servers.wares import Json


class Refused(Exception):
    """Ends a request with a JSON-RPC error."""

    def __init__(self, error: Json) -> None:
        self.error = error


class Unfinished(Exception):
    """Ends a modern request with `input_required`."""

    def __init__(self, result: Json) -> None:
        self.result = result


class Finished(Exception):
    """Ends a request with a result of the script's own."""

    def __init__(self, result: Json) -> None:
        self.result = result


class Conversation:
    """One request under way: what the steps work with."""

    def __init__(self, server: Server, message: Json, steps: list[Json]) -> None:
        self.server = server
        self.id = message["id"]
        self.params: Json = message.get("params", {})
        self.meta: Json = self.params.get("_meta", {})
        self.steps = steps
        self.answers: list[list[Json]] = []
        self.step = 0
        self.cancelled = threading.Event()

    def resume(self) -> None:
        """Takes up the thread where an earlier request of the same conversation left it."""
        if not self.server.modern or not {"requestState", "inputResponses"} & self.params.keys():
            return
        given = self.params.get("inputResponses", {})
        state: Json = {"step": 1, "answers": [], "keys": given}  # of a server that hands on none
        if "requestState" in self.params:
            state = json.loads(base64.b64decode(self.params["requestState"]))
        self.step, self.answers = state["step"], state["answers"]
        self.answers.append([{"result": given[key]} if key in given else {} for key in state["keys"]])

    def take_steps(self) -> None:
        while self.step < len(self.steps):
            ((name, value),) = self.steps[self.step].items()
            self.step += 1
            STEPS[name](self, value)

    def told(self) -> str:
        return json.dumps({"answers": self.answers, "meta": self.meta})

    def input_required(self, questions: list[Json], *, again: bool = False) -> Unfinished:
        keyed = {question.get("key", f"q{at}"): question for at, question in enumerate(questions)}
        state = {"step": self.step - again, "answers": self.answers, "keys": list(keyed)}
        result: Json = {
            "resultType": "input_required",
            "requestState": base64.b64encode(json.dumps(state).encode()).decode(),
        }
        if keyed:
            result["inputRequests"] = {
                key: {name: value for name, value in question.items() if name != "key"}
                for key, question in keyed.items()
            }
        return Unfinished(result)


class Question:
    """A request of a legacy server's own."""

    def __init__(self, server: Server, question: Json) -> None:
        number = len(server.questions) + 1
        self.server = server
        self.id = f"ask-{number}" if number % 2 else number  # an id may be either
        self.arrived = threading.Event()
        self.got: Json = {}
        server.questions[self.id] = self
        server.journal("asked", id=self.id, method=question["method"])
        server.send({"id": self.id, **{name: value for name, value in question.items() if name != "key"}})

    def answer(self, message: Json) -> None:
        self.got = {name: value for name, value in message.items() if name in ("result", "error")}
        self.arrived.set()

    def wait(self, conversation: Conversation) -> Json:
        """The answer; none comes once the conversation is cancelled."""
        while not (self.arrived.wait(0.02) or conversation.cancelled.is_set()):
            pass
        if conversation.cancelled.is_set():
            self.server.journal("cancelled", id=conversation.id)
            sys.exit()
        return self.got


def do_ask(conversation: Conversation, questions: list[Json]) -> None:
    """Asks all the questions of one round at once."""
    if conversation.server.modern:
        raise conversation.input_required(questions)
    asked = [Question(conversation.server, question) for question in questions]
    conversation.answers.append([question.wait(conversation) for question in asked])


def do_ask_without_state(conversation: Conversation, questions: list[Json]) -> None:
    """The same by a server that needs no state, which has to be its first step."""
    if conversation.server.modern:
        unfinished = conversation.input_required(questions)
        del unfinished.result["requestState"]
        raise unfinished
    do_ask(conversation, questions)


def do_ask_for_ever(conversation: Conversation, question: Json) -> None:
    if conversation.server.modern:
        raise conversation.input_required([question], again=True)
    while True:
        Question(conversation.server, question).wait(conversation)


def do_pause(conversation: Conversation, _: object) -> None:
    """A round without a question: the client is to come again with the state alone."""
    if conversation.server.modern:
        raise conversation.input_required([])


def do_pause_for_ever(conversation: Conversation, _: object) -> None:
    if conversation.server.modern:
        raise conversation.input_required([], again=True)


def do_withdraw(conversation: Conversation, told: Json) -> None:
    """Asks, and takes the question back when the test has made a file."""
    question = Question(conversation.server, told["question"])
    _wait_for(told["when"])
    conversation.server.notify(
        "notifications/cancelled", {"requestId": question.id, "reason": "changed my mind"}
    )
    conversation.server.journal("withdrawn")


def do_die(conversation: Conversation, _: object) -> None:
    os._exit(7)


def do_ask_and_die(conversation: Conversation, told: Json) -> None:
    """Asks, and leaves when the test has made a file."""
    Question(conversation.server, told["question"])
    _wait_for(told["when"])
    os._exit(7)


def do_ask_later(conversation: Conversation, told: Json) -> None:
    """Asks when the test has made a file, call or no call; the answer is in the journal."""

    def ask() -> None:
        _wait_for(told["when"])
        answer = Question(conversation.server, told["question"]).wait(conversation)
        conversation.server.journal("answered", answer=answer)

    threading.Thread(target=ask, daemon=True).start()


def do_complete_elicitation(conversation: Conversation, elicitation: str) -> None:
    conversation.server.notify("notifications/elicitation/complete", {"elicitationId": elicitation})


def do_progress(conversation: Conversation, told: Json) -> None:
    token = conversation.meta.get("progressToken")
    for step in range(1, told["steps"] + 1):
        if token is not None:
            params = {
                "progressToken": token,
                "progress": step,
                "total": told["steps"],
                **told.get("with", {}),
            }
            conversation.server.notify("notifications/progress", params)
        time.sleep(told.get("every", 0))


def do_log(conversation: Conversation, messages: list[Json]) -> None:
    """Says what the client has asked to hear, as its era asks for it."""
    server = conversation.server
    level = conversation.meta.get(RESERVED + "logLevel") if server.modern else server.level
    for message in messages:
        if level is not None and LEVELS.index(message["level"]) >= LEVELS.index(level):
            server.notify("notifications/message", message)


def do_hang(conversation: Conversation, _: object) -> None:
    conversation.cancelled.wait()
    conversation.server.journal("cancelled", id=conversation.id)
    sys.exit()


def do_wait(conversation: Conversation, path: str) -> None:
    """Goes on when the test has made a file."""
    _wait_for(path)


def do_change(conversation: Conversation, kind: str) -> None:
    """Adds one to a list, and says so."""
    server = conversation.server
    if kind == "tools":
        server.tools.append("added")
    elif kind == "resources":
        server.resources.append({"uri": "test://added", "name": "added"})
    else:
        server.prompts.append({"name": "added"})
    server.announce(kind)


def do_update(conversation: Conversation, uri: str) -> None:
    conversation.server.update(uri)


def do_refuse(conversation: Conversation, error: Json) -> None:
    raise Refused(error)


def do_result(conversation: Conversation, result: Json) -> None:
    raise Finished(result)


STEPS: dict[str, Callable[[Conversation, Any], None]] = {
    name.removeprefix("do_"): it for name, it in dict(globals()).items() if name.startswith("do_")
}


def _wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)
