"""What a package offers is declared in its `__all__`; what begins with an underscore stays at home."""

from __future__ import annotations

import ast
import importlib

import pytest

from tests.structure.package import PACKAGE, Module, modules

OFFERING = [module.name for module in modules() if module.is_package and len(module.tree.body) > 1]
"""Packages whose `__init__` holds more than its docstring."""


@pytest.mark.parametrize("name", OFFERING)
def test_a_package_declares_the_names_that_it_offers_in_order(name: str) -> None:
    package = importlib.import_module(name)
    declared = list(package.__all__)
    assert declared == sorted(set(declared))
    assert [public for public in declared if not hasattr(package, public)] == []


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_module_says_what_it_owns(module: Module) -> None:
    assert ast.get_docstring(module.tree)


def test_no_module_imports_a_private_name_of_another() -> None:
    taken = [
        f"{module.name}:{line} imports {name}"
        for module in modules()
        for line, name in module.imports()
        if name.startswith(f"{PACKAGE}.") and name.rpartition(".")[2].startswith("_")
    ]
    assert [line for line in taken if not line.endswith(".__version__")] == []
