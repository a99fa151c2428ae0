"""Docstrings stand alone, and names have one meaning and say their unit."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.structure.docstrings import (
    Constant,
    constants,
    docstrings,
    is_anaphoric,
    is_riddle,
    is_short,
    lacks_its_unit,
)
from tests.structure.package import Module, modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_OF_ONE_NAME = 3
MOST_IN_A_FOLDER = 15

SOURCE = '''"""A module."""
LIMIT_SECONDS: Final = 2 * 30.0
"""Seconds for an answer."""
FIRST, LAST = 1, -2
"""A pair."""
WIDTHS = (80, 60)
NAME = "x"
IS_ON = True
class Server:
    """A server."""
    state: str
    """Its state."""
    async def stop(self) -> None:
        """Ends it."""
        self.since = 1
        """When it began."""
        print("""no docstring""")
        """Neither is this."""
'''


def found(breaks: Callable[[str], bool]) -> list[str]:
    return [
        f"{module.name}:{docstring.line} {docstring.owner}: {docstring.text.strip()}"
        for module in modules()
        for docstring in docstrings(module.tree)
        if breaks(docstring.text)
    ]


def twice(names: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that more than one place has, each with its places."""
    places: dict[str, list[str]] = {}
    for name, place in names:
        places.setdefault(name, []).append(place)
    return {name: where for name, where in places.items() if len(where) > 1}


def public_classes(module: Module) -> list[str]:
    classes = (node.name for node in module.tree.body if isinstance(node, ast.ClassDef))
    return [name for name in classes if not name.startswith("_")]


def crowded(names: Iterable[str], most: int) -> dict[str, int]:
    return {name: count for name, count in Counter(names).items() if count > most}


def test_every_docstring_is_long_enough_to_say_something() -> None:
    assert found(is_short) == []


def test_no_docstring_begins_with_a_word_that_refers_to_another() -> None:
    assert found(is_anaphoric) == []


def test_no_docstring_is_a_riddle() -> None:
    assert found(is_riddle) == []


def test_a_public_class_name_has_one_meaning() -> None:
    assert twice((name, module.name) for module in modules() for name in public_classes(module)) == {}


def test_few_modules_have_the_same_name() -> None:
    names = (module.name.rpartition(".")[2] for module in modules() if not module.is_package)
    assert crowded(names, MOST_OF_ONE_NAME) == {}


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    folders = (module.name.rpartition(".")[0] for module in modules() if not module.is_package)
    assert crowded(folders, MOST_IN_A_FOLDER) == {}


def test_a_number_says_its_unit_in_its_name() -> None:
    assert [
        f"{module.name}:{constant.line} {constant.name}: {constant.text.strip()}"
        for module in modules()
        for constant in constants(module.tree)
        if lacks_its_unit(constant)
    ] == []


def test_docstrings_are_found_wherever_they_stand() -> None:
    assert [(it.owner, it.line, it.text) for it in docstrings(ast.parse(SOURCE))] == [
        ("module", 1, "A module."),
        ("LIMIT_SECONDS", 3, "Seconds for an answer."),
        ("FIRST, LAST", 5, "A pair."),
        ("Server", 10, "A server."),
        ("state", 12, "Its state."),
        ("stop", 14, "Ends it."),
        ("since", 16, "When it began."),
    ]


def test_constants_are_found_with_what_is_said_about_them() -> None:
    assert list(constants(ast.parse(SOURCE))) == [
        Constant("LIMIT_SECONDS", 2, "Seconds for an answer."),
        Constant("FIRST", 4, "A pair."),
        Constant("LAST", 4, "A pair."),
    ]


def test_a_short_docstring_is_found() -> None:
    assert is_short("  The end of the line.  ")
    assert not is_short("The last line of a server.")


@pytest.mark.parametrize(
    "text",
    ["It ends here, and nothing follows.", "Of one client, by name.", "One of the servers.", "The same."],
)
def test_a_docstring_that_begins_with_a_reference_is_found(text: str) -> None:
    assert is_anaphoric(text)


@pytest.mark.parametrize(
    "text", ["Items of a list.", "Offers a tool.", "The sameness of two. It is cached.", "Notify clients."]
)
def test_a_docstring_that_begins_with_its_subject_is_not(text: str) -> None:
    assert not is_anaphoric(text)


@pytest.mark.parametrize(
    "text",
    ["One of them.", "A server and its tools. The same.", "Not any more, at least.", "It does.", "Fine."],
)
def test_a_riddle_is_found(text: str) -> None:
    assert is_riddle(text)


@pytest.mark.parametrize(
    "text",
    ["Closes one of them.", "The same result for both.", "Defines what it does.", "Returns it as JSON."],
)
def test_a_sentence_that_means_something_is_not_a_riddle(text: str) -> None:
    assert not is_riddle(text)


def test_a_name_with_two_meanings_is_found() -> None:
    assert twice([("Peer", "wire"), ("Link", "wire"), ("Peer", "serve")]) == {"Peer": ["wire", "serve"]}
    module = Module("wire", is_package=False, tree=ast.parse("class A: ...\nclass _B: ...\nC = 1"))
    assert public_classes(module) == ["A"]


def test_a_crowd_is_found() -> None:
    assert crowded(["wire", "wire", "serve"], 1) == {"wire": 2}
    assert crowded(["wire", "wire", "serve"], 2) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("GRACE", "Seconds for a server to end."),
        ("WIDTH", "The largest number of characters in a line."),
        ("DELAY", "Time until the next try, in milliseconds."),
        ("LIMIT_SECONDS", "Bytes of a message."),
        ("SOON", "Calls that are sent at once."),
        ("LIMIT", ""),
    ],
)
def test_a_constant_without_its_unit_is_found(name: str, text: str) -> None:
    assert lacks_its_unit(Constant(name, 1, text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("GRACE_SECONDS", "Seconds for a server to end."),
        ("RETRY_MS", "Milliseconds after which a client tries again."),
        ("MAX_DIGITS", "Digits of a time in milliseconds."),
        ("MAX_CALLS", "Calls in flight. Each takes a few bytes."),
        ("LATEST_TIME", "The year 10000, in seconds since 1970."),
        ("MAX_CALLS", ""),
    ],
)
def test_a_constant_with_its_unit_is_not(name: str, text: str) -> None:
    assert not lacks_its_unit(Constant(name, 1, text))
