"""An approval that a modern client brings back is good for that call alone, once, in time."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from mcp_workbench.config.load import STATE_KEY
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.http.clients import BACKPRESSURE
from mcp_workbench.surface.output import SingleOutput
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.principal import Principal
from tests.serve.histories import META, SAID, House, use
from tests.serve.relayed import written
from tests.support.waiting import poll

if TYPE_CHECKING:
    from mcp_workbench.workbench.door import CallEnd, CallRecord
    from tests.support.client import Json

ARGUMENTS = {"path": "/srv/x", "deep": [1, {"b": 2, "a": 1}]}
CALL = use("dev", "old", "read", ARGUMENTS)
KEY = {STATE_KEY: "a key that all replicas share, of 32 characters"}


class Desk:
    """A workbench whose policy asks about every call, with a legacy and a modern server that are up."""

    def __init__(self) -> None:
        self.ids = itertools.count(1)
        self.house = House([], Path("/nonexistent"), asks=True)
        self.house.decide("ask")
        for server in self.house.servers:
            server.come_up()
        self.connection = self.connect("ada")

    def connect(self, principal: str, replica: str = "one", used: Any = None) -> ClientConnection:
        self.lines: list[Json] = []
        view = ClientView(self.house.workbench, Principal(principal))
        session = ClientSession(view, ParkedCalls(), Seal(KEY, principal, used, replica))
        output = SingleOutput(lambda line: self.lines.append(json.loads(written(line))))
        return ClientConnection(session, output, BACKPRESSURE)

    async def send(self, params: Json | str, connection: ClientConnection | None = None) -> Json:
        """Send a request of a modern client, and return its response."""
        body = params if isinstance(params, str) else json.dumps(params)
        head = f'{{"jsonrpc":"2.0","id":{next(self.ids)},"method":"tools/call","params":'
        self.lines.clear()
        (connection or self.connection).receive(f'{head}{body[:-1]},"_meta":{json.dumps(META)}}}}}'.encode())
        await self.house.settle()
        return self.lines[-1] if self.lines else {}

    async def asked(self) -> Json:
        """Make the call, and return what a retry adds to it."""
        result = (await self.send(CALL))["result"]
        assert result["resultType"] == "input_required"
        assert self.sent() == []
        return {
            "requestState": result["requestState"],
            "inputResponses": {"approval": SAID["accept"]},
        }

    def sent(self) -> list[Json]:
        """The calls that have reached a server so far."""
        for server in self.house.servers:
            server.hear()
        return [call["params"] for server in self.house.servers for call in server.got]


@pytest.fixture
async def desk() -> Desk:
    return Desk()


async def test_an_approved_call_is_made_with_its_arguments_however_they_are_written(desk: Desk) -> None:
    retry = await desk.asked()
    again = use("dev", "old", "read", {"deep": [1, {"a": 1, "b": 2}], "path": "/srv/x"})
    assert await desk.send({**again, **retry}) == {}
    (sent,) = desk.sent()
    assert (sent["name"], sent["arguments"]) == ("read", ARGUMENTS)


@pytest.mark.parametrize(
    "other",
    [
        use("dev", "old", "read", {**ARGUMENTS, "path": "/etc"}),
        use("dev", "old", "read", {}),
        use("dev", "old", "write", ARGUMENTS),
        use("dev", "new", "read", ARGUMENTS),
    ],
)
async def test_it_is_not_good_for_another_call(desk: Desk, other: Json) -> None:
    answer = await desk.send({**other, **await desk.asked()})
    assert "belongs to another request" in answer["error"]["message"]
    assert desk.sent() == []


async def test_it_is_not_good_twice(desk: Desk) -> None:
    retry = await desk.asked()
    await desk.send({**CALL, **retry})
    answer = await desk.send({**CALL, **retry})
    assert "already been used" in answer["error"]["message"]
    assert len(desk.sent()) == 1


async def test_a_state_that_is_refused_is_told_to_the_observers(desk: Desk) -> None:
    ends: list[tuple[str, str, str, str]] = []

    class Watcher:
        def on_end(self, record: CallRecord, end: CallEnd) -> None:
            ends.append((record.label, record.principal, end.outcome, end.error))

    desk.connection._client_session.view.door.add_observer(Watcher())
    for other in (CALL, use("dev", "old", "write", ARGUMENTS), use("no", "such", "tool", ARGUMENTS)):
        await desk.send({**other, "requestState": "forged", "inputResponses": {}})
    read = {"uri": "workbench:dev/old/x:y", "requestState": "forged", "_meta": META}
    desk.connection.receive(
        json.dumps({"jsonrpc": "2.0", "id": 99, "method": "resources/read", "params": read}).encode()
    )
    refused = ("ada", "refused", "StateRefused")
    assert ends == [
        ("dev/old/read", *refused),
        ("dev/old/write", *refused),
        ("no/such/tool", *refused),
        ("dev/old/x:y", *refused),
    ]


async def test_it_is_not_good_after_a_while(desk: Desk) -> None:
    retry = await desk.asked()
    later = time.time() + 301
    with mock.patch("time.time", return_value=later):
        answer = await desk.send({**CALL, **retry})
    assert "has expired" in answer["error"]["message"]
    assert desk.sent() == []


@pytest.mark.parametrize(
    ("principal", "replica", "reason"),
    [("bob", "one", "not made by this workbench process"), ("ada", "two", "another workbench process")],
)
async def test_it_is_not_good_for_another_principal_or_in_another_process(
    desk: Desk, principal: str, replica: str, reason: str
) -> None:
    retry = await desk.asked()
    answer = await desk.send({**CALL, **retry}, desk.connect(principal, replica))
    assert reason in answer["error"]["message"]
    assert desk.sent() == []


async def test_arguments_written_twice_cannot_stand_behind_those_that_were_approved(desk: Desk) -> None:
    retry = await desk.asked()
    written_twice = json.dumps({**CALL, **retry}).replace('"path":', '"path": "/etc", "path":', 1)
    result = (await desk.send(written_twice))["result"]
    assert "two members of the name 'path'" in result["content"][0]["text"]
    assert desk.sent() == []


@pytest.mark.parametrize(
    ("said", "reason"),
    [("decline", "said no"), ("nonsense", "the client's answer cannot be read")],
)
async def test_a_call_that_is_not_approved_is_refused(desk: Desk, said: str, reason: str) -> None:
    retry = {**await desk.asked(), "inputResponses": {"approval": SAID[said]}}
    result = (await desk.send({**CALL, **retry}))["result"]
    assert result["isError"]
    assert reason in result["content"][0]["text"]
    assert desk.sent() == []


async def test_a_retry_without_an_answer_is_asked_again(desk: Desk) -> None:
    retry = await desk.asked()
    answer = await desk.send({**CALL, "requestState": retry["requestState"]})
    assert answer["result"]["inputRequests"].keys() == {"approval"}
    assert desk.sent() == []


async def test_answers_without_a_state_approve_nothing(desk: Desk) -> None:
    answer = await desk.send({**CALL, "inputResponses": {"approval": SAID["accept"]}})
    assert answer["result"]["inputRequests"].keys() == {"approval"}


async def test_references_to_kept_results_are_bound_as_the_client_wrote_them(desk: Desk) -> None:
    call = use("dev", "old", "read", {"text": {"$result": "res_h1"}})
    result = (await desk.send(call))["result"]
    assert '  text: {"$result": "res_h1"}' in result["inputRequests"]["approval"]["params"]["message"]
    retry = {"requestState": result["requestState"], "inputResponses": {"approval": SAID["accept"]}}
    await desk.send({**call, **retry})
    await poll(lambda: desk.lines)
    # Approved, and only then looked up.
    assert "res_h1" in desk.lines[0]["result"]["content"][0]["text"]
