"""What a package offers is declared in its `__all__`; what begins with an underscore stays at home."""

from __future__ import annotations

import ast
import importlib

from tests.structure.package import PACKAGE, modules


def test_a_package_declares_the_names_that_it_offers_in_order() -> None:
    # Those whose `__init__` holds more than its docstring. Not a test each: collecting them would parse all
    # modules in every process of a run.
    offering = [module.name for module in modules() if module.is_package and len(module.tree.body) > 1]
    assert offering
    for package in map(importlib.import_module, offering):
        declared = list(package.__all__)
        assert declared == sorted(set(declared)), package.__name__
        assert [public for public in declared if not hasattr(package, public)] == [], package.__name__


def test_every_module_says_what_it_owns() -> None:
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []


def test_no_module_imports_a_private_name_of_another() -> None:
    taken = [
        f"{module.name}:{line} imports {name}"
        for module in modules()
        for line, name in module.imports()
        if name.startswith(f"{PACKAGE}.") and name.rpartition(".")[2].startswith("_")
    ]
    assert [line for line in taken if not line.endswith(".__version__")] == []
