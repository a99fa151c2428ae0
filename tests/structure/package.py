"""The source of the package as the structure tests read it: parsed, never imported."""

from __future__ import annotations

import ast
import gc
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = "mcp_workbench"
SOURCE = ROOT / "src" / PACKAGE


@dataclass(frozen=True)
class Module:
    name: str
    """Dotted, from the package on: `mcp_workbench.wire.peer`."""
    is_package: bool
    tree: ast.Module

    @property
    def layer(self) -> str:
        """The part of the package that it belongs to: `wire`; empty for the package itself."""
        return layer_of(self.name)

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and full name of all that it imports, in functions and for type checkers too."""
        yield from self._imports(self.tree)

    def runtime_imports(self) -> Iterator[tuple[int, str]]:
        """Line and full name of all that it imports when it runs, in functions too."""
        for_types = {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for statement in node.body
            for line, _ in self._imports(statement)
        }
        yield from ((line, name) for line, name in self.imports() if line not in for_types)

    def _imports(self, tree: ast.AST) -> Iterator[tuple[int, str]]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(node)
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        steps = node.level - self.is_package
        home = self.name.split(".")[: -steps or None]
        return ".".join([*home, node.module] if node.module else home)


def layer_of(name: str) -> str:
    return name.partition(".")[2].partition(".")[0]


@cache
def modules() -> list[Module]:
    """All modules of the package, parsed once for all tests of a process."""
    parsed = [_parse(path) for path in sorted(SOURCE.rglob("*.py"))]
    # They stay until the end, and a million nodes would make every later garbage collection slow.
    gc.freeze()
    return parsed


def _parse(path: Path) -> Module:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    return Module(name, is_package, ast.parse(path.read_text(encoding="utf-8")))
