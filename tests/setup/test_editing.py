"""What an edit changes in the configuration: only the lines concerned, and never what another server has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.documents import open_document
from mcp_workbench.errors import EditRefused, NameTaken
from mcp_workbench.setup import editing
from mcp_workbench.setup.editing import Addition

if TYPE_CHECKING:
    from mcp_workbench.config.documents import Document

FILE = """\
{
  // Ours.
  "toolboxes": {
    "dev": {
      "description": "For development",
      "mcpServers": {
        // Reads files.
        "fs": { "command": "npx", "args": ["-y", "fs"] }, // keep
        "git": {
          "command": "uvx",
          "disabled": true
        }
      }
    },
    "ops": {
      "description": "For operations",
      "mcpServers": {
        "git": { "url": "https://example.com/mcp", "enabled": false },
        "a/b": { "command": "x" }
      }
    }
  }
}
"""


def document(text: str = FILE) -> Document:
    return open_document("json", text.encode())


def changed_lines(edited: Document, text: str = FILE) -> tuple[list[str], list[str]]:
    """The lines that are gone, and those that are new."""
    before, after = text.splitlines(), edited.encode().decode().splitlines()
    return [line for line in before if line not in after], [line for line in after if line not in before]


def addition(name: str = "time", toolbox: str = "dev", **settings: object) -> Addition:
    entry: dict[str, object] = {"command": "uvx", "args": ["mcp-server-time"]}
    return Addition(toolbox=toolbox, server=name, entry=entry, description="Tools of time", **settings)  # type: ignore[arg-type] # only `replace`


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("fs", ("dev", "fs")),
        ("dev/git", ("dev", "git")),
        ("ops/git", ("ops", "git")),
        ("a/b", ("ops", "a/b")),
        ("ops/a/b", ("ops", "a/b")),
    ],
)
def test_a_server_is_found_by_its_full_name_or_by_its_own_if_only_one_has_it(
    name: str, origin: tuple[str, str]
) -> None:
    assert editing.find_server(document().data, name) == origin


def test_a_name_that_several_servers_have_is_refused_with_the_choices() -> None:
    with pytest.raises(EditRefused, match=r"'git': dev/git, ops/git$"):
        editing.find_server(document().data, "git")


def test_a_full_name_that_can_be_split_in_two_ways_is_refused_with_both() -> None:
    data: dict[str, object] = {
        "toolboxes": {"a": {"mcpServers": {"b/c": {}}}, "a/b": {"mcpServers": {"c": {}}}}
    }
    with pytest.raises(EditRefused, match=r"'b/c' in the toolbox 'a', 'c' in the toolbox 'a/b'"):
        editing.find_server(data, "a/b/c")


def test_an_unknown_server_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(EditRefused, match=r"no server 'gti'. There are: dev/fs, dev/git, ops/git, ops/a/b$"):
        editing.find_server(document().data, "gti")


def test_where_there_are_no_servers_it_says_how_to_get_some() -> None:
    with pytest.raises(EditRefused, match=r"no servers yet\. To get some: mcp-workbench import, or"):
        editing.find_server({"toolboxes": {}}, "git")
    with pytest.raises(EditRefused, match="For the whole toolbox put a slash behind its name"):
        editing.find_server({"toolboxes": {"dev": {"mcpServers": {}}}}, "dev")


def test_the_name_of_a_toolbox_is_no_server_and_the_error_says_how_to_mean_the_toolbox() -> None:
    with pytest.raises(EditRefused, match="put a slash behind its name"):
        editing.find_server(document().data, "dev")
    assert editing.find_toolbox(document().data, "dev/") == "dev"
    assert editing.find_toolbox(document().data, "dev") is None
    assert editing.find_toolbox(document().data, "nope/") is None


def test_a_new_server_goes_into_the_only_toolbox_and_into_a_new_one_if_there_is_none() -> None:
    assert editing.choose_toolbox({"toolboxes": {"dev": {}}}, None) == "dev"
    assert editing.choose_toolbox({}, None) == "main"
    assert editing.choose_toolbox(document().data, "new") == "new"
    with pytest.raises(EditRefused, match=r"--toolbox NAME\. There are: dev, ops"):
        editing.choose_toolbox(document().data, None)


def test_an_added_server_is_the_last_of_its_toolbox_and_no_other_line_changes_but_for_a_comma() -> None:
    edited = document()
    line = editing.add(edited, addition())
    text = edited.encode().decode()
    assert '"time"' in text.splitlines()[(line or 0) - 1]
    gone, new = changed_lines(edited)
    assert gone == []
    assert set(new) >= {'          "command": "uvx",'} - set(FILE.splitlines())
    assert list(edited.data["toolboxes"]["dev"]["mcpServers"]) == ["fs", "git", "time"]  # type: ignore[index] # plain data
    assert "// Reads files." in text
    assert "// keep" in text


def test_a_toolbox_that_does_not_exist_is_made_with_its_description() -> None:
    edited = document("")
    editing.add(edited, addition(toolbox="main"))
    entry = {"command": "uvx", "args": ["mcp-server-time"]}
    assert edited.data == {
        "toolboxes": {"main": {"description": "Tools of time", "mcpServers": {"time": entry}}}
    }


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced() -> None:
    edited = document()
    with pytest.raises(NameTaken, match="the toolbox 'dev' has another server 'fs' already"):
        editing.add(edited, addition("fs"))
    assert edited.encode() == FILE.encode()
    editing.add(edited, addition("fs", replace=True))
    assert edited.data["toolboxes"]["dev"]["mcpServers"]["fs"] == addition().entry  # type: ignore[index] # plain data


def test_adding_what_is_there_already_changes_nothing() -> None:
    edited = document()
    editing.add(edited, addition())
    before = edited.encode()
    editing.add(edited, addition())
    assert edited.encode() == before


def test_a_removed_server_takes_its_comments_along_and_its_toolbox_stays() -> None:
    edited = document()
    assert editing.remove(edited, ("dev", "fs")) == 8
    assert changed_lines(edited) == (
        ["        // Reads files.", FILE.splitlines()[7]],
        [],
    )


def test_a_removed_toolbox_leaves_the_others_as_they_are() -> None:
    edited = document()
    assert editing.remove_toolbox(edited, "dev") == 4
    assert list(edited.data["toolboxes"]) == ["ops"]  # type: ignore[call-overload] # plain data
    assert "// Ours." in edited.encode().decode()


@pytest.mark.parametrize(
    ("origin", "gone", "new"),
    [
        (
            ("dev", "git"),
            ['          "command": "uvx",', '          "disabled": true'],
            ['          "command": "uvx"'],
        ),
        (
            ("ops", "git"),
            ['        "git": { "url": "https://example.com/mcp", "enabled": false },'],
            ['        "git": { "url": "https://example.com/mcp", "enabled": true },'],
        ),
        (("dev", "fs"), [], []),
    ],
)
def test_enabling_removes_our_word_turns_that_of_others_and_leaves_an_enabled_server_alone(
    origin: tuple[str, str], gone: list[str], new: list[str]
) -> None:
    edited = document()
    editing.enable(edited, origin)
    assert changed_lines(edited) == (gone, new)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"command": "x"}, {"command": "x", "disabled": True}),
        ({"command": "x", "disabled": False}, {"command": "x", "disabled": True}),
        ({"command": "x", "enabled": True}, {"command": "x", "enabled": False}),
        ({"command": "x", "isActive": True}, {"command": "x", "isActive": False}),
        ({"command": "x", "isActive": False}, {"command": "x", "isActive": False}),
        ({"command": "x", "enabled": False}, {"command": "x", "enabled": False}),
        ({"command": "x", "disabled": True}, {"command": "x", "disabled": True}),
    ],
)
def test_disabling_uses_the_word_that_the_entry_has(
    entry: dict[str, object], expected: dict[str, object]
) -> None:
    edited = document("")
    edited.set(("toolboxes", "dev", "mcpServers", "x"), entry)
    editing.disable(edited, ("dev", "x"))
    assert edited.data["toolboxes"]["dev"]["mcpServers"]["x"] == expected  # type: ignore[index] # plain data


def test_enabling_turns_every_word_that_switches_a_server_off() -> None:
    edited = document("")
    path = ("toolboxes", "dev", "mcpServers", "x")
    edited.set(path, {"command": "x", "isActive": False, "enabled": False, "disabled": True})
    editing.enable(edited, ("dev", "x"))
    assert edited.data["toolboxes"]["dev"]["mcpServers"]["x"] == {  # type: ignore[index] # plain data
        "command": "x",
        "isActive": True,
        "enabled": True,
    }


def test_a_moved_server_takes_its_comments_along() -> None:
    edited = document()
    line = editing.move(edited, ("dev", "fs"), "ops", None)
    lines = edited.encode().decode().splitlines()
    assert '"fs": { "command": "npx", "args": ["-y", "fs"] }' in lines[(line or 0) - 1]
    assert lines[(line or 0) - 2].strip() == "// Reads files."
    assert list(edited.data["toolboxes"]["ops"]["mcpServers"]) == ["git", "a/b", "fs"]  # type: ignore[index] # plain data


def test_a_server_is_moved_to_a_new_toolbox_only_if_that_is_described() -> None:
    edited = document()
    with pytest.raises(EditRefused, match=r"no toolbox 'new'\. With --description TEXT a new one is made"):
        editing.move(edited, ("dev", "fs"), "new", None)
    editing.move(edited, ("dev", "fs"), "new", "For new things")
    assert edited.data["toolboxes"]["new"] == {  # type: ignore[index] # plain data
        "description": "For new things",
        "mcpServers": {"fs": {"command": "npx", "args": ["-y", "fs"]}},
    }


def test_a_server_is_not_moved_onto_another_of_its_name() -> None:
    edited = document()
    with pytest.raises(NameTaken):
        editing.move(edited, ("dev", "git"), "ops", None)
    assert edited.encode() == FILE.encode()


def test_moving_to_where_it_is_changes_nothing() -> None:
    edited = document()
    editing.move(edited, ("dev", "fs"), "dev", None)
    assert edited.encode() == FILE.encode()


@pytest.mark.parametrize(
    "data", [{"toolboxes": []}, {"toolboxes": {"dev": []}}, {"toolboxes": {"dev": {"mcpServers": 1}}}]
)
def test_a_file_of_another_shape_is_refused(data: dict[str, object]) -> None:
    edited = document("")
    edited.set(("toolboxes",), data["toolboxes"])
    with pytest.raises(EditRefused, match="Correct it first"):
        editing.add(edited, addition())


@pytest.mark.parametrize(
    ("title", "description"),
    [
        ("", "Tools of time"),
        ("Time", "Tools of time"),
        ("World\n clock", "Tools of World clock (time)"),
        ("x" * 200, "Tools of time"),
    ],
)
def test_a_new_toolbox_is_described_by_the_name_and_the_title_of_its_server(
    title: str, description: str
) -> None:
    assert editing.describe_toolbox("time", {}, title) == description


def test_a_new_toolbox_for_a_server_of_a_known_kind_says_what_it_is_for() -> None:
    entry: dict[str, object] = {"command": "uvx", "args": ["mcp-server-git"]}
    assert editing.describe_toolbox("git", entry, "Git") == "Source code, git and pull requests: git"
