"""A program that the system cannot start is told with its cause and the one remedy that fits."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.diagnosis.spawning import MAX_PATH_CHARACTERS, why_not_spawned

if TYPE_CHECKING:
    from pathlib import Path

PATH = "/nowhere/bin"
SHORTER = "a desktop program has a shorter PATH than a terminal"


def told(config: ServerConfig, error: OSError, path: str = PATH) -> tuple[str, str, str]:
    failure = why_not_spawned(config, error, {"PATH": path})
    return failure.cause, failure.reason, failure.hint


def program(path: Path, content: bytes = b"#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("command", "install"),
    [
        ("npx", "It comes with Node.js: install that"),
        ("Docker.exe", "It comes with Docker: install that"),
        ("my-server", "Install it"),
    ],
)
def test_a_program_that_is_not_there_is_told_with_the_path_that_was_searched(
    command: str, install: str
) -> None:
    assert told(ServerConfig(command=command), FileNotFoundError()) == (
        "program-missing",
        f"command '{command}' was not found",
        f'{install}, or write its full path into "command" ({SHORTER}). It is not on the PATH: {PATH}',
    )


def test_a_long_path_is_cut_and_named_once_per_directory() -> None:
    long = os.pathsep.join(["/a", "/a", *(f"/a/rather/long/directory/{number}" for number in range(50))])
    _, _, hint = told(ServerConfig(command="my-server"), FileNotFoundError(), long)
    shown = hint.rpartition("PATH: ")[2]
    assert shown.startswith("/a:/a/rather")
    assert len(shown) == MAX_PATH_CHARACTERS + 1


def test_python3_is_named_where_there_is_no_python(tmp_path: Path) -> None:
    python3 = program(tmp_path / "python3")
    told_of = told(ServerConfig(command="python"), FileNotFoundError(), str(tmp_path))
    assert told_of == (
        "program-missing",
        "command 'python' was not found",
        f'Write "command": "python3": it is at {python3}.',
    )


def test_a_program_in_a_usual_place_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    uvx = program(tmp_path / ".local" / "bin" / "my-uvx")
    _, _, hint = told(ServerConfig(command="my-uvx"), FileNotFoundError())
    assert hint == f'Write "command": "{uvx}". That directory is not on the PATH: {PATH}'


def test_a_path_that_leads_to_nothing_is_to_be_corrected(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    assert told(ServerConfig(command=absent), FileNotFoundError()) == (
        "program-missing",
        f"command '{absent}' was not found",
        'Correct the path in "command", or install the program.',
    )


def test_arguments_in_the_command_are_moved_to_args() -> None:
    config = ServerConfig(command='npx -y foo "a b"', args=["--root", "."])
    assert told(config, FileNotFoundError()) == (
        "arguments-in-command",
        "command 'npx -y foo \"a b\"' was not found: it has arguments in it",
        'Write "command": "npx", "args": ["-y", "foo", "a b", "--root", "."]',
    )


def test_a_program_with_a_space_in_its_name_has_no_arguments_in_it() -> None:
    for command in ("My Server", "it's", "/opt/My Server/run"):
        assert told(ServerConfig(command=command), FileNotFoundError())[0] == "program-missing"


def test_a_script_whose_interpreter_is_missing_is_told_with_it(tmp_path: Path) -> None:
    script = program(tmp_path / "serve", b"#!/opt/absent/python -u\nprint(1)\n")
    assert told(ServerConfig(command=str(script)), FileNotFoundError()) == (
        "program-missing",
        f"command '{script}' needs '/opt/absent/python -u', which was not found",
        "Install that, or correct the first line of the script.",
    )


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOEXEC, "Exec format error"), FileNotFoundError(), OSError(86, "Bad CPU type")]
)
def test_a_program_for_another_system_is_told_apart(tmp_path: Path, error: OSError) -> None:
    foreign = program(tmp_path / "serve", b"\x7fELF\x01\x01")
    assert told(ServerConfig(command=str(foreign)), error) == (
        "wrong-architecture",
        f"command '{foreign}' was built for another system or processor",
        "Install the one for this system and processor.",
    )


def test_a_script_without_an_interpreter_is_told_apart(tmp_path: Path) -> None:
    script = program(tmp_path / "serve", b"echo hello\n")
    assert told(ServerConfig(command=str(script)), OSError(errno.ENOEXEC, "Exec format error")) == (
        "failed",
        f"command '{script}' is a script whose first line does not name its interpreter",
        'Write for example "#!/bin/sh" as its first line.',
    )


def test_a_program_without_permission_is_told_with_how_to_give_it(tmp_path: Path) -> None:
    assert told(ServerConfig(command="./my run.sh"), PermissionError()) == (
        "permission-denied",
        "command './my run.sh' is not executable",
        "Make it executable: chmod +x './my run.sh'",
    )
    assert told(ServerConfig(command=str(tmp_path)), PermissionError()) == (
        "permission-denied",
        f"command '{tmp_path}' is a directory",
        'Name the program in "command".',
    )


def test_a_directory_that_is_not_there_is_told_before_the_command(tmp_path: Path) -> None:
    config = ServerConfig(command="npx", cwd=str(tmp_path / "absent"))
    assert told(config, FileNotFoundError()) == (
        "file-missing",
        f"its working directory '{tmp_path / 'absent'}' is not a directory",
        'Correct "cwd", or create the directory.',
    )


def test_any_other_reason_is_told_as_the_system_gives_it() -> None:
    told_of = told(ServerConfig(command="x"), OSError(errno.E2BIG, "Argument list too long"))
    assert told_of == ("failed", "command 'x' could not be started: [Errno 7] Argument list too long", "")
