"""The variables of an `envFile` become part of the environment of its server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import is_same_program, load_data
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, load_server, one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = {"command": "x", "envFile": "app.env"}
PLACE = "toolboxes.dev.mcpServers.fs.envFile"


def write_env(directory: Path, text: str) -> None:
    (directory / "app.env").write_text(text, encoding="utf-8")


def test_a_server_gets_the_variables_and_its_own_env_wins(tmp_path: Path) -> None:
    lines = ["# comment", "", "A=1", "export B='two words'", 'C="x\\ny"', "D=", "E = e # not e", "F=${HOME}"]
    write_env(tmp_path, "\n".join(lines))
    server = load_server(tmp_path, {**ENTRY, "env": {"A": "one", "G": 5}}, {"HOME": "/home/ada"})
    assert server.env == {
        "A": "one",
        "B": "two words",
        "C": "x\ny",
        "D": "",
        "E": "e",
        "F": "${HOME}",
        "G": "5",
    }


@pytest.mark.parametrize("path", ["app.env", "${HERE}/app.env", "~/app.env", "${userHome}/app.env"])
def test_a_path_is_relative_to_the_file_or_in_the_home_directory(tmp_path: Path, path: str) -> None:
    write_env(tmp_path, "A=1")
    environ = {"HERE": str(tmp_path), "HOME": str(tmp_path)}
    assert load_server(tmp_path, {"command": "x", "envFile": path}, environ).env == {"A": "1"}


def test_in_a_configuration_without_a_file_it_is_relative_to_the_given_directory(tmp_path: Path) -> None:
    write_env(tmp_path, "A=1")
    loaded = load_data(one_server(ENTRY), {}, directory=str(tmp_path))
    assert loaded.config.toolboxes["dev"].servers["fs"].env == {"A": "1"}


def test_its_values_are_masked(tmp_path: Path) -> None:
    write_env(tmp_path, "TOKEN=hunter22\n")
    secrets = load_content(tmp_path, one_server(ENTRY)).secrets
    assert secrets.mask("it is hunter22") == "it is <env TOKEN>"


def test_another_content_makes_another_program(tmp_path: Path) -> None:
    write_env(tmp_path, "A=1")
    before = load_server(tmp_path, ENTRY)
    assert is_same_program(before, load_server(tmp_path, ENTRY))
    write_env(tmp_path, "A=2")
    assert not is_same_program(before, load_server(tmp_path, ENTRY))


@pytest.mark.parametrize(
    ("content", "what", "remedy"),
    [
        (b"A=1\n\n\nhunter22 is no line\n", "its line 4 is not NAME=value", "Correct or delete the line."),
        (b"A=1\nhunter22\n", "its line 2 is not NAME=value", "Correct or delete the line."),
        (b"=hunter22\n", "its line 1 is not NAME=value", "Correct or delete the line."),
        (b"A=hunter22\xff", "it is not a text in UTF-8", "Save it with the encoding UTF-8."),
        (b"A=" + b"x" * 65_536, "it is larger than 65,536 bytes", "Name a smaller file."),
    ],
)
def test_a_file_that_cannot_be_used_is_a_problem_that_shows_no_value(
    tmp_path: Path, content: bytes, what: str, remedy: str
) -> None:
    (tmp_path / "app.env").write_bytes(content)
    (problem,) = problems(tmp_path, one_server(ENTRY))
    assert (problem.where, problem.what) == (PLACE, f"{what}: {tmp_path}/app.env")
    assert problem.remedy == remedy
    assert "hunter22" not in str(problem)


def test_a_missing_file_is_shown_as_the_configuration_spells_its_path(tmp_path: Path) -> None:
    entry = {"command": "x", "envFile": "${STAGE_DIR}/.env"}
    (problem,) = problems(tmp_path, one_server(entry), {"STAGE_DIR": "/hush-hush"})
    assert (problem.where, problem.what) == (PLACE, "there is no such file: ${STAGE_DIR}/.env")
    assert problem.remedy == "Create it, or correct the path."


def test_a_disabled_server_does_not_need_it(tmp_path: Path) -> None:
    assert load_server(tmp_path, {**ENTRY, "disabled": True}).env == {}


@pytest.mark.parametrize(("value", "kind"), [(1, ", not a number"), ("", "")])
def test_what_is_no_path_is_a_problem(tmp_path: Path, value: object, kind: str) -> None:
    what = [problem.what for problem in problems(tmp_path, one_server({"command": "x", "envFile": value}))]
    assert f"should be a string that is not empty{kind}" in what


def test_it_is_for_programs_only(tmp_path: Path) -> None:
    write_env(tmp_path, "A=1")
    (problem,) = problems(tmp_path, one_server({"url": "https://x", "envFile": "app.env"}))
    what = 'is for a program to start ("command"), and this is a remote server'
    assert Problem(problem.where, problem.what, problem.remedy) == Problem(PLACE, what, "Delete it.")
