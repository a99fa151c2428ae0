"""`mcp-workbench token`: what it prints is a file of tokens, and the token that goes with it."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mcp_workbench.cli.access import token
from mcp_workbench.cli.options import parser
from mcp_workbench.config.tokens import digest_of, load_tokens
from tests.cli.commands import MODULE
from tests.support.client import clean_environment
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json


class Done(NamedTuple):
    """The outcome of a command."""

    returncode: int
    stdout: str
    stderr: str


class TokenBench:
    """Runs `mcp-workbench token` in this process, in a directory of its own."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys

    def run(self, *args: str) -> Done:
        code = token.run(parser().parse_args(args))
        return Done(code, *self._capsys.readouterr())


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TokenBench:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return TokenBench(tmp_path, capsys)


def test_the_file_is_on_stdout_without_the_secret_which_is_on_stderr(bench: TokenBench) -> None:
    done = bench.run("token", "alice")
    assert done.returncode == 0
    (shown,) = re.findall(r"^  (mcpw_[\w-]{43})$", done.stderr, re.MULTILINE)
    assert shown not in done.stdout
    path = bench.directory / "tokens.json"
    path.write_text(done.stdout, encoding="utf-8")
    path.chmod(0o644)
    loaded = load_tokens(path, {})
    assert loaded.warnings == ()
    assert loaded.tokens["alice"].digest == digest_of(shown.encode())
    assert loaded.tokens["alice"].toolboxes == ("*",)


def test_every_token_is_another(bench: TokenBench) -> None:
    assert bench.run("token", "alice").stdout != bench.run("token", "alice").stdout


@pytest.mark.parametrize("name", ["", "a b", 'a"b', "a#b", "x" * 101])
def test_what_is_no_name_is_refused(bench: TokenBench, name: str) -> None:
    done = bench.run("token", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a name is made of letters" in done.stderr


@pytest.mark.parametrize(
    ("expires", "written"), [("2099-01-31", "2099-01-31"), ("2099-01-31T08:00:00Z", "2099-01-31T08:00:00Z")]
)
def test_a_token_may_be_made_with_an_expiry(bench: TokenBench, expires: str, written: str) -> None:
    done = bench.run("token", "alice", "--expires", expires)
    assert json.loads(done.stdout)["tokens"]["alice"]["expires"] == written


@pytest.mark.parametrize(("duration", "seconds"), [("90d", 90 * 86400), ("12h", 12 * 3600), ("30m", 1800)])
def test_an_expiry_may_be_a_duration(bench: TokenBench, duration: str, seconds: int) -> None:
    before = int(time.time())
    (bench.directory / "tokens.json").write_text(
        bench.run("token", "alice", "--expires", duration).stdout, encoding="utf-8"
    )
    expires = load_tokens(bench.directory / "tokens.json", {}).tokens["alice"].expires
    assert expires is not None
    assert before <= expires - seconds <= time.time()


@pytest.mark.parametrize("expires", ["2020-01-31", "soon", "0d", "999999999d", "2099-02-30", ""])
def test_an_expiry_that_makes_no_sense_makes_no_token(bench: TokenBench, expires: str) -> None:
    done = bench.run("token", "alice", "--expires", expires)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write 90d or 2027-01-31" in done.stderr
    assert "mcpw_" not in done.stderr


@pytest.mark.parametrize(
    "args", [(), ("--list",), ("--token-file", "t"), ("a", "--list", "--token-file", "t")]
)
def test_a_name_and_a_list_are_two_things(bench: TokenBench, args: tuple[str, ...]) -> None:
    done = bench.run("token", *args)
    assert done.returncode == 2
    assert "mcp-workbench token NAME --token-file FILE, or" in done.stderr


def test_a_list_of_a_file_that_cannot_be_used_says_why(bench: TokenBench) -> None:
    done = bench.run("token", "--list", "--token-file", "absent.json")
    assert done.returncode == 2
    assert "there is no such file" in done.stderr


def test_a_list_shows_what_has_expired(bench: TokenBench) -> None:
    entry = {"token": "a" * 40, "toolboxes": ["*"], "expires": "2020-01-31"}
    (bench.directory / "tokens.json").write_text(json.dumps({"tokens": {"alice": entry}}), encoding="utf-8")
    done = bench.run("token", "--list", "--token-file", "tokens.json")
    assert "2020-02-01T00:00:00Z (expired)" in done.stdout
    assert "a" * 40 not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        ({"alice": {"token": "a" * 40, "toolboxes": ["d\x1b[31m\u202e\nev"]}}, "d\\x1b[31m\\u202e\\nev"),
        ({"a\x1b[31m\u202e": {"token": "a" * 40, "toolboxes": ["*"]}}, "\\u202e"),
    ],
)
def test_a_list_writes_hidden_characters_out(bench: TokenBench, tokens: Json, shown: str) -> None:
    (bench.directory / "tokens.json").write_text(json.dumps({"tokens": tokens}), encoding="utf-8")
    done = bench.run("token", "--list", "--token-file", "tokens.json")
    said = done.stdout + done.stderr
    assert shown in said
    assert {"\x1b", "\u202e"}.isdisjoint(said)


def test_a_token_is_added_to_a_file_in_place(bench: TokenBench) -> None:
    path = bench.directory / "tokens.json"
    first = bench.run("token", "alice", "--token-file", "tokens.json")
    assert (first.returncode, first.stdout) == (0, "Added alice to tokens.json (new file)\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    written = path.read_text(encoding="utf-8").replace("{", "{ // who may connect", 1)
    path.write_text(written, encoding="utf-8")
    second = bench.run("token", "bob", "--expires", "2099-01-31", "--token-file", "tokens.json")
    assert (second.returncode, second.stdout) == (0, "Added bob to tokens.json\n")
    assert path.read_text(encoding="utf-8").startswith("{ // who may connect")
    tokens = load_tokens(path, {}).tokens
    for name, done in (("alice", first), ("bob", second)):
        (shown,) = re.findall(r"^  (mcpw_[\w-]{43})$", done.stderr, re.MULTILINE)
        assert done.stderr.startswith(f"Token for {name} (shown once, not stored):\n")
        assert tokens[name].digest == digest_of(shown.encode())
    (backup,) = bench.directory.glob("data/mcp-workbench/backups/*.bak")
    assert backup.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"tokens": {"alice": {}}}', "has a token for alice already. Choose another name, or delete that"),
        ('{"toolboxes": {}}', "tokens.json is not a token file, and was not changed"),
        ('{"tokens": []}', "tokens.json is not a token file, and was not changed"),
        ('{"tokens": ', "tokens.json:1:"),
    ],
)
def test_a_file_that_a_token_cannot_be_added_to_stays_as_it_is(
    bench: TokenBench, content: str, reason: str
) -> None:
    path = bench.directory / "tokens.json"
    path.write_text(content, encoding="utf-8")
    done = bench.run("token", "alice", "--token-file", "tokens.json")
    assert (done.returncode, done.stdout, path.read_text(encoding="utf-8")) == (2, "", content)
    assert reason in done.stderr
    assert "mcpw_" not in done.stderr


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "pipe"])
def test_only_where_stdout_is_a_file_it_is_said_that_it_was_replaced(
    bench: TokenBench, is_file: bool
) -> None:
    with (bench.directory / "tokens.json").open("wb") as file:
        done = subprocess.run(
            [*MODULE, "token", "alice"],
            cwd=bench.directory,
            env=clean_environment(bench.directory),
            stdout=file if is_file else subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=PATIENCE,
            check=True,
        )
    note = (
        "note: > replaces a file. To add a token to an existing one: mcp-workbench token alice --token-file"
    )
    assert (note in done.stderr) == is_file
    if is_file:
        assert list(load_tokens(bench.directory / "tokens.json", {}).tokens) == ["alice"]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("--list", "tokens.json"), "write: mcp-workbench token --list --token-file tokens.json"),
        (("tokens.json",), "name the token's holder too: mcp-workbench token NAME --token-file tokens.json"),
    ],
)
def test_a_file_without_its_option_is_answered_with_the_line(
    bench: TokenBench, args: tuple[str, ...], line: str
) -> None:
    (bench.directory / "tokens.json").write_text("{}", encoding="utf-8")
    done = bench.run("token", *args)
    assert (done.returncode, done.stderr) == (2, f"mcp-workbench: {line}\n")
