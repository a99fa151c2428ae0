"""Start-up: no side effects, any kind of stdin and stdout, and a bad configuration stops it."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.client import clean_environment, serve_command, write_config
from tests.support.configs import server, toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect
    from tests.support.journal import Journal

CONFIG = toolboxes(dev={"files": server()})

HELLO = b"".join(
    json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    for message in (
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)


def run(directory: Path, config: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command, environment = serve_command(config), clean_environment(directory)
    return subprocess.run(
        command, env=environment, input=stdin, capture_output=True, timeout=PATIENCE, check=False
    )


def ids(output: bytes) -> list[object]:
    return [json.loads(line)["id"] for line in output.splitlines()]


async def test_nothing_is_started_before_it_is_needed(
    connect: Connect, tmp_path: Path, journal: Journal
) -> None:
    session = await connect(toolboxes(dev={"files": server(journal)}))
    await session.list_tools()
    await session.client.close()
    assert journal.starts == 0
    assert not (tmp_path / "cache").exists()


def test_without_any_input_it_leaves_quietly(tmp_path: Path) -> None:
    command = serve_command(write_config(tmp_path, CONFIG))
    done = subprocess.run(
        command,
        env=clean_environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_closed_input_or_output_is_refused_at_once(tmp_path: Path, closed: str) -> None:
    command = shlex.join(serve_command(write_config(tmp_path, CONFIG)))
    done = subprocess.run(
        ["sh", "-c", f"exec {command} {closed}"],
        env=clean_environment(tmp_path),
        stdin=subprocess.PIPE,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"stdin and stdout must be open" in done.stderr


def test_input_and_output_may_be_regular_files(tmp_path: Path) -> None:
    config = write_config(tmp_path, CONFIG)
    questions, answers = tmp_path / "questions", tmp_path / "answers"
    questions.write_bytes(HELLO)
    with questions.open("rb") as stdin, answers.open("wb") as stdout:
        command, environment = serve_command(config), clean_environment(tmp_path)
        done = subprocess.run(
            command, env=environment, stdin=stdin, stdout=stdout, timeout=PATIENCE, check=False
        )
    assert done.returncode == 0
    assert ids(answers.read_bytes()) == [1, 2]


def test_a_last_line_without_its_newline_is_taken_too(tmp_path: Path) -> None:
    done = run(tmp_path, write_config(tmp_path, CONFIG), HELLO.rstrip(b"\n"))
    assert (done.returncode, ids(done.stdout)) == (0, [1, 2])


def test_a_reader_that_has_gone_is_no_crash(tmp_path: Path) -> None:
    command = serve_command(write_config(tmp_path, CONFIG))
    with subprocess.Popen(
        command,
        env=clean_environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(HELLO, timeout=PATIENCE)
    assert b"Traceback" not in errors


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path / "absent.json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"absent.json" in done.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "\x00"])
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    done = run(tmp_path, path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"broken.json" in done.stderr
    assert b"Traceback" not in done.stderr


def test_every_mistake_of_a_configuration_is_reported_with_its_place(tmp_path: Path) -> None:
    config = toolboxes(dev={"files": {"command": "x", "args": ["-y", 5]}, "${UNSET_NAME}": {"commnad": "x"}})
    config["toolboxes"]["ops"] = {"mcpServers": {}}
    done = run(tmp_path, write_config(tmp_path, config), HELLO)
    assert (done.returncode, done.stdout) == (2, b"")
    for word in ("workbench-config.json", "toolboxes.dev.mcpServers.files.args[1]", "UNSET_NAME"):
        assert word in done.stderr.decode()


def test_a_bad_configuration_starts_nothing(tmp_path: Path, journal: Journal) -> None:
    config = toolboxes(dev={"good": server(journal), "bad": {}})
    assert run(tmp_path, write_config(tmp_path, config), HELLO).returncode == 2
    assert journal.starts == 0
