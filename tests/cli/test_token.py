"""`mcp-workbench token`: what it prints is a file of tokens, and the token that goes with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.tokens import digest_of, load_tokens

if TYPE_CHECKING:
    from tests.cli.commands import Bench


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
