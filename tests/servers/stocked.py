"""A scripted server with more than tools: `python -m tests.servers.stocked '{"era": "modern", ...}'`.

Of resources, prompts and completions it says what its options say, word for word, and whatever else is wrong
with it is the scripted server's. Its tools update resources and end streams.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.servers import scripted
from tests.servers.scripted import BEHAVIOURS, SUBSCRIPTION, Call, Options, Server

ROOT = Path(__file__).parents[2]
OFFERS = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
}


class Stock(scripted.Script, total=False):
    """What a test can ask of the server beyond what it can ask of the scripted one."""

    offers: dict[str, Any]
    answers: dict[str, str]  # method -> the raw result
    errors: dict[str, str]  # method, or URI that is read -> the raw error
    silent: list[str]  # methods that are not answered
    has: list[str]  # the only URIs that can be read
    reticent: bool  # a modern server agrees to streams, but not to tell of resources
    asks: bool  # a modern server asks for something before anything is read


class StockOptions(Options, Stock, total=False):
    """All of the command line."""


class Stocked(Server):
    """The scripted server, and what it has in stock."""

    def __init__(self, options: StockOptions) -> None:
        offers = {"capabilities": options.get("offers", OFFERS)}
        super().__init__({**options, "greeting": offers, "discovery": offers})  # type: ignore[typeddict-unknown-key] # more of them
        self.stock = options
        self.subscribed: set[str] = set()
        self.streams: dict[object, dict[str, Any]] = {}

    def notified(self, message: dict[str, Any]) -> None:
        super().notified(message)
        if message["method"] == "notifications/cancelled":
            self.journal("cancelled", id=message["params"]["requestId"])
            self.streams.pop(message["params"]["requestId"], None)

    def dispatch(self, line: str, message: dict[str, Any]) -> None:
        request_id, method, params = message["id"], message["method"], message.get("params", {})
        errors = self.stock.get("errors", {})
        error = errors.get(method) or errors.get(params.get("uri", ""))
        if method in self.stock.get("silent", ()):
            return
        if error is not None:
            self.refuse(request_id, error)
        elif method in self.stock.get("answers", {}):
            self.answer(request_id, self.stock["answers"][method])
        elif method == "resources/read":
            self.read(request_id, params)
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            change = self.subscribed.add if method == "resources/subscribe" else self.subscribed.discard
            change(params["uri"])
            self.answer(request_id, "{}")
        elif method == "subscriptions/listen":
            self.streams[request_id] = wanted = params["notifications"]
            agreed = {} if "resourceSubscriptions" in wanted and self.stock.get("reticent") else wanted
            acknowledged = {"_meta": {SUBSCRIPTION: request_id}, "notifications": agreed}
            self.notify("notifications/subscriptions/acknowledged", acknowledged)
        else:
            super().dispatch(line, message)

    def read(self, request_id: object, params: dict[str, Any]) -> None:
        uri = params["uri"]
        if uri not in self.stock.get("has", [uri]):
            self.fail(request_id, -32002, "Resource not found", {"uri": uri})
        elif self.stock.get("asks") and "requestState" not in params:
            question = {"method": "roots/list"}
            asked = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s"}
            self.answer(request_id, json.dumps(asked))
        else:
            kind = {} if self.initialised else {"resultType": "complete"}
            contents = [{"uri": uri, "text": json.dumps(params.get("inputResponses"))}]
            self.answer(request_id, json.dumps({**kind, "contents": contents}))

    def update(self, uri: str) -> None:
        """Says that a resource has changed to whoever has asked for it or for what it is a part of."""
        if any(uri.startswith(asked) for asked in self.subscribed):
            self.notify("notifications/resources/updated", {"uri": uri})
        for stream, wanted in self.streams.items():
            if any(uri.startswith(asked) for asked in wanted.get("resourceSubscriptions", ())):
                params = {"uri": uri, "_meta": {SUBSCRIPTION: stream, "vendor/key": 1}}
                self.notify("notifications/resources/updated", params)


def do_update(call: Call, script: dict[str, Any]) -> None:
    assert isinstance(call.server, Stocked)
    call.server.update(json.loads(call.arguments)["uri"])
    call.answer("updated")


def do_end_streams(call: Call, script: dict[str, Any]) -> None:
    """In good order, or by taking them back."""
    assert isinstance(call.server, Stocked)
    streams, call.server.streams = call.server.streams, {}
    for number, stream in enumerate(streams):
        if number % 2:
            call.server.notify("notifications/cancelled", {"requestId": stream})
        else:
            ended = {"resultType": "complete", "_meta": {SUBSCRIPTION: stream}}
            call.server.answer(stream, json.dumps(ended))
    call.answer("ended")


def do_emit(call: Call, script: dict[str, Any]) -> None:
    """Answers with its arguments as the raw result, so that a test can let any server say anything."""
    call.server.answer(call.id, call.arguments)


BEHAVIOURS |= {"update": do_update, "end_streams": do_end_streams, "emit": do_emit}


def main() -> None:
    server = Stocked(json.loads(sys.argv[1]))
    server.start()
    server.serve()


if __name__ == "__main__":
    main()
