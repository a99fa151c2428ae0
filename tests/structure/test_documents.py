"""The documents are true: commands parse, configurations load, links, paths and classes exist."""

from __future__ import annotations

import argparse
import ast
import json
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.cli.options import parser
from mcp_workbench.config import load
from mcp_workbench.downstream.diagnosis import CAUSES
from tests.structure.documents import (
    DOCUMENTS,
    README,
    anchors,
    blocks,
    class_names,
    commands,
    links,
    repository_paths,
    section_links,
)
from tests.structure.package import ROOT, SOURCE, modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ABOUT_THE_CODE = [ROOT / "docs" / "architecture.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
ELSEWHERE = {
    "BufferedProtocol",  # asyncio
    "Host",  # HTTP headers
    "NaN",  # a number
    "Origin",
    "Request",  # Starlette
    "Response",
    "Struct",  # msgspec
}
"""Names in these documents that are written like a class of ours, and belong to others."""

OBSCURE = re.compile(
    r"\b(?:eras?|whoever|(?:come|comes|came) in|let in|by the browser|desks?|drawers?|shelf|valves?)\b",
    re.IGNORECASE,
)
"""Words that a reader who knows MCP would have to guess. "Era" is called protocol version."""

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS]
)


def understood(argv: list[str]) -> bool:
    try:
        parser().parse_args(argv)
    except SystemExit as exit_:
        return exit_.code == 0
    return True


def options_and_commands(of: argparse.ArgumentParser, words: str = "mcp-workbench") -> Iterator[str]:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{words} {name}"
                yield from options_and_commands(command, f"{words} {name}")
        else:
            yield from (option for option in action.option_strings if option.startswith("--"))


@cache
def class_members() -> dict[str, set[str]]:
    """The classes of the package, each with all the names that stand inside of it."""
    return {
        node.name: {name for inner in ast.walk(node) for name in _names(inner)}
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id


@each_document
def test_every_command_in_a_document_is_understood(document: Path) -> None:
    written = commands(document, "mcp-workbench")
    assert [argv for argv in written if not understood(argv)] == []


@each_document
def test_every_make_target_in_a_document_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    written = {argument for argv in commands(document, "make") for argument in argv if "=" not in argument}
    assert written - targets == set()


@each_document
def test_every_link_between_documents_leads_to_a_file(document: Path) -> None:
    assert [target for target in links(document) if not (document.parent / target).exists()] == []


@each_document
def test_every_link_to_a_section_leads_to_a_heading(document: Path) -> None:
    assert [
        f"{target.name}#{anchor}"
        for target, anchor in section_links(document)
        if target.suffix == ".md" and anchor not in anchors(target)
    ] == []


def test_links_to_sections_are_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    page.write_text("[a](#one) [b](other.md#the-host-and-more) [c](other.md) [d](https://x/y#z)", "utf-8")
    other.write_text("# The `Host`, and more\n```sh\n# a comment\n```\n", "utf-8")
    assert section_links(page) == [(page, "one"), (other, "the-host-and-more")]
    assert anchors(other) == {"the-host-and-more"}


@each_document
def test_no_document_has_words_that_only_we_know(document: Path) -> None:
    assert OBSCURE.findall(document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text", ["Servers of both eras", "Whoever asks", "who may come in", "a client's desk"]
)
def test_a_word_that_only_we_know_is_found(text: str) -> None:
    assert OBSCURE.search(text)


@pytest.mark.parametrize("text", ["operation", "an average", "incoming", "who may connect", "on a desktop"])
def test_a_word_of_the_field_is_not(text: str) -> None:
    assert not OBSCURE.search(text)


@each_document
def test_every_path_in_a_document_exists(document: Path) -> None:
    roots = (ROOT, SOURCE)
    written = repository_paths(document)
    assert [path for path in written if not any((root / path).exists() for root in roots)] == []


def test_paths_in_the_repository_are_told_from_other_names(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "`wire/lines.py`, `wire/`, `surface/relay/calls`, `guard.sh`, `tests/node/package.json` are paths, "
        "`tools/list`, `team/wiki`, `/healthz`, `${VAR}` and `python eval.py --x` are not.\n"
        "```sh\ncat `wire/peer.py`\n```\n",
        encoding="utf-8",
    )
    assert repository_paths(document) == [
        "wire/lines.py",
        "wire/",
        "surface/relay/calls",
        "guard.sh",
        "tests/node/package.json",
    ]


@pytest.mark.parametrize("document", ABOUT_THE_CODE, ids=lambda path: path.name)
def test_every_class_in_a_document_about_the_code_exists(document: Path) -> None:
    members = class_members()
    assert "Workbench" in members
    written = [name.partition(".") for name in class_names(document) if name not in ELSEWHERE]
    assert [f"{owner}.{member}" for owner, _, member in written if owner not in members] == []
    assert [
        f"{owner}.{member}" for owner, _, member in written if member and member not in members[owner]
    ] == []


def test_class_names_are_told_from_other_names(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("`Child.stop`, `_InPlace` and `Host`; `use_tool`, `PATH`, `Retry-After`.", "utf-8")
    assert class_names(document) == ["Child.stop", "_InPlace", "Host"]


def test_the_configurations_in_the_readme_load_without_a_warning(tmp_path: Path) -> None:
    examples = [block for block in blocks(README, "json") if '"toolboxes"' in block]
    assert examples
    for example in examples:
        path = tmp_path / "workbench-config.json"
        path.write_text(example, encoding="utf-8")
        variables = dict.fromkeys(re.findall(r"\$\{([A-Z_][A-Z0-9_]*)", example), "value")
        assert load(path, variables).warnings == ()


def test_the_snippets_for_clients_in_the_readme_start_the_workbench() -> None:
    blocks_for_clients = [block for block in blocks(README, "json") if '"toolboxes"' not in block]
    snippets = [block for block in blocks_for_clients if '"mcpServers"' in block]
    assert snippets
    for entries in (json.loads(snippet)["mcpServers"].values() for snippet in snippets):
        assert [entry["command"].rpartition("/")[2] for entry in entries] == ["mcp-workbench"]
        assert [understood(entry.get("args", [])) for entry in entries] == [True]


def test_every_option_and_every_command_is_documented() -> None:
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    promised = {*options_and_commands(parser())} - {"--help"}
    assert sorted(name for name in promised if name not in text) == []


def test_commands_are_found_in_blocks_and_in_the_text(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "Run `mcp-workbench demo`, or `mcp-workbench-config`.\n"
        "```console\n$ mcp-workbench check --connect | less\nmcp-workbench  # serves\n```\n"
        "```sh\nmcp-workbench schema > my.schema.json\nmcp-workbench check < my.json\n```\n",
        encoding="utf-8",
    )
    assert commands(document, "mcp-workbench") == [
        ["check", "--connect"],
        [],
        ["schema"],
        ["check"],
        ["demo"],
    ]
    assert not understood(["chekc"])


def test_every_cause_of_a_failed_start_has_a_row_in_troubleshooting() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", text, re.MULTILINE) == list(CAUSES)
