"""What a server may ask of clients by its configuration, with client and server in the test's hands."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.relayed import MODERN_META, Relayed, written

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

METHODS = {"elicitation": "elicitation/create", "sampling": "sampling/createMessage", "roots": "roots/list"}
PARAMS: dict[str, dict[str, Any]] = {
    "elicitation": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}},
    "sampling": {"messages": [{"role": "user", "content": {"type": "text", "text": "tea"}}], "maxTokens": 1},
    "roots": {},
}
CAN_ALL: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
TOOL = {"toolbox": "dev", "server": "files", "tool": "read"}


class Asked:
    """A call in whose middle the server asks, and all that the client is told of it."""

    def __init__(
        self,
        directory: Path,
        keys: dict[str, Any],
        *,
        modern: bool,
        modern_server: bool,
        capabilities: dict[str, Any] = CAN_ALL,
    ) -> None:
        self.bench = Relayed(
            directory, modern=modern, modern_server=modern_server, handshake=False, keys=keys
        )
        self._is_modern, self._is_modern_server = modern, modern_server
        self._capabilities = capabilities
        if not modern:
            hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
            self.client_says(0, "initialize", hello)

    def client_says(self, request_id: int, method: str, params: dict[str, Any]) -> None:
        if self._is_modern:
            meta = {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": self._capabilities}
            params = {**params, "_meta": meta}
        said = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.bench.client_says(json.dumps(said).encode())

    def begin(self) -> None:
        self.client_says(1, "tools/call", {"name": "use_tool", "arguments": {"tool": TOOL}})

    def server_says(self, **message: Any) -> None:
        self.bench.server_says(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def ask(self, *capabilities: str) -> None:
        questions = {name: {"method": METHODS[name], "params": PARAMS[name]} for name in capabilities}
        if self._is_modern_server:
            result = {"resultType": "input_required", "inputRequests": questions, "requestState": "s"}
            self.server_says(id=self.bench.latest_id, result=result)
        else:
            for name, question in questions.items():
                self.server_says(id=name, **question)

    @property
    def told(self) -> list[dict[str, Any]]:
        """All messages to the client so far."""
        return [json.loads(written(line)) for line in self.bench.to_client]

    @property
    def methods(self) -> set[str]:
        """The questions that the client was asked, as requests or in a result."""
        inside = (message.get("result", {}).get("inputRequests", {}).values() for message in self.told)
        questions = [*self.told, *(question for questions in inside for question in questions)]
        return {question["method"] for question in questions if "method" in question}

    def declared(self) -> dict[str, Any]:
        """The capabilities in the latest request to a modern server."""
        meta = json.loads(written(self.bench.to_server[-1]))["params"]["_meta"]
        found: dict[str, Any] = meta["io.modelcontextprotocol/clientCapabilities"]
        return found


SIDES = list(product((False, True), repeat=2))
SUBSETS = [
    [name for name, is_in in zip(METHODS, chosen, strict=True) if is_in]
    for chosen in product((False, True), repeat=len(METHODS))
]


async def test_a_denied_question_reaches_no_client_in_any_combination(tmp_path: Path) -> None:
    """For every client and server, every set of denied capabilities and every set of questions."""
    for (modern, modern_server), denied, asked in product(SIDES, SUBSETS, SUBSETS[1:]):
        keys = dict.fromkeys(denied, "deny")
        it = Asked(tmp_path, keys, modern=modern, modern_server=modern_server)
        it.begin()
        if modern_server:
            assert it.declared().keys() == CAN_ALL.keys() - set(denied)
        it.ask(*asked)
        refused = set(asked) & set(denied)
        # A modern server asks all of it or nothing; a modern client is asked one thing after another.
        expected = {METHODS[name] for name in asked if name not in denied}
        if modern_server and refused:
            assert it.methods == set()
            assert '\\"deny\\"' in json.dumps(it.told[-1])
        elif modern and not modern_server:
            assert it.methods <= expected
            assert bool(it.methods) == bool(expected)
        else:
            assert it.methods == expected


@pytest.mark.parametrize("name", METHODS)
async def test_a_server_is_told_in_a_whole_sentence_what_is_denied(tmp_path: Path, name: str) -> None:
    it = Asked(tmp_path, {name: "deny"}, modern=True, modern_server=False)
    it.begin()
    it.ask(name)
    refusal = json.loads(written(it.bench.to_server[-1]))["error"]
    assert refusal["code"] == -32601
    assert refusal["message"] == (
        f"{METHODS[name]} is not available, because the configuration of the workbench denies it to this "
        f'server ("{name}": "deny"). To allow it, write "{name}": "allow" in the entry of the server'
    )


@pytest.mark.parametrize(("modern", "modern_server"), SIDES)
async def test_a_url_that_must_be_visited_first_is_an_elicitation_too(
    tmp_path: Path, modern: bool, modern_server: bool
) -> None:
    it = Asked(tmp_path, {"elicitation": "deny"}, modern=modern, modern_server=modern_server)
    it.begin()
    visit = {"mode": "url", "message": "Sign in", "url": "https://example.org/x", "elicitationId": "e"}
    error = {"code": -32042, "message": "Sign in first", "data": {"elicitations": [visit]}}
    it.server_says(id=it.bench.latest_id, error=error)
    assert it.methods == set()
    assert "example.org" not in json.dumps(it.told)
    assert '("elicitation": "deny")' in it.told[-1]["result"]["content"][0]["text"]


@pytest.mark.parametrize("modern", [False, True])
async def test_a_server_that_misses_what_is_denied_is_not_the_clients_fault(
    tmp_path: Path, modern: bool
) -> None:
    it = Asked(tmp_path, {"sampling": "deny"}, modern=modern, modern_server=True)
    it.begin()
    missing = {"code": -32021, "message": "Missing", "data": {"requiredCapabilities": {"sampling": {}}}}
    it.server_says(id=it.bench.latest_id, error=missing)
    assert '("sampling": "deny")' in it.told[-1]["result"]["content"][0]["text"]


@pytest.mark.parametrize(("modern", "modern_server"), SIDES)
async def test_sampling_that_needs_consent_is_refused_if_the_user_cannot_be_asked(
    tmp_path: Path, modern: bool, modern_server: bool
) -> None:
    capabilities: dict[str, Any] = {"sampling": {}, "elicitation": {"url": {}}}
    keys = {"sampling": "ask"}
    it = Asked(tmp_path, keys, modern=modern, modern_server=modern_server, capabilities=capabilities)
    it.begin()
    if modern_server:
        assert it.declared().keys() == {"elicitation"}
    it.ask("sampling")
    assert it.methods == set()
    refusal = it.told[-1] if modern_server else json.loads(written(it.bench.to_server[-1]))
    assert "has not declared the capability elicitation" in json.dumps(refusal)


async def test_a_question_of_consent_outside_of_calls_precedes_the_sampling(tmp_path: Path) -> None:
    it = Asked(tmp_path, {"sampling": "ask"}, modern=False, modern_server=False)
    it.ask("sampling")
    consent = it.told[-1]
    assert consent["method"] == METHODS["elicitation"]
    accepted = {"jsonrpc": "2.0", "id": consent["id"], "result": {"action": "accept", "content": {}}}
    it.bench.client_says(json.dumps(accepted).encode())
    assert it.told[-1]["method"] == METHODS["sampling"]


@pytest.mark.parametrize("modern", [False, True])
async def test_a_withdrawn_sampling_withdraws_the_question_of_consent(tmp_path: Path, modern: bool) -> None:
    it = Asked(tmp_path, {"sampling": "ask"}, modern=modern, modern_server=False)
    it.begin()
    it.ask("sampling")
    it.server_says(method="notifications/cancelled", params={"requestId": "sampling"})
    if modern:
        it.bench.answer(5)()
        state = it.told[-1]["result"]["requestState"]
        accepted = {"sampling-consent": {"action": "accept"}}
        retry = {"name": "use_tool", "arguments": {"tool": TOOL}, "requestState": state}
        it.client_says(2, "tools/call", {**retry, "inputResponses": accepted})
        assert it.told[-1]["result"]["content"][0]["text"] == "~~~~~"
    else:
        assert it.told[-1]["method"] == "notifications/cancelled"
    assert METHODS["sampling"] not in it.methods


@pytest.mark.parametrize(
    "answer", [{}, {"action": 1}, {"action": "Accept"}, {"content": {"action": "accept"}}]
)
async def test_only_an_acceptance_is_consent(tmp_path: Path, answer: dict[str, Any]) -> None:
    it = Asked(tmp_path, {"sampling": "ask"}, modern=False, modern_server=False)
    it.begin()
    it.ask("sampling")
    said = {"jsonrpc": "2.0", "id": it.told[-1]["id"], "result": answer}
    it.bench.client_says(json.dumps(said).encode())
    assert METHODS["sampling"] not in it.methods
    assert json.loads(written(it.bench.to_server[-1]))["error"]["code"] == -1
