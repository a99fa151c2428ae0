"""What the soak's server does when it is to ask before it answers: it says in the end what it was answered.

In the legacy era it asks by requests, one after the other. In the modern one it wants the call made again,
and keeps nothing meanwhile: all that it knows by then is in the state that it gets back.
"""

from __future__ import annotations

import json

from soak.questions import name_of, question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from soak.server import SoakServer

    Json = dict[str, Any]


def ask_by_requests(server: SoakServer, request: object, params: Json, got: list[Json]) -> None:
    """Asks the next question, or answers the call if there is none or one was not answered."""
    arguments = params["arguments"]
    methods = [method for methods in arguments["asks"] for method in methods]
    if len(got) == len(methods) or (got and "error" in got[-1]):
        server.respond_text(request, json.dumps(got))
        return
    method = methods[len(got)]

    def take(message: Json) -> None:
        kept = {key: value for key, value in message.items() if key in {"result", "error"}}
        ask_by_requests(server, request, params, [*got, kept])

    def ask() -> None:
        server.ask(method, question(name_of(arguments["token"], len(got)), method), take, request)

    if arguments["pause"]:
        server.later(arguments["pause"], request, ask)
    else:
        ask()


def ask_by_results(server: SoakServer, request: object, params: Json) -> None:
    """Answers the call with the next questions, or for good if all are answered."""
    arguments, answers = params["arguments"], params.get("inputResponses", {})
    token, asks = arguments["token"], arguments["asks"]
    state: Json = json.loads(params.get("requestState", '{"calls": 0, "got": []}'))
    got: list[Json] = state["got"]
    # Whose answers did not come along is asked again.
    if (pending := _pending(token, asks, got)) and pending.keys() <= answers.keys():
        got += [{"result": answers[name]} for name in pending]
        pending = _pending(token, asks, got)
    if not pending:
        server.respond_text(request, json.dumps(got))
        return
    asked = {name: {"method": how, "params": question(name, how)} for name, how in pending.items()}
    note = json.dumps({"calls": state["calls"] + 1, "got": got})
    server.respond(request, {"resultType": "input_required", "inputRequests": asked, "requestState": note})


def call_name(params: Json) -> str:
    """What this call is written down as: one that is made again has a name of its own, each time."""
    token: str = params["arguments"]["token"]
    if "requestState" not in params:
        return token
    return f"{token}/{json.loads(params['requestState'])['calls']}"


def _pending(token: str, asks: list[list[str]], got: list[Json]) -> dict[str, str]:
    """The questions of the first round that is not answered yet, with their methods."""
    first = 0
    for methods in asks:
        if first == len(got):
            return {name_of(token, first + i): method for i, method in enumerate(methods)}
        first += len(methods)
    return {}
