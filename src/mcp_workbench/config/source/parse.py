"""Parses the bytes of the file, JSON with comments and trailing commas, into plain data.

Owns the encoding, hints for common syntax errors, and keys that are written twice. Does not know what the
keys mean.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Place, Problems

EXAMPLE = """\
{
  "toolboxes": {
    "dev": {
      "description": "What these tools are for",
      "mcpServers": {
        "my-server": { "command": "npx", "args": ["-y", "some-mcp-server"] }
      }
    }
  }
}"""

_WRONG_QUOTES = ("'", "\u2018", "\u2019", "\u201c", "\u201d")

_DECODER_HINTS = {
    "Expecting ','": (
        "a comma is missing before this",
        "Add the comma, or a closing } or ] if one is missing.",
    ),
    "Expecting ':'": ("a colon is missing after the key", 'Write "key": value'),
    "Expecting property name": ("a key is expected here", 'Write keys in double quotes: "key": value'),
    "Expecting value": (
        "a value is expected here",
        "Write a string in double quotes, a number, true, false, null, [ … ] or { … }.",
    ),
    "Extra data": ("something follows the end of the file's object", "Keep one object: delete the rest."),
    "Invalid \\": ("a backslash that escapes nothing", r"Write each backslash twice: C:\\Users\\me"),
    "Invalid control character": (
        "a line break or a tab inside a string",
        r"Write \n or \t, or close the string's double quotes.",
    ),
    "Unterminated string": ("a string without its closing double quotes", 'Add the missing ".'),
}

_Pairs = list[tuple[str, object]]
_Repeated = dict[int, tuple[dict[str, object], _Pairs]]


def parse(path: str, data: bytes, problems: Problems, example: str = EXAMPLE) -> dict[str, object]:
    """Return the object in the file. Keys that are written twice are reported.

    Raises ConfigError if the file cannot be parsed.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(path, [_encoding_problem(data, error.start)]) from None
    if not text.strip():
        raise ConfigError(path, [Problem("", "the file is empty", paste_this(example))])
    repeated: _Repeated = {}
    try:
        tree = _decode(text, repeated)
    except json.JSONDecodeError as error:
        raise ConfigError(path, [_syntax_problem(text, error)]) from None
    except ValueError:
        what = "the file holds NaN, Infinity or a number of thousands of digits"
        raise ConfigError(path, [Problem("", what, "Write an ordinary number.")]) from None
    if not isinstance(tree, dict):
        raise ConfigError(path, [Problem("", "the file should hold one JSON object", paste_this(example))])
    if repeated:
        _report_repeated(tree, (), repeated, problems)
    return tree


def _decode(text: str, repeated: _Repeated) -> object:
    """Return the decoded text, and collect the objects with repeated keys. Raises ValueError."""

    def collect(pairs: _Pairs) -> dict[str, object]:
        result = dict(pairs)
        if len(result) != len(pairs):
            # The object is kept alive: the id of one that is gone may be given to another.
            repeated[id(result)] = (result, pairs)
        return result

    decode = partial(json.loads, object_pairs_hook=collect, parse_constant=_refuse_constant)
    try:
        return decode(text)
    except json.JSONDecodeError:
        from mcp_workbench.config.source.json_comments import without_comments  # noqa: PLC0415 - few files have any

        repeated.clear()
        return decode(without_comments(text))


def paste_this(example: str = EXAMPLE) -> str:
    """Return a whole small file, indented to stand under a problem."""
    return "Start from this:\n" + "\n".join(f"      {line}" for line in example.splitlines())


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _encoding_problem(data: bytes, position: int) -> Problem:
    line = data.count(b"\n", 0, position) + 1
    encoding = "UTF-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "not UTF-8"
    return Problem(f"line {line}", f"the file is {encoding}", "Save it with the encoding UTF-8.", line)


def _report_repeated(node: object, place: Place, repeated: _Repeated, problems: Problems) -> None:
    if isinstance(node, list):
        for index, item in enumerate(node):
            _report_repeated(item, (*place, index), repeated, problems)
    elif isinstance(node, dict):
        _, pairs = repeated.get(id(node), (node, list(node.items())))
        counts: dict[str, int] = {}
        for key, value in pairs:
            counts[key] = counts.get(key, 0) + 1
            _report_repeated(value, (*place, key), repeated, problems)
        for key, count in counts.items():
            if count > 1:
                what = f"this key is written {count} times in the same object, and only one can count"
                problems.add((*place, key), what, "Delete or rename the others.")


def _syntax_problem(text: str, error: json.JSONDecodeError) -> Problem:
    position = error.pos
    before = text[:position].rstrip()
    if text[position : position + 1] in ("]", "}") and before.endswith(","):
        position = len(before) - 1
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    what, remedy = syntax_hint(text[position:], error.msg)
    return Problem(f"line {line}, column {column}", f"invalid JSON: {what}", remedy, line)


def syntax_hint(rest: str, message: str) -> tuple[str, str]:
    """Return the problem and the remedy for a syntax error, by the text there or else by the message."""
    if rest.startswith("#"):
        return "a comment of another language", "Begin the comment with // instead of #."
    if rest.startswith("/*"):
        return "a comment without its end", "Close the comment with */."
    if rest.startswith(",") and rest[1:].lstrip().startswith(("]", "}", ",")):
        return "a comma without a value before or after it", "Delete the comma."
    if not rest.strip():
        return "the file ends too early", "Add the missing closing } or ], or restore the end of the file."
    if rest.startswith(_WRONG_QUOTES):
        return "the wrong kind of quotes", 'Write strings and keys in straight double quotes: "like this"'
    if rest.startswith(("True", "False", "None")):
        return "a word that JSON does not know", "Write true, false or null."
    hints = (hint for start, hint in _DECODER_HINTS.items() if message.startswith(start))
    return next(hints, (message, "Correct the file at this place."))
