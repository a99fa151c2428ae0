"""The scanner works offline: nothing that it runs imports what could reach the network."""

from __future__ import annotations

import ast

import pytest

from tests.structure.package import PACKAGE, Module, modules

SCANNING = f"{PACKAGE}.workbench.trust.scanning"
NETWORK = (
    *("asyncio", "ftplib", "http", "httpx2", "imaplib", "poplib", "select", "selectors", "smtplib", "socket"),
    *("socketserver", "ssl", "subprocess", "telnetlib", "urllib.request", "uvloop", "webbrowser", "xmlrpc"),
)
"""Modules that reach the network, or programs that could."""


def is_below(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def reached(names: set[str], known: dict[str, Module]) -> set[str]:
    """The named modules of ours, and those that they import when they run, and so on."""
    found: set[str] = set()
    while names:
        found |= names
        imported = {imported for name in names for _, imported in known[name].runtime_imports()}
        imported |= {name.rpartition(".")[0] for name in imported}
        names = (imported & known.keys()) - found - {PACKAGE}
    return found


def network_imports(module: Module) -> list[str]:
    return [
        f"{module.name}:{line} imports {name}"
        for line, name in module.runtime_imports()
        if any(is_below(name, package) for package in NETWORK)
    ]


def test_nothing_that_the_scanner_runs_imports_the_network() -> None:
    known = {module.name: module for module in modules()}
    below = {name for name in known if is_below(name, SCANNING)}
    assert f"{SCANNING}.scanner" in below
    found = reached(below, known)
    assert f"{PACKAGE}.workbench.trust.digests" in found
    assert [words for name in sorted(found) for words in network_imports(known[name])] == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import socket", 1),
        ("import http.client", 1),
        ("def later():\n    from urllib.request import urlopen", 1),
        ("from urllib import request", 1),
        ("from urllib.parse import urlsplit", 0),
        ("if TYPE_CHECKING:\n    from socket import socket", 0),
    ],
)
def test_an_import_of_the_network_is_found(source: str, count: int) -> None:
    module = Module(f"{SCANNING}.words", is_package=False, tree=ast.parse(source))
    assert len(network_imports(module)) == count


def test_an_import_on_the_way_is_followed() -> None:
    sources = {
        f"{SCANNING}.words": "from mcp_workbench.text import cleaning\nimport mcp_workbench.names",
        f"{PACKAGE}.text.cleaning": "def later():\n    from mcp_workbench.remote import look_up",
        f"{PACKAGE}.names": "",
        f"{PACKAGE}.remote": "import socket",
        f"{PACKAGE}.other": "",
    }
    known = {name: Module(name, is_package=False, tree=ast.parse(text)) for name, text in sources.items()}
    assert reached({f"{SCANNING}.words"}, known) == sources.keys() - {f"{PACKAGE}.other"}
