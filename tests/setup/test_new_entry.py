"""The entry that the words of a command line make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import EditRefused
from mcp_workbench.setup.new_entry import entry_of

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def made(*words: str, env: tuple[str, ...] = (), headers: tuple[str, ...] = ()) -> dict[str, object]:
    """The entry of a command line, with a program behind `--`."""
    end = words.index("--") if "--" in words else len(words)
    return entry_of(words[:end], words[end + 1 :], env, headers, directory=None)


def test_a_program_with_its_arguments_and_variables() -> None:
    assert made("--", "uvx", "server", "--", "-v", env=("MODE=fast=1", "EMPTY=")) == {
        "command": "uvx",
        "args": ["server", "--", "-v"],
        "env": {"MODE": "fast=1", "EMPTY": ""},
    }


def test_a_program_alone_has_no_empty_lists() -> None:
    assert made("--", "server") == {"command": "server"}


def test_a_remote_server_with_its_headers() -> None:
    url = "https://mcp.example.com/mcp"
    headers = ("Authorization: Bearer ${keyring:DOCS}", "X-Mode:fast")
    assert made(url, headers=headers) == {
        "url": url,
        "headers": {"Authorization": "Bearer ${keyring:DOCS}", "X-Mode": "fast"},
    }


@pytest.mark.parametrize(
    ("words", "env", "headers", "reason"),
    [
        ((), (), (), "write mcp-workbench add NAME -- COMMAND"),
        (("https://a.example", "--", "x"), (), (), "write mcp-workbench add NAME"),
        (("npx", "server"), (), (), "two dashes: mcp-workbench add NAME -- npx server"),
        (("npx",), (), (), "two dashes: mcp-workbench add NAME -- npx"),
        (("ftp://a.example",), (), (), "write mcp-workbench add NAME"),
        (("--", "x"), (), ("A: b",), "--header is for a remote server"),
        (("https://a.example",), ("A=b",), (), "--env is for a program"),
        (("--", "x"), ("A",), (), "write --env NAME=VALUE"),
        (("--", "x"), ("=b",), (), "write --env NAME=VALUE"),
        (("--", "x"), ("A=b", "A=c"), (), "--env has A twice"),
        (("https://a.example",), (), ("A b",), "write --header 'NAME: VALUE'"),
    ],
)
def test_words_that_do_not_fit_together_are_refused_with_what_to_write(
    words: tuple[str, ...], env: tuple[str, ...], headers: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(EditRefused, match=reason):
        made(*words, env=env, headers=headers)


@pytest.mark.parametrize(
    ("words", "env", "headers"),
    [
        (("--", "x"), (f"GITHUB_TOKEN={TOKEN}",), ()),
        (("https://a.example",), (), (f"Authorization: Bearer {TOKEN}",)),
        (("--", "x", "--token", TOKEN), (), ()),
        (("https://me:Sup3rS3cret9@a.example",), (), ()),
    ],
)
def test_a_literal_secret_is_refused_without_being_repeated(
    words: tuple[str, ...], env: tuple[str, ...], headers: tuple[str, ...]
) -> None:
    with pytest.raises(EditRefused, match="mcp-workbench secret set") as refused:
        made(*words, env=env, headers=headers)
    assert TOKEN not in str(refused.value)
    assert "Sup3rS3cret9" not in str(refused.value)
    assert "'${keyring:" in str(refused.value)


def test_a_program_that_is_given_files_of_this_directory_is_started_here(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    here = str(tmp_path)
    with_file = entry_of((), ("python", "server.py"), (), (), directory=tmp_path)
    with_option = entry_of((), ("x", "--file=server.py"), (), (), directory=tmp_path)
    without = entry_of((), ("python", "-m", "server"), (), (), directory=tmp_path)
    by_path = entry_of((), ("./server.py",), (), (), directory=tmp_path)
    assert (with_file["cwd"], with_option["cwd"], without.get("cwd")) == (here, here, None)
    assert by_path == {"command": f"{here}/server.py"}
