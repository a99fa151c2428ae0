"""The log of the real command: one line an event, in either format, and no secret in it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.structure.documents import blocks
from tests.structure.package import ROOT
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.configs import acting, server, toolboxes
from tests.support.sessions import ModernSession, failure_of, text_of
from tests.support.stderrs import without_times
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Start
    from tests.support.client import Json

TELLING = """
import json, os, sys

told = {"command line": sys.argv, "environment": dict(os.environ), "heard of": "header-secret-3"}
print(*sys.argv, file=sys.stderr)
print(told, file=sys.stderr)
print(json.dumps(told), file=sys.stderr)
print("h\\u200beader-secret-3", file=sys.stderr)
for value in os.environ.values():
    print(value, file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    error = {"code": -1, "message": "\\n".join([*sys.argv, *os.environ.values()]), "data": told}
    print(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error}), flush=True)
"""
"""A server that says all it knows, on stderr and in every error."""

VARIABLES = {
    "IN_ARGS": "argument-secret-1",
    "IN_COMMAND": "command-secret-2",
    "IN_KEY": "KEY_SECRET_4",
    "IN_ENV": "variable-secret-5",
    "PEM": "-----BEGIN KEY-----\nsecret-of-many-lines\n-----END KEY-----",
}
SECRETS = [
    *(line for value in VARIABLES.values() for line in value.splitlines()),
    *("header-secret-3", "literal-secret-6"),
]
TELLTALES = toolboxes(
    dev={
        "telling": {
            "command": sys.executable,
            "args": ["-S", "-c", TELLING, "--token=${IN_ARGS}"],
            "env": {"A": "literal-secret-6", "B": "${IN_ENV}", "${IN_KEY}": "x", "C": "${PEM}"},
        },
        "absent": {"command": "${IN_COMMAND}"},
        "nowhere": {"command": "true", "cwd": "/nowhere/${IN_COMMAND}"},
        "remote": {"url": "https://example.org", "headers": {"Authorization": "Bearer header-secret-3"}},
        "fine": server(),
    }
)


async def stderr_of(start: Start, config: Json, *args: str, env: dict[str, str] | None = None) -> str:
    """The log after an opening."""
    session = ModernSession(await start(config, "--log-level", "debug", *args, env=env))
    await session.open_toolbox("dev")
    await session.client.close()
    return session.client.stderr


def objects(stderr: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.splitlines()]


@pytest.mark.parametrize("format_", ["text", "json"])
async def test_no_secret_is_in_it_whatever_a_server_says(start: Start, format_: str) -> None:
    stderr = await stderr_of(start, TELLTALES, "--log-format", format_, env=VARIABLES)
    for label in ("${IN_ARGS}", "${IN_COMMAND}", "${IN_KEY}", "${IN_ENV}", "${PEM}", "<env A>"):
        assert label in stderr
    assert "<header Authorization>" in stderr
    assert [secret for secret in SECRETS if secret in stderr] == []


async def test_no_secret_is_in_what_the_client_is_told(start: Start) -> None:
    session = ModernSession(await start(TELLTALES, env=VARIABLES))
    opened = await session.open_toolbox("dev")
    called = await session.use_tool("dev", "telling", "x")
    told = json.dumps(opened, ensure_ascii=False) + failure_of(called)
    assert "${IN_ARGS}" in told
    assert [secret for secret in SECRETS if secret in told] == []


async def test_an_event_is_one_line_whatever_a_server_says(start: Start) -> None:
    stderr = await stderr_of(start, TELLTALES, env=VARIABLES)
    lines = without_times(stderr).splitlines()
    assert set(lines).isdisjoint(stderr.splitlines())
    assert [line for line in lines if not line.startswith("mcp-workbench: [dev/")] == []
    (refused,) = [line for line in lines if "JSON-RPC error -1" in line]
    assert refused.startswith("mcp-workbench: [dev/telling] ")
    assert " ⏎ --token=${IN_ARGS} ⏎ " in refused


async def test_an_event_for_machines_names_its_server(start: Start) -> None:
    boxed = {"good": server(stderr=["hello"]), "bad": server(exit=3)}
    events = objects(await stderr_of(start, toolboxes(dev=boxed), "--log-format", "json"))
    assert {event["server"] for event in events} == {"dev/good", "dev/bad"}
    assert {event["message"] for event in events if event["message"].startswith("[")} == set()
    (hello,) = [event for event in events if event["message"] == "hello"]
    assert {**hello, "time": ""} == {
        "time": "",
        "level": "info",
        "logger": "mcp_workbench.stderr",
        "server": "dev/good",
        "message": "hello",
    }


async def test_the_documented_event_is_written_as_documented(start: Start) -> None:
    (documented,) = map(json.loads, blocks(ROOT / "docs" / "logs.md", "json"))
    files = server(stderr=[documented["message"]])
    events = objects(await stderr_of(start, toolboxes(dev={"files": files}), "--log-format", "json"))
    (written,) = [event for event in events if event["message"] == documented["message"]]
    assert list(written) == list(documented)
    assert {**written, "time": documented["time"]} == documented
    assert len(written["time"]) == len(documented["time"])


async def test_warnings_about_the_configuration_are_events_too(start: Start) -> None:
    config = {"toolMode": "proxy", **toolboxes(dev={"files": server()})}
    events = objects(await stderr_of(start, config, "--log-format", "json"))
    (warning,) = [event for event in events if "toolMode" in event["message"]]
    assert (warning["level"], "server" in warning) == ("warning", False)


def test_a_bad_configuration_is_an_event_for_each_problem_at_any_level(tmp_path: Path) -> None:
    path = write_config(tmp_path, {"toolboxes": {"dev": {"mcpServers": {"a": {"command": 1}}}}})
    command = serve_command(path, "--log-format", "json", "--log-level", "off")
    environment = clean_environment(tmp_path)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    events = objects(done.stderr.decode())
    assert (done.returncode, done.stdout) == (2, b"")
    assert [event["level"] for event in events] == ["error"] * 2
    what = "should be a string that is not empty, not a number"
    example = 'Write for example "description": "Files and git of this checkout"'
    assert [event["message"] for event in events] == [
        f"{path}:1: toolboxes.dev.description: is missing. {example}",
        f'{path}:1: toolboxes.dev.mcpServers.a.command: {what}. Write for example "command": "npx"',
    ]


async def test_what_is_logged_goes_on_after_a_crash(start: Start) -> None:
    session = ModernSession(await start(toolboxes(dev={"files": acting("crash", "crash")})))
    assert failure_of(await session.use_tool("dev", "files", "crash"))
    await session.client.wait_for_stderr("mcp-workbench: [dev/files] about to crash\n")
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    await session.client.close()
    lines = without_times(session.client.stderr).splitlines()
    of_calls = [line for line in lines if line.startswith("mcp-workbench: dev/files/")]
    assert [line.split()[1:3] for line in of_calls] == [
        ["dev/files/crash", "failed"],
        ["dev/files/echo", "ok"],
    ]
    others = [line for line in lines if line not in of_calls]
    assert [line for line in others if not line.startswith("mcp-workbench: [dev/files] ")] == []
