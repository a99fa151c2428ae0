"""Secrets are stored, listed and removed by the command, and no value is ever shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands import MODULE, Bench
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
ROOT = Path(__file__).parents[3]
CONFIG = {
    "toolboxes": {
        "dev": {
            "description": "Tools",
            "mcpServers": {
                "github": {"command": "x", "env": {"TOKEN": "${keyring:GITHUB}"}},
                "other": {"url": "https://x", "headers": {"A": "${keyring:GITHUB} ${input:ABSENT}"}},
                "off": {"command": "x", "args": ["${keyring:OLD}"], "disabled": True},
            },
        }
    }
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def secret(
    bench: Bench, *args: str, stdin: bytes = b"", env: Mapping[str, str] = NO_KEYRING
) -> tuple[int, str, str]:
    """The exit code, and what was said on stdout and stderr."""
    done = subprocess.run(
        [*MODULE, "secret", *args],
        cwd=bench.directory,
        env=bench.environment(env),
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def file_of(bench: Bench) -> Path:
    return bench.directory / ".local/share/mcp-workbench/secrets.json"


def stored(bench: Bench) -> dict[str, str | None]:
    kept = json.loads(file_of(bench).read_text())["secrets"]
    return {name: entry.get("value") for name, entry in kept.items()}


def with_keyring(bench: Bench) -> dict[str, str]:
    return {
        "PYTHON_KEYRING_BACKEND": "tests.servers.keyrings.backends.Kept",
        "TEST_KEYRING": str(bench.directory / "ring.json"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }


def test_without_a_keyring_it_says_which_file_has_the_value(bench: Bench) -> None:
    said = f"""\
GITHUB is kept in a file that only you can read: {file_of(bench)}
(Not in a keyring: there is no usable keyring on this system)
Refer to it in the configuration as ${{keyring:GITHUB}}
"""
    assert secret(bench, "set", "GITHUB", stdin=b"hunter22\n") == (0, said, "")
    assert stored(bench) == {"GITHUB": "hunter22"}


def test_with_a_keyring_the_value_is_in_there(bench: Bench) -> None:
    env = with_keyring(bench)
    said = """\
GITHUB is kept in the system's keyring.
Refer to it in the configuration as ${keyring:GITHUB}
"""
    assert secret(bench, "set", "GITHUB", stdin=b"hunter22", env=env) == (0, said, "")
    assert json.loads((bench.directory / "ring.json").read_text()) == {
        "mcp-workbench secret GITHUB": "hunter22"
    }
    assert stored(bench) == {"GITHUB": None}
    assert secret(bench, "remove", "GITHUB", env=env) == (0, "GITHUB is removed.\n", "")
    assert (bench.directory / "ring.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("stdin", "value"),
    [(b"a\n", "a"), (b"a\r\n", "a"), (b"a\n\n", "a\n"), (b" a b ", " a b "), ("ä".encode(), "ä")],
)
def test_all_of_stdin_is_the_value_but_for_one_line_break(bench: Bench, stdin: bytes, value: str) -> None:
    assert secret(bench, "set", "A", stdin=stdin)[0] == 0
    assert stored(bench) == {"A": value}


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [
        (b"", "there is no value, and an empty one is not stored. Nothing is changed"),
        (b"\n", "there is no value, and an empty one is not stored. Nothing is changed"),
        (b"\xff\xfe", "the value is not UTF-8 text. Nothing is changed"),
        (b"x" * 65_537, "the value is longer than 65,536 bytes"),
        (b"x" * 1_000_000, "the value is longer than 65,536 bytes"),
    ],
)
def test_what_is_no_value_is_refused(bench: Bench, stdin: bytes, reason: str) -> None:
    assert secret(bench, "set", "A", stdin=stdin) == (1, "", f"mcp-workbench: {reason}\n")
    assert not file_of(bench).exists()


@pytest.mark.parametrize(
    "args",
    [
        ("A", "hunter22"),
        ("A", "--value", "hunter22"),
        ("A", "--value=hunter22"),
        ("--hunter22", "A"),
        ("A=hunter22",),
        ("ghp_hunter22hunter22hunter22",),
        ("A", "--", "hunter22"),
    ],
)
def test_a_value_on_the_command_line_is_refused_and_not_repeated(bench: Bench, args: tuple[str, ...]) -> None:
    code, out, error = secret(bench, "set", *args, stdin=b"x")
    assert (code, out) == (2, "")
    assert "is never taken from the command line" in error
    assert "hunter22" not in error
    assert not file_of(bench).exists()


def test_on_a_terminal_the_value_is_asked_for_without_being_shown(bench: Bench) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*MODULE, "secret", "set", "A"],
        cwd=bench.directory,
        env=bench.environment(NO_KEYRING),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    prompt = os.read(ours, 4096)
    os.write(ours, b"hunter22\n")
    shown = process.communicate(timeout=PATIENCE)[0] + os.read(ours, 4096)
    os.close(ours)
    assert (process.returncode, prompt) == (0, b"Value of A: ")
    assert b"hunter22" not in shown
    assert stored(bench) == {"A": "hunter22"}


def test_the_list_says_where_each_is_who_uses_it_and_what_is_missing(bench: Bench) -> None:
    bench.write(CONFIG)
    for name in ("GITHUB", "UNUSED"):
        secret(bench, "set", name, stdin=b"hunter22")
    said = f"""\
name    kept in  used by
ABSENT  missing  dev/other
GITHUB  file     dev/github, dev/other
OLD     missing  dev/off
UNUSED  file     no server
The file is {file_of(bench)}. Only you can read it.
To store what is missing: mcp-workbench secret set ABSENT
To store what is missing: mcp-workbench secret set OLD
"""
    assert secret(bench, "list") == (0, said, "")
    code, out, error = secret(bench, "list", "--json")
    assert (code, error) == (0, "")
    assert json.loads(out) == {
        "file": str(file_of(bench)),
        "secrets": [
            {"name": "ABSENT", "kept": None, "servers": ["dev/other"]},
            {"name": "GITHUB", "kept": "file", "servers": ["dev/github", "dev/other"]},
            {"name": "OLD", "kept": None, "servers": ["dev/off"]},
            {"name": "UNUSED", "kept": "file", "servers": []},
        ],
    }


def test_the_list_works_without_a_configuration_and_with_a_broken_one(bench: Bench) -> None:
    code, out, _ = secret(bench, "list")
    assert (code, out) == (0, "There are no secrets. Store one: mcp-workbench secret set NAME\n")
    secret(bench, "set", "A", stdin=b"hunter22")
    bench.config.write_text("{")
    code, out, error = secret(bench, "list")
    assert (code, out.splitlines()[1]) == (0, "A     file")
    what = "cannot be read, so the servers that use a secret are not shown"
    assert error == f"mcp-workbench: workbench-config.json {what}\n"


def test_names_of_servers_cannot_control_the_terminal(bench: Bench) -> None:
    servers = {"a\x1b[31m\nb": {"command": "${keyring:A}"}}
    bench.write({"toolboxes": {"dev": {"description": "Tools", "mcpServers": servers}}})
    _, out, _ = secret(bench, "list")
    assert "\x1b" not in out
    assert out.splitlines()[1].startswith("A     missing  dev/a")


def test_a_removed_secret_is_gone_and_one_that_is_not_there_is_said(bench: Bench) -> None:
    secret(bench, "set", "A", stdin=b"hunter22")
    assert secret(bench, "remove", "A") == (0, "A is removed.\n", "")
    assert "hunter22" not in file_of(bench).read_text()
    assert secret(bench, "remove", "A") == (1, "", "mcp-workbench: there is no secret A\n")


def test_a_damaged_file_is_told_for_every_action(bench: Bench) -> None:
    secret(bench, "set", "A", stdin=b"hunter22")
    file_of(bench).write_text("{")
    what = "is damaged, or of a later version: move it away, and set the secrets again"
    error = f"mcp-workbench: {file_of(bench)} {what}\n"
    for action in (("set", "A"), ("remove", "A"), ("list",)):
        assert secret(bench, *action, stdin=b"x") == (1, "", error)


def test_a_command_without_an_action_is_wrong(bench: Bench) -> None:
    code, out, error = secret(bench)
    assert (code, out) == (2, "")
    assert error == "mcp-workbench: missing: action. mcp-workbench secret --help explains it\n"


@pytest.mark.parametrize("action", [(), ("set",), ("list",), ("remove",)])
def test_every_action_has_its_help(bench: Bench, action: tuple[str, ...]) -> None:
    code, out, error = secret(bench, *action, "--help")
    assert (code, error) == (0, "")
    assert out.startswith(" ".join(("usage: mcp-workbench secret", *action)))
