"""`mcp-workbench token`: what it prints is a file of tokens, and the token that goes with it."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.tokens import digest_of, load_tokens

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.client import Json


def test_the_file_is_on_stdout_without_the_secret_which_is_on_stderr(bench: Bench) -> None:
    done = bench.run("token", "alice")
    assert done.returncode == 0
    (token,) = re.findall(r"^  (mcpw_[\w-]{43})$", done.stderr, re.MULTILINE)
    assert token not in done.stdout
    path = bench.directory / "tokens.json"
    path.write_text(done.stdout, encoding="utf-8")
    path.chmod(0o644)
    loaded = load_tokens(path, {})
    assert loaded.warnings == ()
    assert loaded.tokens["alice"].digest == digest_of(token.encode())
    assert loaded.tokens["alice"].toolboxes == ("*",)


def test_every_token_is_another(bench: Bench) -> None:
    assert bench.run("token", "alice").stdout != bench.run("token", "alice").stdout


@pytest.mark.parametrize("name", ["", "a b", 'a"b', "a#b", "x" * 101])
def test_what_is_no_name_is_refused(bench: Bench, name: str) -> None:
    done = bench.run("token", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a name is made of letters" in done.stderr


@pytest.mark.parametrize(
    ("expires", "written"), [("2099-01-31", "2099-01-31"), ("2099-01-31T08:00:00Z", "2099-01-31T08:00:00Z")]
)
def test_a_token_may_be_made_with_an_expiry(bench: Bench, expires: str, written: str) -> None:
    done = bench.run("token", "alice", "--expires", expires)
    assert json.loads(done.stdout)["tokens"]["alice"]["expires"] == written


@pytest.mark.parametrize(("duration", "seconds"), [("90d", 90 * 86400), ("12h", 12 * 3600), ("30m", 1800)])
def test_an_expiry_may_be_a_duration(bench: Bench, duration: str, seconds: int) -> None:
    before = int(time.time())
    (bench.directory / "tokens.json").write_text(
        bench.run("token", "alice", "--expires", duration).stdout, encoding="utf-8"
    )
    expires = load_tokens(bench.directory / "tokens.json", {}).tokens["alice"].expires
    assert expires is not None
    assert before <= expires - seconds <= time.time()


@pytest.mark.parametrize("expires", ["2020-01-31", "soon", "0d", "999999999d", "2099-02-30", ""])
def test_an_expiry_that_makes_no_sense_makes_no_token(bench: Bench, expires: str) -> None:
    done = bench.run("token", "alice", "--expires", expires)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write 90d or 2027-01-31" in done.stderr
    assert "mcpw_" not in done.stderr


@pytest.mark.parametrize(
    "args", [(), ("--list",), ("--token-file", "t"), ("a", "--list", "--token-file", "t")]
)
def test_a_name_and_a_list_are_two_things(bench: Bench, args: tuple[str, ...]) -> None:
    done = bench.run("token", *args)
    assert done.returncode == 2
    assert "mcp-workbench token NAME [--expires WHEN], or" in done.stderr


def test_a_list_of_a_file_that_cannot_be_used_says_why(bench: Bench) -> None:
    done = bench.run("token", "--list", "--token-file", "absent.json")
    assert done.returncode == 2
    assert "there is no such file" in done.stderr


def test_a_list_shows_what_has_expired(bench: Bench) -> None:
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
def test_a_list_writes_hidden_characters_out(bench: Bench, tokens: Json, shown: str) -> None:
    (bench.directory / "tokens.json").write_text(json.dumps({"tokens": tokens}), encoding="utf-8")
    done = bench.run("token", "--list", "--token-file", "tokens.json")
    said = done.stdout + done.stderr
    assert shown in said
    assert {"\x1b", "\u202e"}.isdisjoint(said)
