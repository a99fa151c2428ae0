"""Servers are told what a client has declared, in their own protocol version, and can ask for just that."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from mcp_workbench.protocol.caller import (
    NOBODY,
    PROGRAM_EXTENSION,
    Caller,
    askable,
    declared_by,
    legacy_caller,
    modern_caller,
)
from mcp_workbench.wire.message import members_of

Json = dict[str, Any]
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def legacy(capabilities: Json, level: int | None = None) -> Caller:
    return legacy_caller(askable(members_of(raw(capabilities))), level)


def modern(capabilities: Json, level: int | None = None) -> Caller:
    return modern_caller(raw(capabilities), level)


def stamp(caller: Caller) -> Json:
    found: Json = json.loads(b"{%b}" % caller.stamp.removeprefix(b","))
    return found


def declared(*callers: Caller) -> Json:
    found: Json = json.loads(declared_by(callers))
    return found


ASKABLE = ("elicitation", "sampling", "roots")
EVERYTHING: Json = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
    "experimental": {"x": {"y": 1}},
    "extensions": {"com.example/z": {"a": [1.0]}},
}


def test_a_modern_server_is_told_exactly_what_a_modern_client_said() -> None:
    text = b'{"elicitation" : {}, "sampling":{"tools":{}}, "odd":1.0}'
    assert text in modern_caller(msgspec.Raw(text), None).stamp
    assert stamp(modern(EVERYTHING))[CAPABILITIES] == EVERYTHING


def test_but_not_of_extensions_that_are_for_us_or_that_we_could_not_route() -> None:
    extensions: Json = {"io.modelcontextprotocol/tasks": {}, PROGRAM_EXTENSION: {}, "com.example/z": {}}
    told = stamp(modern({"roots": {}, "extensions": extensions}))[CAPABILITIES]
    assert told == {"roots": {}, "extensions": {"com.example/z": {}}}
    program = modern({"roots": {}, "extensions": {PROGRAM_EXTENSION: {}}})
    assert (program.is_program, stamp(program)[CAPABILITIES]) == (True, {"roots": {}})
    assert not modern({}).is_program


def test_a_modern_server_is_told_what_a_legacy_client_can_be_asked() -> None:
    capabilities = {**EVERYTHING, "roots": {"listChanged": True}, "tasks": {"list": {}}}
    told = stamp(legacy(capabilities))[CAPABILITIES]
    assert told == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": {},
    }


@pytest.mark.parametrize("made", [legacy, modern])
def test_a_legacy_server_is_told_what_the_client_can_be_asked(made: Any) -> None:
    assert declared(made(EVERYTHING)) == {
        key: EVERYTHING[key] for key in ("elicitation", "sampling", "roots")
    }
    assert declared(made({"elicitation": {}})) == {"elicitation": {}}
    assert declared(made({})) == {}


def test_it_is_told_that_roots_may_change_if_they_may() -> None:
    assert declared(legacy({"roots": {"listChanged": True}})) == {"roots": {"listChanged": True}}


def test_it_is_told_what_several_clients_can_be_asked_together() -> None:
    one, other = (
        legacy({"elicitation": {}, "roots": {}}),
        modern({"elicitation": {"url": {}}, "sampling": {}}),
    )
    assert declared(one, other) == {"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}}
    assert declared() == declared(NOBODY) == {}


def test_the_level_of_log_messages_goes_along_only_if_there_is_one() -> None:
    key = "io.modelcontextprotocol/logLevel"
    assert stamp(modern({}, 3))[key] == stamp(legacy({}, 3))[key] == "warning"
    assert key not in stamp(modern({}))


def test_a_legacy_client_that_has_not_chosen_a_level_gets_all() -> None:
    assert stamp(legacy({}))["io.modelcontextprotocol/logLevel"] == "debug"


FORM: tuple[str, Json] = ("elicitation/create", {"message": "?", "requestedSchema": {}})
URL: tuple[str, Json] = ("elicitation/create", {"mode": "url", "message": "?", "url": "https://x"})
SAMPLE: tuple[str, Json] = ("sampling/createMessage", {"messages": []})
WITH_TOOLS: tuple[str, Json] = ("sampling/createMessage", {"messages": [], "tools": []})
WITH_CHOICE: tuple[str, Json] = ("sampling/createMessage", {"messages": [], "toolChoice": {}})
ROOTS: tuple[str, Json] = ("roots/list", {})


@pytest.mark.parametrize(
    ("capabilities", "question"),
    [
        ({"elicitation": {}}, FORM),
        ({"elicitation": {"form": {}}}, FORM),
        ({"elicitation": {"form": {}, "url": {}}}, FORM),
        ({"elicitation": {"url": {}}}, URL),
        ({"sampling": {}}, SAMPLE),
        ({"sampling": {"tools": {}}}, WITH_TOOLS),
        ({"sampling": {"tools": {}}}, WITH_CHOICE),
        ({"roots": {}}, ROOTS),
    ],
)
def test_a_client_can_be_asked_what_it_has_declared(capabilities: Json, question: tuple[str, Json]) -> None:
    method, params = question
    assert legacy(capabilities).lack(method, raw(params)) is None
    assert modern(capabilities).lack(method, raw(params)) is None


@pytest.mark.parametrize(
    ("capabilities", "question", "code", "missing"),
    [
        ({}, FORM, -32601, "elicitation"),
        ({"elicitation": {"url": {}}}, FORM, -32602, "elicitation.form"),
        ({"elicitation": {}}, URL, -32602, "elicitation.url"),
        ({"elicitation": None}, FORM, -32601, "elicitation"),
        ({"elicitation": {}}, ("elicitation/create", {"mode": "odd"}), -32602, "elicitation.odd"),
        ({"elicitation": {}}, SAMPLE, -32601, "sampling"),
        ({"sampling": {}}, WITH_TOOLS, -32602, "sampling.tools"),
        ({"sampling": {}}, WITH_CHOICE, -32602, "sampling.tools"),
        ({"sampling": {}}, ROOTS, -32601, "roots"),
    ],
)
def test_a_client_is_not_asked_what_it_has_not(
    capabilities: Json, question: tuple[str, Json], code: int, missing: str
) -> None:
    method, params = question
    lack = modern(capabilities).lack(method, raw(params))
    assert lack is not None
    text = f"{method}: the client has not declared the capability {missing}"
    assert (lack.code, lack.message) == (code, text)
