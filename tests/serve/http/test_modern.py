"""The HTTP rules of the modern protocol: headers that repeat the body, and statuses that repeat the
errors.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from tests.servers.scripted import RESERVED
from tests.support.sessions import result_of
from tests.support.talking import using

if TYPE_CHECKING:
    from tests.serve.http.conftest import SharedWorkbench
    from tests.support.client import Json
    from tests.support.http import Response
    from tests.support.journal import Journal

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ = {"uri": "workbench:dev/modern/test://größe"}


def encoded(text: str) -> str:
    return f"=?base64?{b64encode(text.encode()).decode()}?="


def cancelled_by(journal: Journal) -> list[object]:
    """The ids of the requests that the workbench cancelled. Those of earlier tests may still be on their way,
    so that a test looks for the ids of its own requests.
    """
    return [message["params"]["requestId"] for message in journal.messages("notifications/cancelled")]


async def refused(
    shared_workbench: SharedWorkbench, changes: dict[str, str | None], params: Json | None = None
) -> tuple[int, int]:
    """The status and the code of a request with other headers; None leaves one out."""
    client = await shared_workbench.modern()
    method = "tools/call" if params is None else "resources/read"
    message, headers = client.dressed(method, params or using("modern", {}), request_id=3)
    changed = {name: value for name, value in (headers | changes).items() if value is not None}
    response = await client.post(message, changed)
    answer = await response.json()
    if "error" not in answer:
        return response.status, 0
    assert answer["id"] == 3
    return response.status, answer["error"]["code"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Mcp-Method", None),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", "Tools/Call"),
        ("Mcp-Method", ""),
        ("Mcp-Name", None),
        ("Mcp-Name", "open_toolbox"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "=?base64?!!!?="),
        ("Mcp-Name", "=?base64?/w==?="),
        ("Mcp-Name", encoded("open_toolbox")),
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "2999-01-01"),
    ],
)
async def test_a_header_that_is_missing_or_says_another_thing_is_refused(
    shared_workbench: SharedWorkbench, name: str, value: str | None
) -> None:
    assert await refused(shared_workbench, {name: value}) == (400, -32020)


@pytest.mark.parametrize("name", ["Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"])
async def test_a_header_that_is_there_twice_is_refused_even_if_both_say_the_same(
    shared_workbench: SharedWorkbench, name: str
) -> None:
    """Who lies between us and the client may have gone by the other one."""
    client = await shared_workbench.modern()
    message, headers = client.dressed("tools/call", using("modern", {}))
    wire = await client.wire()
    sent = [("Content-Type", "application/json"), *headers.items(), (name, headers[name])]
    response = await wire.ask("POST", sent, str(message).replace("'", '"').encode())
    assert (response.status, (await response.json())["error"]["code"]) == (400, -32020)


async def test_a_name_may_always_be_encoded_and_some_have_to(shared_workbench: SharedWorkbench) -> None:
    assert await refused(shared_workbench, {"Mcp-Name": encoded("use_tool")}) == (200, 0)
    _, code = await refused(shared_workbench, {"Mcp-Name": encoded(READ["uri"])}, READ)
    assert code != -32020
    raw = READ["uri"].encode().decode("latin-1")
    assert await refused(shared_workbench, {"Mcp-Name": raw}, READ) == (400, -32020)


async def test_a_version_that_is_not_known_is_refused_with_those_that_are(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.modern()
    meta = {RESERVED + "protocolVersion": "2999-01-01"}
    message, headers = client.dressed("tools/list", meta=meta)
    response = await client.post(message, {**headers, "MCP-Protocol-Version": "2999-01-01"})
    error = (await response.json())["error"]
    assert (response.status, error["code"]) == (400, -32022)
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2999-01-01"}


async def test_a_request_without_its_metadata_is_refused(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.modern()
    message, headers = client.dressed("tools/list")
    message["params"] = {}
    response = await client.post(message, headers)
    assert (response.status, (await response.json())["error"]["code"]) == (400, -32602)
    message["params"] = {"_meta": {RESERVED + "protocolVersion": "2026-07-28"}}
    response = await client.post(message, headers)
    assert (response.status, (await response.json())["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize("method", ["nonsense", "ping/pong", "resources/subscribe", "logging/setLevel"])
async def test_a_method_that_there_is_not_is_not_found(
    shared_workbench: SharedWorkbench, method: str
) -> None:
    client = await shared_workbench.modern()
    response = await client.send(method, {"uri": "x", "level": "info"})
    assert (response.status, (await response.json())["error"]["code"]) == (404, -32601)


async def test_a_tool_that_fails_is_no_error_of_http(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.modern()
    response = await client.send("tools/call", using("nobody", {}))
    assert response.status == 200
    assert result_of(await response.json())["isError"] is True


async def test_notifications_are_taken_and_answers_refused(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.modern()
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/cancelled"}
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    response = await client.post(notification, headers)
    assert (response.status, await response.body()) == (202, b"")
    response = await client.post({"jsonrpc": "2.0", "id": 1, "result": {}}, headers)
    assert response.status == 400


async def test_requests_of_one_id_at_once_are_no_one_elses_business(
    shared_workbench: SharedWorkbench,
) -> None:
    one, two = await shared_workbench.modern(), await shared_workbench.modern()
    hanging = await one.call(
        {"progress": {"steps": 1}}, {"hang": True}, request_id=1, meta={"progressToken": 1}
    )
    await hanging.next_message()
    response = await two.call(request_id=1)
    assert (await response.messages())[-1]["id"] == 1


async def test_closing_the_connection_cancels_the_call_and_nothing_else(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.modern()
    journal = shared_workbench.journals["legacy"]

    async def hang() -> tuple[Response, object]:
        response = await client.call({"progress": {"steps": 1}}, {"hang": True}, meta={"progressToken": 1})
        await response.next_message()
        return response, journal.messages("tools/call")[-1]["id"]

    _, other = await hang()
    response, hanging = await hang()
    response.wire.cut()
    await journal.wait_until(lambda it: hanging in cancelled_by(it))
    assert other not in cancelled_by(journal)


async def test_closing_the_connection_before_anything_was_said_cancels_the_call_too(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.modern()
    journal = shared_workbench.journals["modern"]
    calls = len(journal.messages("tools/call"))
    wire = await client.wire()
    message, headers = client.dressed("tools/call", using("modern", {"steps": [{"hang": True}]}))
    body = str(message).replace("'", '"').replace("True", "true").encode()
    await wire.send("POST", {"Content-Type": "application/json", **headers}, body)
    await journal.wait_until(lambda it: len(it.messages("tools/call")) > calls)
    hanging = journal.messages("tools/call")[-1]["id"]
    wire.cut()
    await journal.wait_until(lambda it: hanging in cancelled_by(it))


async def test_closing_a_stream_of_changes_ends_it_downstream_too(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.modern()
    journal = shared_workbench.journals["modern"]
    await client.call(server="modern")
    stream = await client.listen(resourceSubscriptions=["workbench:dev/modern/test://first"])

    def listening() -> list[object]:
        listens = journal.messages("subscriptions/listen")
        return [listen["id"] for listen in listens if "test://first" in str(listen)]

    await journal.wait_until(lambda _: listening())
    stream.wire.cut()
    await journal.wait_until(lambda it: listening()[0] in cancelled_by(it))


async def test_an_older_client_that_is_cut_off_does_not_cancel_and_one_that_says_so_does(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.legacy()
    journal = shared_workbench.journals["legacy"]
    response = await client.call(
        {"progress": {"steps": 1}}, {"hang": True}, request_id="it", meta={"progressToken": 1}
    )
    position = (await response.next_event()).id
    await response.next_event()
    hanging = journal.messages("tools/call")[-1]["id"]
    response.wire.cut()
    again = await client.listen(position)
    await again.next_event()
    assert hanging not in cancelled_by(journal)
    await client.notify("notifications/cancelled", {"requestId": "it"})
    assert await again.messages() == []
    await journal.wait_until(lambda it: hanging in cancelled_by(it))
