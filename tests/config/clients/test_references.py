"""References in the syntax of each client become ours, and what is no reference there becomes none here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.clients import Converted, FoundFile, FoundServer, Machine, convert, read_file
from mcp_workbench.config.clients.found import FileContext, Input
from tests.config.clients.places import client_of, make_place

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = Machine("linux", "/home/ada", "/src", {"lower": "x"})


def converted(client: str, text: str, project: str = "") -> Converted:
    inputs = {"token": Input("Your token"), "region": Input("Region", "eu-1 ${x}")}
    context = FileContext(project=project, inputs=inputs)
    file = FoundFile(client_of(client), "user", "/home/ada/dir/file.json", "json", context=context)
    return convert(file, FoundServer("fs", {"command": "x", "args": [text]}, ()), MACHINE)


@pytest.mark.parametrize(
    ("client", "text", "expected"),
    [
        ("claude-desktop", "${HOME} $HOME ${env:A}", "$${HOME} $HOME $${env:A}"),
        ("codex", "{env:A} ${A", "{env:A} $${A"),
        ("claude-code", "${A} ${b:-c} $D ${not a name}", "${A} ${env:b:-c} $D $${not a name}"),
        ("claude-code", "${A:-https://x:80}", "${A:-https://x:80}"),
        ("kiro", "${A}", "${A}"),
        ("amp", "a${A}b", "a${A}b"),
        ("gemini-cli", "$A-${B} pa$word $lower", "${A}-${B} pa$word ${env:lower}"),
        ("copilot-cli", "$A ${B:-c}", "${A} ${B:-c}"),
        ("crush", "$A/${B}", "${A}/${B}"),
        ("cursor", "${env:A} ${env:a} ${A} $A", "${A} ${env:a} $${A} $A"),
        ("cursor", "${userHome}${/}x${pathSeparator}y", "/home/ada/x/y"),
        ("cursor", "${workspaceFolder}/x", "${workspaceFolder}/x"),
        ("windsurf", "${file:~/key} ${file:/k}", "${file:/home/ada/key} ${file:/k}"),
        ("vscode", "${input:token} ${input:region}", "${keyring:token} eu-1 $${x}"),
        ("amazon-q", "${env:A}", "${A}"),
        ("opencode", "{env:A} {env:b} ${C} {x}", "${A} ${env:b} $${C} {x}"),
        ("opencode", "{file:key} {file:~/k}", "${file:/home/ada/dir/key} ${file:/home/ada/k}"),
        ("continue", "${{ secrets.KEY }} ${{secrets.b}} ${C}", "${keyring:KEY} ${keyring:b} $${C}"),
    ],
)
def test_a_reference_becomes_ours(client: str, text: str, expected: str) -> None:
    result = converted(client, text)
    assert (result.entry["args"], result.refusals) == ([expected], ())


def test_the_folder_of_a_project_is_its_path() -> None:
    result = converted("cursor", "${workspaceFolder}/x ${workspaceFolderBasename}", "/src/site")
    assert result.entry["args"] == ["/src/site/x site"]


def test_a_variable_that_the_client_sets_itself_is_its_value() -> None:
    text = "${CLAUDE_PROJECT_DIR:-.}/x"
    assert converted("claude-code", text, "/src/site").entry["args"] == ["/src/site/x"]
    assert converted("claude-code", text).entry["args"] == [text]


def test_what_a_person_is_asked_for_in_the_client_becomes_a_secret_to_ask_for() -> None:
    assert converted("vscode", "${input:token}${input:other id}").inputs == {
        "token": "Your token",
        "other-id": "other id",
    }
    assert converted("vscode", "${input:region}").inputs == {}
    assert converted("continue", "${{ secrets.KEY }}").inputs == {"KEY": "KEY"}


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("crush", "$(pass show key)"),
        ("crush", "`pass show key`"),
        ("vscode", "${command:pick}"),
        ("vscode", "${config:editor.font}"),
        ("vscode", "${workspaceFolder:other}"),
        ("cursor", "${workspaceFolderBasename}"),
        ("continue", "${{ steps.x }}"),
        ("claude-code", "$${A}"),
        ("opencode", "${env:A}"),
    ],
)
def test_what_only_the_client_can_look_up_is_refused(client: str, text: str) -> None:
    assert len(converted(client, text).refusals) == 1


def test_a_reference_in_a_file_of_an_unknown_client_stays(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    entry: dict[str, object] = {"command": "x", "args": ["${A}", "${env:b}", "${input:c}"]}
    path = place.put("servers.json", json.dumps({"mcpServers": {"fs": entry}}))
    file = read_file(str(path), None, place.machine)
    assert file.client is None
    assert convert(file, file.servers[0], place.machine) == Converted(entry)


def test_a_question_that_is_answered_by_its_default_is_noted(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    question = {"id": "region", "type": "pickString", "description": "Region", "default": "eu"}
    servers = {"fs": {"command": "x", "args": ["${input:region}", "${input:region}"]}}
    place.put(".vscode/mcp.json", json.dumps({"inputs": [question], "servers": servers}))
    result = place.converted("vscode")["fs"]
    assert result.entry == {"command": "x", "args": ["eu", "eu"]}
    assert result.notes == ("is not asked for, and has its default value: Region",)
