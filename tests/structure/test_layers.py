"""Imports point from upper layers to lower ones only."""

from __future__ import annotations

import ast
import builtins

import pytest

from tests.structure.package import PACKAGE, Module, layer_of, modules

LAYERS = (
    "__main__",
    "cli",
    "setup",
    "library",
    "serve",
    "surface",
    "workbench",
    "downstream",
    "protocol",
    "fairness",
    "wire",
    "storage",
    "config",
    "errors",
)
"""From the top down; what is not a layer here is an attribute of the package itself, such as `__version__`.

The wire is below the protocol: it knows nothing of MCP. Storage is below the wire: it only knows files.
"""

ASIDE = {"demo": {"demo", "errors", "protocol"}}
"""Beside the layers, at the top: what only commands use, and the little that it may use itself."""

PUBLIC = "library"
"""The one layer that the package itself may import: it exports the public API."""


def may_import(importer: str, imported: str) -> bool:
    if importer == "":
        return imported == PUBLIC
    if importer in ASIDE:
        return imported in ASIDE[importer]
    if imported in ASIDE:
        return importer == "cli"
    return LAYERS.index(importer) <= LAYERS.index(imported)


def violations(module: Module) -> list[str]:
    parts = {*LAYERS, *ASIDE}
    return [
        f"{module.name}:{line} imports {name}"
        for line, name in module.imports()
        if name.partition(".")[0] == PACKAGE
        and layer_of(name) in parts
        and not may_import(module.layer, layer_of(name))
    ]


def exceptions() -> dict[str, str]:
    """Every exception class outside of `errors`, by its full name, with the layer that it is defined in."""
    bases = {
        name for name, it in vars(builtins).items() if isinstance(it, type) and issubclass(it, Exception)
    }
    bases |= {node.name for module in modules() if module.layer == "errors" for node in classes(module)}
    found: dict[str, str] = {}
    for module in modules():
        if module.layer == "errors":
            continue
        for node in classes(module):
            if any(isinstance(base, ast.Name) and base.id in bases for base in node.bases):
                found[f"{module.name}.{node.name}"] = module.layer
    return found


def classes(module: Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]


def test_every_module_has_its_place() -> None:
    assert {module.layer for module in modules()} - {""} <= {*LAYERS, *ASIDE}


def test_imports_point_down_only() -> None:
    assert [found for module in modules() for found in violations(module)] == []


def downstream_imports(module: Module) -> list[str]:
    """What a module imports of `downstream` when it runs: imports for type checkers do not count."""
    return [
        f"{module.name}:{line} imports {name}"
        for line, name in module.runtime_imports()
        if name.startswith(f"{PACKAGE}.downstream.")
    ]


def test_surface_reaches_servers_only_through_the_workbench() -> None:
    above = [module for module in modules() if module.layer in ("surface", "serve", "library")]
    assert [found for module in above for found in downstream_imports(module)] == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from mcp_workbench.downstream.server import Server", 1),
        ("def later():\n    from mcp_workbench.downstream import server", 1),
        ("if TYPE_CHECKING:\n    from mcp_workbench.downstream.server import Server", 0),
    ],
)
def test_a_way_around_the_workbench_is_found(source: str, count: int) -> None:
    module = Module("mcp_workbench.surface.relay.in_flight", is_package=False, tree=ast.parse(source))
    assert len(downstream_imports(module)) == count


def test_an_error_that_crosses_a_layer_is_defined_in_errors() -> None:
    found = exceptions()
    assert "mcp_workbench.storage.open_directory.UnsafeDirectory" in found
    crossing = [
        f"{module.name}:{line} imports {name}"
        for module in modules()
        for line, name in module.imports()
        if found.get(name, module.layer) != module.layer
    ]
    assert crossing == []


@pytest.mark.parametrize(
    "source",
    [
        "import mcp_workbench.cli",
        "from mcp_workbench.surface.tools import META_TOOLS",
        "from mcp_workbench import serve",
        "from ..workbench import catalogue",
        "def later():\n    from mcp_workbench.demo import config",
        "if TYPE_CHECKING:\n    from .. import surface",
    ],
)
def test_an_import_that_points_up_is_found(source: str) -> None:
    module = Module("mcp_workbench.wire.peer", is_package=False, tree=ast.parse(source))
    assert len(violations(module)) == 1
