"""References to stored secrets, to files and to what editors know."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import LoadedConfig, load
from mcp_workbench.config.source.references import secret_names_in
from mcp_workbench.errors import ConfigError, Problem, StoreError
from tests.config.loading import one_server, toolbox, write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SECRETS = {"GITHUB": "ghp_of_github", "api.key-1": "value-of-the-api", "WORD": "production", "EMPTY": ""}
ENVIRON = {
    "HOME": "/home/ada",
    "lower": "of the variable",
    "WORKSPACE_FOLDER": "/src/site/",
    "NESTED": "${keyring:GITHUB}",
    "STAGE": "production",
}
PLACE = "toolboxes.dev.mcpServers.fs"


def load_tree(directory: Path, tree: object, environ: Mapping[str, str] = ENVIRON) -> LoadedConfig:
    return load(write(directory, tree), environ, lookup=SECRETS.get)


def argument(directory: Path, text: str, environ: Mapping[str, str] = ENVIRON) -> str:
    loaded = load_tree(directory, one_server({"command": "x", "args": [text]}), environ)
    return loaded.config.toolboxes["dev"].servers["fs"].args[0]


def found(directory: Path, entry: dict[str, Any], lookup: Any = SECRETS.get) -> list[Problem]:
    with pytest.raises(ConfigError) as raised:
        load(write(directory, one_server(entry)), ENVIRON, lookup=lookup)
    return [Problem(problem.where, problem.what, problem.remedy) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${keyring:GITHUB}", "ghp_of_github"),
        ("Bearer ${keyring:api.key-1}!", "Bearer value-of-the-api!"),
        ("${input:GITHUB}", "ghp_of_github"),
        ("[${keyring:EMPTY}]", "[]"),
        ("${env:lower}", "of the variable"),
        ("${env:UNSET:-default}", "default"),
        ("${env:lower:-default}", "of the variable"),
        ("${NESTED}", "${keyring:GITHUB}"),
        ("${env:NESTED}", "${keyring:GITHUB}"),
        ("$${keyring:GITHUB}", "${keyring:GITHUB}"),
        ("${userHome}/x", "/home/ada/x"),
        ("${workspaceFolder}", "/src/site/"),
        ("${workspaceRoot}", "/src/site/"),
        ("${workspaceFolderBasename}", "site"),
        ("a${pathSeparator}b${/}c", f"a{os.sep}b{os.sep}c"),
        ("${UNSET:-keyring:GITHUB}", "keyring:GITHUB"),
    ],
)
def test_a_text_becomes(tmp_path: Path, text: str, expected: str) -> None:
    assert argument(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"hunter2", "hunter2"),
        (b"hunter2\n", "hunter2"),
        (b"hunter2\r\n", "hunter2"),
        (b"hunter2\n\n", "hunter2\n"),
        (b"two\nlines\n", "two\nlines"),
        (b"\xef\xbb\xbfhunter2", "hunter2"),
        (b"", ""),
        (b"${GITHUB}", "${GITHUB}"),
        (b"x" * 65_536, "x" * 65_536),
    ],
)
def test_the_content_of_a_file_is_taken_without_one_line_break_at_its_end(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    (tmp_path / "token").write_bytes(content)
    assert argument(tmp_path, "${file:token}") == expected
    assert argument(tmp_path, f"${{file:{tmp_path}/token}}") == expected
    assert argument(tmp_path, "${file:~/token}", {"HOME": str(tmp_path)}) == expected


@pytest.mark.parametrize(
    ("content", "what", "remedy"),
    [
        (b"\xff\xfe\x00", "it is not a text in UTF-8", "Save it with the encoding UTF-8."),
        (b"a\0b", "it is a binary file", "Name a text file."),
        (b"x" * 65_537, "it is larger than 65,536 bytes", "Name a smaller file."),
    ],
)
def test_a_file_that_is_no_short_text_is_refused(
    tmp_path: Path, content: bytes, what: str, remedy: str
) -> None:
    (tmp_path / "token").write_bytes(content)
    problem = Problem(f"{PLACE}.args[0]", f"${{file:token}}: {what}", remedy)
    assert found(tmp_path, {"command": "x", "args": ["${file:token}"]}) == [problem]


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")
    what = "${file:token}: it is a pipe or a device, and not a file"
    problem = Problem(f"{PLACE}.args[0]", what, "Name a regular file.")
    assert found(tmp_path, {"command": "x", "args": ["${file:token}"]}) == [problem]


def test_a_keyring_that_cannot_be_asked_is_a_problem_with_its_reason(tmp_path: Path) -> None:
    def locked(_name: str) -> str | None:
        raise StoreError("the system's keyring did not answer within 10 s: is it locked?")

    what = "the secret A cannot be read: the system's keyring did not answer within 10 s: is it locked?"
    set_it = "mcp-workbench secret set A"
    remedy = f"Unlock the keyring, and save the configuration file again. Or store it again: {set_it}"
    problem = Problem(f"{PLACE}.args[0]", what, remedy)
    assert found(tmp_path, {"command": "x", "args": ["${keyring:A}"]}, locked) == [problem]


def test_a_secret_is_asked_for_once_in_each_spelling_and_others_not_at_all(tmp_path: Path) -> None:
    asked: list[str] = []

    def lookup(name: str) -> str:
        asked.append(name)
        return "hunter2"

    args = ["${keyring:A}", "${input:A} ${keyring:A}", "$${keyring:B}", "${X:-keyring:C}"]
    load(write(tmp_path, one_server({"command": "x", "args": args})), {}, lookup=lookup)
    assert asked == ["A", "A"]


def test_stored_values_are_masked_and_count_as_secret_whatever_they_look_like(tmp_path: Path) -> None:
    (tmp_path / "stage").write_text("staging-area\n")
    args = ["${STAGE}", "${keyring:WORD}", "${STAGE}", "${file:stage}", "${userHome}"]
    secrets = load_tree(tmp_path, one_server({"command": "x", "args": args})).secrets
    text = "production in the staging-area of /home/ada"
    assert secrets.mask(text) == "${keyring:WORD} in the ${file:stage} of /home/ada"
    assert secrets.certain.mask(text) == secrets.mask(text)


def test_a_disabled_server_needs_nothing_and_nothing_is_read_for_it(tmp_path: Path) -> None:
    def lookup(name: str) -> str:
        raise AssertionError(name)

    remote = {
        "url": "${UNSET}",
        "headers": {"A": "${keyring:GITHUB}", "B": "${input:X}", "C": "${file:absent}"},
        "disabled": True,
    }
    program = {
        "command": "x",
        "args": ["${env:UNSET} ${STAGE}", "${STAGE}"],
        "cwd": "${workspaceFolder}",
        "envFile": "absent",
        "disabled": True,
    }
    tree = {"toolboxes": {"dev": toolbox(a=remote, b=program)}}
    servers = load(write(tmp_path, tree), {"STAGE": "live"}, lookup=lookup).config.toolboxes["dev"].servers
    assert servers["b"].args == ["${env:UNSET} ${STAGE}", "live"]
    assert servers["a"].url == "${UNSET}"


def test_a_mistake_in_the_syntax_of_a_disabled_server_is_reported(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, {"command": "${x", "disabled": True})
    assert problem.what == "${x has no closing brace"


def test_a_server_with_a_text_for_disabled_is_not_disabled(tmp_path: Path) -> None:
    whats = [problem.what for problem in found(tmp_path, {"command": "${UNSET}", "disabled": "true"})]
    assert "the variable UNSET is not set" in whats


def test_the_server_after_a_disabled_one_needs_its_variables(tmp_path: Path) -> None:
    tree = {"toolboxes": {"dev": toolbox(a={"command": "x", "disabled": True}, b={"command": "${UNSET}"})}}
    with pytest.raises(ConfigError, match="the variable UNSET is not set"):
        load_tree(tmp_path, tree)


def test_the_names_of_secrets_in_a_tree_are_those_of_its_references() -> None:
    tree = {"a": ["${keyring:A} ${input:B}", "$${keyring:C}"], "${keyring:D}": {"x": "${file:E} ${F}"}}
    assert secret_names_in(tree) == {"A", "B", "D"}
