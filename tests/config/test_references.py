"""What is said about a `${…}` that cannot be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import Problem
from tests.config.loading import one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "toolboxes.dev.mcpServers.fs.args[1]"
BAD_NAME = "does not name a variable: names are made of A-Z, 0-9 and _, and start with no digit"
BAD_FORM = "is not a form of reference: there are ${VAR} and ${VAR:-default}"
BAD_STORED = "does not name a secret: names are made of letters, digits and . _ -"
STORE_IT = "Write ${keyring:NAME}, and set it: mcp-workbench secret set NAME"
NO_WORKSPACE = "${workspaceFolder} is the folder that an editor has open, and is not known here"
SET_WORKSPACE = "export WORKSPACE_FOLDER=/path/to/project    (or write the path itself)"
OR_STORE_IT = "or for a secret: mcp-workbench secret set {0} and ${{keyring:{0}}})"
LITERAL = " (a literal ${ is written $${)"


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (
            "${TOKEN}",
            "the variable TOKEN is not set",
            "export TOKEN=value    (or give a default: ${TOKEN:-default}, " + OR_STORE_IT.format("TOKEN"),
        ),
        ("${1X}", f"${{1X}} {BAD_NAME}", f"Write ${{_1X}}, and set it: export _1X=value{LITERAL}"),
        (
            "${my-var}",
            f"${{my-var}} {BAD_NAME}",
            f"Write ${{MY_VAR}}, and set it: export MY_VAR=value{LITERAL}",
        ),
        (
            "${myVar}",
            f"${{myVar}} {BAD_NAME}",
            f"Write ${{MY_VAR}}, and set it: export MY_VAR=value{LITERAL}",
        ),
        ("${ VAR }", f"${{ VAR }} {BAD_NAME}", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("${}", f"${{}} {BAD_NAME}", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("${!@}", f"${{…}} {BAD_NAME}", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("${VAR:x}", f"${{VAR:…}} {BAD_FORM}", "Write ${VAR}, and set it: export VAR=value"),
        ("${VAR:=x}", f"${{VAR:…}} {BAD_FORM}", "Write ${VAR}, and set it: export VAR=value"),
        ("${VAR-x}", f"${{VAR-…}} {BAD_FORM}", "Write ${VAR}, and set it: export VAR=value"),
        (
            "${MY-VAR}",
            f"${{MY-VAR}} {BAD_NAME}",
            f"Write ${{MY_VAR}}, and set it: export MY_VAR=value{LITERAL}",
        ),
        ("${var:-x}", f"${{var}} {BAD_NAME}", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("${:-x}", f"${{…}} {BAD_NAME}", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("a ${VAR", "${VAR has no closing brace", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("${VAR:-x", "${VAR has no closing brace", f"Write ${{VAR}}, and set it: export VAR=value{LITERAL}"),
        ("${_V/$${", "${_V has no closing brace", f"Write ${{_V}}, and set it: export _V=value{LITERAL}"),
        (
            "${env:api_key}",
            "the variable api_key is not set",
            "export api_key=value    (or give a default: ${env:api_key:-default}, "
            + OR_STORE_IT.format("api_key"),
        ),
        (
            "${env:api key}",
            "${env:…} does not name a variable: names are made of letters, digits and _",
            "Write ${API}, and set it: export API=value",
        ),
        ("${keyring:API.key-1}", "there is no secret API.key-1", "mcp-workbench secret set API.key-1"),
        ("${input:api-key}", "there is no secret api-key", "mcp-workbench secret set api-key"),
        ("${keyring:1x}", f"${{keyring:…}} {BAD_STORED}", STORE_IT),
        ("${input:}", f"${{input:…}} {BAD_STORED}", STORE_IT),
        (
            "${keyring:${NAME}}",
            "${keyring:…} holds another reference, which is not replaced",
            "Write the name.",
        ),
        (
            "${file:${HOME}/token}",
            "${file:…} holds another reference, which is not replaced",
            "Write the path itself: ~ is the home directory.",
        ),
        (
            "${file:absent}",
            "${file:absent}: there is no such file",
            "Create it, or correct the path.",
        ),
        ("${file:.}", "${file:.}: it is a directory", "Name a file in it."),
        ("${file: }", "${file:} names no file", "Write for example ${file:~/.config/token}"),
        ("${file:a\0b}", "${file:a\0b}: it cannot be read: the path is not valid", "Check the path."),
        ("${keyring:X", "${keyring has no closing brace", f"Write ${{keyring:…}}{LITERAL}"),
        ("${workspaceFolder}/src", NO_WORKSPACE, SET_WORKSPACE),
        ("${workspaceRoot}", NO_WORKSPACE, SET_WORKSPACE),
        ("${workspaceFolderBasename}", NO_WORKSPACE, SET_WORKSPACE),
        (
            "${workspaceFolder:site}",
            "${workspaceFolder:…} is known to editors only",
            "Here write the path itself, or ${workspaceFolder}",
        ),
    ],
)
def test_a_bad_reference_gets_its_place_its_reason_and_its_remedy(
    tmp_path: Path, text: str, what: str, remedy: str
) -> None:
    found = problems(tmp_path, one_server({"command": "x", "args": ["-y", text]}))
    assert found == [Problem(PLACE, what, remedy)]


def test_all_the_bad_references_of_one_string_are_reported(tmp_path: Path) -> None:
    found = problems(tmp_path, one_server({"command": "x", "args": ["-y", "${A} ${b} ${c/${D}"]}))
    assert [(problem.where, problem.what) for problem in found] == [
        (PLACE, "the variable A is not set"),
        (PLACE, f"${{b}} {BAD_NAME}"),
        (PLACE, "${c has no closing brace"),
        (PLACE, "the variable D is not set"),
    ]


def test_a_bad_reference_in_a_key_is_reported_at_the_key(tmp_path: Path) -> None:
    found = problems(tmp_path, one_server({"command": "x", "env": {"${PREFIX}_TOKEN": "1"}}))
    assert [(problem.where, problem.what) for problem in found] == [
        ('toolboxes.dev.mcpServers.fs.env["${PREFIX}_TOKEN"]', "the variable PREFIX is not set")
    ]


def test_what_follows_from_a_bad_reference_is_not_reported_but_other_mistakes_are(tmp_path: Path) -> None:
    found = problems(tmp_path, one_server({"url": "${URL}", "transport": "${KIND}", "timeout": 0}))
    assert [(problem.where, problem.what) for problem in found] == [
        ("toolboxes.dev.mcpServers.fs.url", "the variable URL is not set"),
        ("toolboxes.dev.mcpServers.fs.transport", "the variable KIND is not set"),
        (
            "toolboxes.dev.mcpServers.fs.timeout",
            "should be a number of seconds, more than 0 and at most 100000000",
        ),
    ]


def test_what_may_be_a_value_is_never_shown(tmp_path: Path) -> None:
    texts = [
        "${TOKEN:hunter2}",
        "${TOKEN:-hunter2",
        "${TOKEN hunter2",
        "${TOKEN-hunter2}",
        "${token:hunter2}",
        "${token:-hunter2}",
        "${!hunter2!}",
    ]
    found = problems(tmp_path, one_server({"command": "x", "args": texts}))
    assert len(found) == len(texts)
    assert "hunter2" not in str(found)
