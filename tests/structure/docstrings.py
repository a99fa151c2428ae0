"""The docstrings and constants of a module, and the rules that they have to keep."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_CHARACTERS = 25

ANAPHOR = re.compile(
    r"(?:It|Its|They|Them|Their|This|That|These|Those|One of|Of|And|But|Or|Then|Not|The same|Same|Such|Also"
    r"|Likewise)\b"
)
"""Words at the beginning that refer to something outside of the docstring."""

RIDDLE = re.compile(
    r"\bOne of them\b|\bThe same\.|\bNot any more\b"
    r"|(?:^|[.!?:]\s+)(?:As JSON|Fine|It does|Likewise|That one|Then not|This one|All of them)[.,]"
)
"""Sentences that say nothing without their neighbours."""

UNITS = {
    "seconds": ("SECONDS",),
    "milliseconds": ("MILLISECONDS", "MS"),
    "minutes": ("MINUTES",),
    "hours": ("HOURS",),
    "days": ("DAYS",),
    "bytes": ("BYTES",),
    "characters": ("CHARACTERS", "POINTS"),
    "tokens": ("TOKENS",),
}
"""The units that a docstring may name, and how the name of the constant says them."""

UNIT = "|".join(UNITS)
MEASURED = re.compile(
    rf"(?:\w+ ){{0,4}}?(?P<first>{UNIT})\b|.*?\bin (?P<later>{UNIT})\b(?! since)", re.IGNORECASE | re.DOTALL
)
"""The unit of a value: among the first words ("Seconds that …", "The number of bytes …"), or after "in"."""

VAGUE = {"LEAST", "LIMIT", "LONGEST", "MOST", "PATIENCE", "SMALL", "SOON"}
"""Whole names that say neither what is counted nor in which unit."""


@dataclass(frozen=True)
class Docstring:
    """A docstring, or the string after an attribute or a constant."""

    owner: str
    line: int
    text: str


@dataclass(frozen=True)
class Constant:
    """A number at the top of a module, and the string after it."""

    name: str
    line: int
    text: str


def docstrings(tree: ast.Module) -> Iterator[Docstring]:
    """All docstrings of a module: its own, those of classes and functions, and those after assignments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            owner = "module" if isinstance(node, ast.Module) else node.name
            if node.body and (text := _string(node.body[0])) is not None:
                yield Docstring(owner, node.body[0].lineno, text)
        for block in _blocks(node):
            for statement, following in pairwise(block):
                names = list(_targets(statement))
                if names and (text := _string(following)) is not None:
                    yield Docstring(", ".join(names), following.lineno, text)


def constants(tree: ast.Module) -> Iterator[Constant]:
    """The numbers at the top of a module, each with the string after its assignment, if there is one."""
    for statement, following in pairwise([*tree.body, ast.Pass()]):
        names = list(_targets(statement))
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _are_numbers(statement.value, len(names)):
            text = _string(following) or ""
            yield from (Constant(name, statement.lineno, text) for name in names if name.isupper())


def is_short(text: str) -> bool:
    return len(text.strip()) < LEAST_CHARACTERS


def is_anaphoric(text: str) -> bool:
    return ANAPHOR.match(text.strip()) is not None


def is_riddle(text: str) -> bool:
    return RIDDLE.search(text.strip()) is not None


def lacks_its_unit(constant: Constant) -> bool:
    """Whether a constant's name is vague, or leaves out the unit that its docstring names.

    A name that says what else is counted is enough: `MAX_DIGITS` for "Digits of a time in milliseconds".
    """
    if constant.name in VAGUE:
        return True
    text = constant.text.strip()
    measured = MEASURED.match(text)
    if measured is None or text.split()[0].strip(".,:").upper() in constant.name.split("_"):
        return False
    unit = (measured["first"] or measured["later"]).lower()
    return not set(UNITS[unit]) & set(constant.name.split("_"))


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block


def _string(node: ast.stmt) -> str | None:
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return node.value.value
    return None


def _targets(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    for target in targets:
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(one, ast.Name | ast.Attribute):
                yield one.id if isinstance(one, ast.Name) else one.attr


def _are_numbers(node: ast.expr | None, count: int) -> bool:
    """Whether a value is one number for each name: a tuple for one name is a table, not a number."""
    if count > 1 and isinstance(node, ast.Tuple):
        return all(map(_is_number, node.elts))
    return _is_number(node)


def _is_number(node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and (_is_number(right) or isinstance(right, ast.Name))
    return False
