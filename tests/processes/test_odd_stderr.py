"""Our own stderr may be closed, full, unread or shared: calls work all the same, and nothing goes astray."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import acting, server, toolboxes
from tests.support.sessions import ModernSession, failure_of, text_of
from tests.support.stderrs import KINDS, with_stderr
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.journal import Journal

BAD: Json = {"toolboxes": {"dev": {}}}
HELLO = {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
CALL = {
    "name": "use_tool",
    "arguments": {"tool": {"toolbox": "dev", "server": "files", "tool": "echo"}, "arguments": {"a": 1}},
}
CONVERSATION = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        HELLO,
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": CALL},
    )
).encode()

each_kind = pytest.mark.parametrize("kind", KINDS)


def check(directory: Path, kind: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    command = [*serve_command(directory / "workbench-config.json"), "check", *args]
    return subprocess.run(
        with_stderr(kind, command),
        env=clean_environment(directory),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


@each_kind
async def test_calls_work_and_the_end_is_in_order(tmp_path: Path, journal: Journal, kind: str) -> None:
    boxed = {
        "chatty": server(journal, stderr=["hello from below"], stderr_times=100),
        "crasher": acting("crash", "crash"),
        "absent": {"command": "no-such-command"},
    }
    command = serve_command(write_config(tmp_path, toolboxes(dev=boxed)), "--log-level", "debug")
    async with RawClient(with_stderr(kind, command), clean_environment(tmp_path)) as client:
        session = ModernSession(client)
        assert failure_of(await session.use_tool("dev", "crasher", "crash"))
        assert failure_of(await session.use_tool("dev", "absent", "x"))
        assert text_of(await session.use_tool("dev", "chatty", "echo", {"a": 1})) == '{"a": 1}'
        assert (await client.close()).code == 0
    assert client.violations == []
    sent_to_the_server = [json.loads(line) for line in journal.lines]
    assert [message["jsonrpc"] for message in sent_to_the_server] == ["2.0"] * len(sent_to_the_server)


@each_kind
def test_a_bad_configuration_still_ends_with_its_code(tmp_path: Path, kind: str) -> None:
    command = with_stderr(kind, serve_command(write_config(tmp_path, BAD)))
    environment = clean_environment(tmp_path)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    # Whoever leads both to one place wants to read it there.
    assert (done.stdout == b"") is (kind != "same as stdout")


@each_kind
def test_check_works(tmp_path: Path, kind: str) -> None:
    write_config(tmp_path, toolboxes(dev={"files": server(stderr=["hello from below"])}))
    level = "off" if kind == "same as stdout" else "debug"
    done = check(tmp_path, kind, "--connect", "--json", "--log-level", level)
    assert done.returncode == 0
    (row,) = json.loads(done.stdout)["servers"]
    assert row["state"] == "ready"


def converse(directory: Path, *, stdout_too: bool, kind: str = "given") -> tuple[bytes, bytes]:
    """What comes back through a socket that is stdin and stderr, and through stdout if that is not it too."""
    config = write_config(directory, toolboxes(dev={"files": server(stderr=["hello from below"])}))
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            with_stderr(kind, serve_command(config)),
            env=clean_environment(directory),
            stdin=theirs.fileno(),
            stdout=theirs.fileno() if stdout_too else subprocess.PIPE,
            stderr=theirs.fileno(),
        ) as process,
    ):
        theirs.close()
        ours.settimeout(PATIENCE)
        ours.sendall(CONVERSATION)
        ours.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: ours.recv(65536), b""))
        answers = b"" if process.stdout is None else process.stdout.read()
        assert process.wait(PATIENCE) == 0
    return received, answers


def ids(output: bytes) -> list[object]:
    return [json.loads(line)["id"] for line in output.splitlines()]


def test_one_socket_for_all_carries_answers_only(tmp_path: Path) -> None:
    received, _ = converse(tmp_path, stdout_too=True)
    assert ids(received) == [1, 2]


def test_nothing_else_takes_the_place_of_a_stderr_that_is_closed(tmp_path: Path) -> None:
    # The next that is opened would: the copy of stdin, and a socket can be written to as well.
    received, _ = converse(tmp_path, stdout_too=True, kind="closed")
    assert ids(received) == [1, 2]


def test_a_socket_for_stdin_and_stderr_has_the_log_and_stdout_the_answers(tmp_path: Path) -> None:
    received, answers = converse(tmp_path, stdout_too=False)
    assert ids(answers) == [1, 2]
    assert b"mcp-workbench: [dev/files] hello from below\n" in received
