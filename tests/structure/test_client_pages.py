"""The pages of the clients have what the table of clients has: names, files and keys."""

from __future__ import annotations

import re

import pytest

from mcp_workbench.config.clients import CLIENTS, Client
from tests.structure.package import ROOT

PAGES = sorted((ROOT / "docs" / "clients").glob("[a-z]*.md"))
INDEX = (ROOT / "docs" / "clients" / "README.md").read_text(encoding="utf-8")
SETTINGS = {"linux": "~/.config", "darwin": "~/Library/Application Support", "win32": "%APPDATA%"}
"""Where programs keep their settings, as the pages write it."""

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)


def sections() -> list[str]:
    """The sections of all pages, with the paths of Windows written like the others."""
    text = "\n".join(page.read_text(encoding="utf-8").replace("\\", "/") for page in PAGES)
    return re.split(r"^## ", text, flags=re.MULTILINE)


def section_of(client: Client) -> str:
    (section,) = [text for text in sections() if re.search(rf"(?:`|install ){client.id}(?:`|\n)", text)]
    return section


def written(template: str, system: str) -> str:
    """Return a path of the table as the pages write it."""
    values = {"home": "~", "config": SETTINGS[system], "dotconfig": "~/.config"}
    values |= {"localappdata": "%LOCALAPPDATA%", "project": ""}
    path = re.sub(r"\{env:(\w+)\}", r"$\1", template)
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path).removeprefix("/")


def is_shown(path: str, text: str) -> bool:
    if path in text:
        return True
    directory, inside, file = path.partition("/User/") if "/User/" in path else path.partition("/Machine/")
    settings, _, program = directory.rpartition("/")
    return bool(inside) and all(part in text for part in (settings, program, file))


@each_client
def test_a_client_is_on_the_list_and_has_one_section(client: Client) -> None:
    (row,) = re.findall(rf"^\| (.+) \| `{client.id}` \| \[.*\]\((\w+\.md)\) \|$", INDEX, re.MULTILINE)
    assert row[0] in client.title
    assert section_of(client).splitlines()[0] in client.title
    assert section_of(client).splitlines()[0] in (ROOT / "docs" / "clients" / row[1]).read_text("utf-8")


@each_client
def test_every_file_of_a_client_is_named_with_its_key(client: Client) -> None:
    section = section_of(client)
    paths = {
        written(template, system)
        for file in client.files
        for system, templates in file.paths.items()
        for template in templates
    }
    assert sorted(path for path in paths if not is_shown(path, section)) == []
    keys = {key for file in client.files for key in file.key if not key.startswith("{")}
    assert sorted(key for key in keys if key not in section) == []


def test_a_path_that_is_not_named_is_found() -> None:
    assert not is_shown("~/.cursor/other.json", section_of(CLIENTS[2]))
    assert not is_shown("~/.config/Code/User/other.json", section_of(CLIENTS[3]))


def test_every_client_on_the_list_is_in_the_table() -> None:
    listed = re.findall(r"^\| .+ \| `([\w-]+)` \| \[", INDEX, re.MULTILINE)
    assert sorted(listed) == sorted(client.id for client in CLIENTS)
