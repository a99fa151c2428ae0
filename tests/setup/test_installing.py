"""The workbench is put into the file of every client, and taken out again, and all else stays there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_workbench.config.clients import Client, Machine, client_named, find_files, install_target
from mcp_workbench.config.documents import open_document
from mcp_workbench.config.documents.plain import get
from mcp_workbench.config.source.json_comments import without_comments
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import apply, restore
from mcp_workbench.setup.installing import ClientChange, plan_install, plan_uninstall, snippet_for, verify
from mcp_workbench.setup.launching import Launch
from mcp_workbench.setup.undoing import plan_undo
from tests.setup.client_files import WITH_FILES, content_of, machine_in

LAUNCH = Launch(
    command="/opt/bin/mcp-workbench",
    args=("--config", "/home/me/config.json", "--keep-going"),
    env={"PATH": "/usr/bin"},
    warnings=(),
    needs_workspace=False,
)
OTHER = Launch(
    command="/new/bin/mcp-workbench", args=(), env={"PATH": "/new"}, warnings=(), needs_workspace=True
)

every_client = pytest.mark.parametrize("client", WITH_FILES, ids=lambda client: client.id)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return machine_in(tmp_path)


def named(client_id: str) -> Client:
    client = client_named(client_id)
    assert client is not None
    return client


def target(machine: Machine, client: Client) -> Path:
    found = install_target(machine, client, "user")
    assert found is not None
    return Path(found[0])


def given(machine: Machine, client: Client, content: bytes | None = None) -> Path:
    path = target(machine, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content_of(client) if content is None else content)
    return path


def write(change: ClientChange, machine: Machine) -> None:
    apply(change.change, machine.environ, subject=change.client.id)
    verify(change)


def install(machine: Machine, client: Client, launch: Launch = LAUNCH) -> ClientChange:
    change = plan_install(machine, client, "user", launch)
    write(change, machine)
    return change


def undo(machine: Machine) -> None:
    for it in plan_undo(machine.environ, None).restorations:
        restore(it.path, it.before, it.after, machine.environ, subject=it.subject, undoes=it.undoes)


def parsed(path: Path) -> Any:
    """The file as its client reads it, by a parser that is not ours."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(without_comments(text))


def own_entries(machine: Machine, client: Client) -> list[tuple[str, str]]:
    found = [file for file in find_files(machine, [client]) if file.scope == "user"]
    assert [file.error for file in found if file.error] == []
    return [(file.path, server.name) for file in found for server in file.servers if server.is_workbench]


def without_ours(data: Any) -> Any:
    """The content of a file without the entry of the workbench, wherever that is."""
    if isinstance(data, dict):
        kept = {key: without_ours(value) for key, value in data.items() if key != "workbench"}
        return {key: value for key, value in kept.items() if value not in ({}, [])}
    if isinstance(data, list):
        return [
            without_ours(item)
            for item in data
            if not (isinstance(item, dict) and item.get("name") == "workbench")
        ]
    return data


@every_client
def test_a_file_with_servers_holds_them_and_the_workbench(machine: Machine, client: Client) -> None:
    path = given(machine, client)
    before = parsed(path)
    change = install(machine, client)
    assert (change.effect, change.names, change.path) == ("add", ("workbench",), str(path))
    assert own_entries(machine, client) == [(str(path), "workbench")]
    assert without_ours(parsed(path)) == without_ours(before)


@every_client
def test_only_lines_are_added_to_a_file(machine: Machine, client: Client) -> None:
    given(machine, client)
    lines = plan_install(machine, client, "user", LAUNCH).diff()
    removed = [line for line in lines if line.startswith("-") and not line.startswith("---")]
    # Where the last entry has no comma yet, its line gets one, and a file of one line has just that.
    assert len(removed) <= 1


@every_client
def test_a_client_without_a_file_gets_one(machine: Machine, client: Client) -> None:
    change = install(machine, client)
    assert change.change.before is None
    assert own_entries(machine, client) == [(str(target(machine, client)), "workbench")]


@every_client
def test_installing_twice_changes_nothing(machine: Machine, client: Client) -> None:
    path = given(machine, client)
    install(machine, client)
    content = path.read_bytes()
    again = plan_install(machine, client, "user", LAUNCH)
    assert (again.effect, again.change.after, again.diff()) == ("same", content, [])


@every_client
def test_an_older_entry_of_ours_is_updated(machine: Machine, client: Client) -> None:
    path = given(machine, client)
    install(machine, client)
    change = install(machine, client, OTHER)
    assert change.effect == "update"
    assert own_entries(machine, client) == [(str(path), "workbench")]
    text = path.read_text(encoding="utf-8")
    assert "/new/bin/mcp-workbench" in text
    assert "/opt/bin" not in text


@every_client
def test_uninstalling_takes_out_the_workbench_alone(machine: Machine, client: Client) -> None:
    path = given(machine, client)
    before = parsed(path)
    install(machine, client)
    [change] = plan_uninstall(machine, client, "user")
    write(change, machine)
    assert (change.effect, change.names) == ("remove", ("workbench",))
    assert parsed(path) == before
    assert plan_uninstall(machine, client, "user") == []


@every_client
def test_undo_gives_the_same_bytes_whatever_was_done(machine: Machine, client: Client) -> None:
    path = given(machine, client)
    for step in (LAUNCH, OTHER):
        install(machine, client, step)
    for change in plan_uninstall(machine, client, "user"):
        write(change, machine)
    install(machine, client)
    undo(machine)
    assert path.read_bytes() == content_of(client)


@every_client
def test_undo_deletes_a_file_that_was_not_there(machine: Machine, client: Client) -> None:
    install(machine, client)
    undo(machine)
    assert not target(machine, client).exists()


@every_client
def test_no_secret_is_shown(machine: Machine, client: Client) -> None:
    given(machine, client, content_of(client).replace(b'"tools"', b'"value-of-header"'))
    shown = "\n".join(plan_install(machine, client, "user", LAUNCH).diff())
    assert "/opt/bin/mcp-workbench" in shown
    assert "ghp_" not in shown
    assert "value-of-header" not in shown


@pytest.mark.parametrize("client_id", ["cursor", "vscode", "codex", "goose"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_the_byte_order_mark_stay(machine: Machine, client_id: str, bom: bytes) -> None:
    client = named(client_id)
    path = given(machine, client, bom + content_of(client).replace(b"\n", b"\r\n"))
    install(machine, client)
    content = path.read_bytes()
    assert content.startswith(bom)
    assert content.count(b"\n") == content.count(b"\r\n")
    assert own_entries(machine, client) == [(str(path), "workbench")]


def test_a_link_to_the_file_stays_a_link(machine: Machine, tmp_path: Path) -> None:
    client = named("cursor")
    real = tmp_path / "dotfiles.json"
    real.write_bytes(content_of(client))
    link = target(machine, client)
    link.parent.mkdir()
    link.symlink_to(real)
    install(machine, client)
    assert link.is_symlink()
    assert b"workbench" in real.read_bytes()
    undo(machine)
    assert (link.is_symlink(), real.read_bytes()) == (True, content_of(client))


def test_an_entry_of_another_program_is_not_overwritten(machine: Machine) -> None:
    client = named("cursor")
    path = given(machine, client, b'{"mcpServers": {"workbench": {"command": "mine"}}}')
    with pytest.raises(CannotChange, match="another server has the name 'workbench' there"):
        plan_install(machine, client, "user", LAUNCH)
    asked: list[tuple[str, str]] = []
    change = plan_install(
        machine,
        client,
        "user",
        LAUNCH,
        may_overwrite=lambda *names: not asked.append(names),  # type: ignore[func-returns-value] # it is None
    )
    assert (change.effect, asked) == ("overwrite", [(str(path), "workbench")])
    assert plan_install(machine, client, "user", LAUNCH, name="bench").names == ("bench",)


def test_what_is_no_server_is_not_overwritten(machine: Machine) -> None:
    client = named("goose")
    given(machine, client, b"extensions:\n  workbench:\n    type: builtin\n    name: workbench\n")
    with pytest.raises(CannotChange, match="another server has the name 'workbench' there"):
        plan_install(machine, client, "user", LAUNCH)


def test_our_entry_is_found_under_any_name(machine: Machine) -> None:
    client = named("cursor")
    path = given(machine, client, b'{"mcpServers": {"tools": {"command": "uvx", "args": ["workbench-mcp"]}}}')
    change = plan_install(machine, client, "user", LAUNCH)
    assert (change.effect, change.names) == ("update", ("tools",))
    added = plan_install(machine, client, "user", LAUNCH, name="second")
    assert (added.effect, added.names) == ("add", ("second",))
    [removed] = plan_uninstall(machine, client, "user")
    assert (removed.path, removed.names) == (str(path), ("tools",))


def test_what_a_person_added_to_our_entry_stays(machine: Machine) -> None:
    client = named("cline")
    install(machine, client)
    path = target(machine, client)
    document = open_document("json", path.read_bytes())
    document.set(("mcpServers", "workbench", "env", "MINE"), "1")
    document.set(("mcpServers", "workbench", "autoApprove"), ["open_toolbox"])
    path.write_bytes(document.encode())
    install(machine, client, OTHER)
    entry = get(parsed(path), ("mcpServers", "workbench"))
    assert isinstance(entry, dict)
    assert entry["env"] == {"PATH": "/new", "MINE": "1"}
    assert entry["autoApprove"] == ["open_toolbox"]


def test_the_open_folder_is_given_to_clients_that_know_it(machine: Machine) -> None:
    for client_id, expected in (("vscode", "${workspaceFolder}"), ("codex", None)):
        change = plan_install(machine, named(client_id), "user", OTHER)
        assert (b"WORKSPACE_FOLDER" in change.change.after) == (expected is not None)


def test_the_file_of_a_project_is_chosen_by_its_scope(machine: Machine) -> None:
    change = plan_install(machine, named("cursor"), "project", LAUNCH)
    assert change.path == f"{machine.directory}/.cursor/mcp.json"
    with pytest.raises(CannotChange, match="it has no file for the scope project"):
        plan_install(machine, named("claude-desktop"), "project", LAUNCH)


def test_servers_that_are_replaced_are_taken_out(machine: Machine) -> None:
    for client in (named("cursor"), named("continue"), named("codex")):
        given(machine, client)
        [found] = [file for file in find_files(machine, [client]) if file.scope == "user"]
        chosen = {(found.path, server.path) for server in found.servers[-1:]}
        change = plan_install(machine, client, "user", LAUNCH, replaces=chosen)
        write(change, machine)
        assert change.replaced == (found.servers[-1].name,)
        [left] = [file for file in find_files(machine, [client]) if file.scope == "user"]
        kept = [server.name for server in found.servers[:-1]]
        assert [server.name for server in left.servers] == [*kept, "workbench"]
    undo(machine)
    assert target(machine, named("cursor")).read_bytes() == content_of(named("cursor"))


def test_a_replaced_server_gives_its_name_away(machine: Machine) -> None:
    client = named("cursor")
    path = given(machine, client, b'{"mcpServers": {"workbench": {"command": "mine"}}}')
    replaces = {(str(path), ("mcpServers", "workbench"))}
    change = plan_install(machine, client, "user", LAUNCH, replaces=replaces)
    assert (change.effect, change.replaced) == ("add", ("workbench",))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "line"),
        (b'{"mcpServers": []}', ""),
        (b'{"mcpServers": 1}', "should hold servers"),
        (b"\xff\xfe{}", "UTF-16"),
        (b"[]", ""),
    ],
)
def test_a_broken_file_is_left_alone(machine: Machine, content: bytes, reason: str) -> None:
    path = given(machine, named("cursor"), content)
    with pytest.raises(CannotChange) as caught:
        plan_install(machine, named("cursor"), "user", LAUNCH)
    assert reason in str(caught.value)
    assert path.read_bytes() == content


def test_a_file_that_is_not_as_expected_after_the_change_is_reported(machine: Machine) -> None:
    change = plan_install(machine, named("cursor"), "user", LAUNCH)
    apply(change.change, machine.environ, subject="cursor")
    for content, reason in ((b"{}", "does not hold what was written"), (b"{", "cannot be parsed")):
        Path(change.path).write_bytes(content)
        with pytest.raises(CannotChange, match=reason):
            verify(change)


def test_the_snippet_is_for_any_client() -> None:
    assert json.loads(snippet_for(LAUNCH)) == {
        "mcpServers": {
            "workbench": {
                "command": "/opt/bin/mcp-workbench",
                "args": ["--config", "/home/me/config.json", "--keep-going"],
                "env": {"PATH": "/usr/bin"},
            }
        }
    }
