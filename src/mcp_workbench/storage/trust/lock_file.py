"""The lock: the file beside the configuration that says what was approved of each server, to be committed.

Owns the name, the format and the mistakes of `workbench-lock.json`. The same lock always has the same bytes:
names and keys are sorted, and there are no times in it. Characters that nobody can see are escaped, so that
a review of a change shows them. Which definitions belong in it is not decided here, and
`setup/lock_changes.py` writes the file.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from mcp_workbench.config import Stamp, stamp_of
from mcp_workbench.config.source.parse import parse
from mcp_workbench.config.source.reading import read
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import ConfigError, LockUnusable, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.config.validation.problems import Place
    from mcp_workbench.errors import StrPath

FILE_NAME: Final = "workbench-lock.json"
VERSION: Final = 1
"""Version of the format. A file of a newer version is refused, because it may mean more than we know."""

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_RESTORE: Final = "Restore the file from version control, or delete it and run `mcp-workbench lock` again."
_EXAMPLE: Final = '{"version": 1, "toolboxes": {}}'
_OUT_OF_REACH: Final = Stamp(())
# What does not print. Below U+0020 `json` writes escapes by itself.
_UNSEEN: Final = (
    "[\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\uf8ff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)


class LockedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool in the lock: its approved definition, the digest of that, and the approved hints."""

    definition: msgspec.Raw
    """The definition as JSON, without annotations."""
    digest: str
    hints: dict[str, bool] = {}


class LockedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server in the lock: which program it is, its approved instructions and its approved tools."""

    identity: str
    """The digest of the command and arguments without values, or of the URL's origin."""
    program: str
    """The command and arguments without values, or the URL's origin, for people to read."""
    instructions: str = ""
    tools: dict[str, LockedTool] = {}


Lock: TypeAlias = "dict[Origin, LockedServer]"
"""What was approved of each server, by the names of its toolbox and itself."""


def lock_path(config_path: StrPath) -> str:
    """Return the path of the lock of a configuration: beside the file itself, not beside a link to it."""
    return os.path.join(os.path.dirname(os.path.realpath(config_path)), FILE_NAME)


def lock_stamp(path: str) -> Stamp | None:
    """Return the state of the lock's file, by which a change is noticed; None if there is no file.

    A link that leads to no file has a state too, and so has a file that cannot be looked at: a lock that is
    out of reach is not taken for none.
    """
    with suppress(OSError):
        return stamp_of(os.stat(path))
    try:
        return stamp_of(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return _OUT_OF_REACH


def read_lock(path: str, digest_of: Callable[[msgspec.Raw], str]) -> Lock | None:
    """Return the lock in a file; None if there is no file. Raises LockUnusable with all mistakes in it.

    `digest_of` returns the digest of a definition: a definition that does not fit its digest was edited.
    """
    if lock_stamp(path) is None:
        return None
    try:
        data, _ = read(path, usual_name=FILE_NAME, explain_missing=_explain_missing)
    except ConfigError as error:
        raise LockUnusable(path, error.problems) from None
    return decode_lock(path, data, digest_of)


def decode_lock(path: str, data: bytes, digest_of: Callable[[msgspec.Raw], str]) -> Lock:
    """Return the lock in the content of a file. Raises LockUnusable with all mistakes in it."""
    problems = Problems()
    try:
        tree = parse(path, data, problems, _EXAMPLE)
        lock = _Reader(problems, digest_of).read(tree)
    except ConfigError as error:
        raise LockUnusable(path, [_conflict(data) or problem for problem in error.problems]) from None
    except RecursionError:
        raise LockUnusable(path, [Problem("", "the JSON is nested too deeply", _RESTORE)]) from None
    if problems.found:
        from mcp_workbench.config.source.positions import Positions  # noqa: PLC0415 - most files have no problem

        problems.find_lines(path, Positions(data.decode("utf-8-sig")).line_of)
        raise LockUnusable(path, problems.found)
    return lock


def encode_lock(lock: Mapping[Origin, LockedServer]) -> bytes:
    """Return the content of the file for a lock. Raises ValueError for a definition that is not JSON."""
    toolboxes: dict[str, dict[str, object]] = {}
    for (toolbox, server), locked in sorted(lock.items()):
        toolboxes.setdefault(toolbox, {})[server] = _server_tree(locked)
    text = json.dumps({"version": VERSION, "toolboxes": toolboxes}, ensure_ascii=False, indent=2)
    return f"{re.sub(_UNSEEN, _escape, text)}\n".encode()


def _server_tree(server: LockedServer) -> dict[str, object]:
    tree: dict[str, object] = {"identity": {"program": server.program, "digest": server.identity}}
    if server.instructions:
        tree["instructions"] = server.instructions
    tree["tools"] = {
        name: {
            "definition": _sorted(_loads(bytes(tool.definition))),
            "hints": _sorted(tool.hints),
            "digest": tool.digest,
        }
        for name, tool in sorted(server.tools.items())
    }
    return tree


def _refuse_number(text: str) -> float:
    raise ValueError(f"a number that JSON cannot hold: {text}")


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) < float("inf") else _refuse_number(text)


_loads = partial(json.loads, parse_float=_finite, parse_constant=_refuse_number)


def _sorted(value: object) -> object:
    """Return the value with the keys of all objects in it sorted. Lists keep their order."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def _explain_missing() -> Problem:
    return Problem("", "this is a symbolic link that leads to no file", "Delete or correct the link.")


def _conflict(data: bytes) -> Problem | None:
    """Return the problem if the file is the result of a merge that nobody finished, as Git leaves it."""
    for number, line in enumerate(data.splitlines(), 1):
        if line.startswith((b"<<<<<<< ", b">>>>>>> ")):
            remedy = "Take the file of one side, and run `mcp-workbench lock --update`."
            return Problem(f"line {number}", "the file has a merge conflict", remedy, number)
    return None


class _Reader:
    """Makes a lock of the data in the file, and reports every mistake on the way."""

    def __init__(self, problems: Problems, digest_of: Callable[[msgspec.Raw], str]) -> None:
        self._problems = problems
        self._digest_of = digest_of

    def read(self, tree: dict[str, object]) -> Lock:
        version = tree.get("version")
        if type(version) is not int or version < VERSION:
            self._problems.add(("version",), f"this should be {VERSION}", _RESTORE)
            return {}
        if version > VERSION:
            what = f"the file has version {version} of the format, and this program knows version {VERSION}"
            self._problems.add(("version",), what, "Update MCP Workbench.")
            return {}
        self._refuse_others(tree, (), ("version", "toolboxes"))
        lock: Lock = {}
        for toolbox, servers in self._object(tree.get("toolboxes"), ("toolboxes",)).items():
            place = ("toolboxes", toolbox)
            for server, entry in self._object(servers, place).items():
                lock[toolbox, server] = self._server(entry, (*place, server))
        return lock

    def _server(self, entry: object, place: Place) -> LockedServer:
        server = self._object(entry, place)
        self._refuse_others(server, place, ("identity", "instructions", "tools"))
        identity = self._object(server.get("identity"), (*place, "identity"))
        self._refuse_others(identity, (*place, "identity"), ("program", "digest"))
        tools = self._object(server.get("tools"), (*place, "tools"))
        return LockedServer(
            identity=self._digest(identity.get("digest"), (*place, "identity", "digest")),
            program=self._text(identity.get("program"), (*place, "identity", "program")),
            instructions=self._text(server.get("instructions", ""), (*place, "instructions")),
            tools={name: self._tool(name, tool, (*place, "tools", name)) for name, tool in tools.items()},
        )

    def _tool(self, name: str, entry: object, place: Place) -> LockedTool:
        tool = self._object(entry, place)
        self._refuse_others(tool, place, ("definition", "hints", "digest"))
        definition = self._object(tool.get("definition"), (*place, "definition"))
        # With ASCII only: a lone surrogate of a server has no UTF-8.
        raw = msgspec.Raw(json.dumps(definition).encode())
        digest = self._digest(tool.get("digest"), (*place, "digest"))
        if definition and definition.get("name", name) != name:
            what = f"this should be the name of the tool, {json.dumps(name)}"
            self._problems.add((*place, "definition", "name"), what, _RESTORE)
        elif definition and digest and self._digest_of(raw) != digest:
            what = "the digest does not fit the definition, so one of them was edited by hand"
            self._problems.add((*place, "digest"), what, _RESTORE)
        hints = self._object(tool.get("hints"), (*place, "hints"))
        for hint, value in hints.items():
            if not isinstance(value, bool):
                self._problems.add((*place, "hints", hint), "this should be true or false", _RESTORE)
        return LockedTool(definition=raw, digest=digest, hints=cast("dict[str, bool]", hints))

    def _object(self, value: object, place: Place) -> dict[str, object]:
        if isinstance(value, dict):
            return value
        self._problems.add(place, "this should be an object, { … }", _RESTORE)
        return {}

    def _text(self, value: object, place: Place) -> str:
        if isinstance(value, str):
            return value
        self._problems.add(place, "this should be a string", _RESTORE)
        return ""

    def _digest(self, value: object, place: Place) -> str:
        if isinstance(value, str) and _DIGEST.fullmatch(value):
            return value
        self._problems.add(place, "this should be sha256: and 64 hexadecimal digits", _RESTORE)
        return ""

    def _refuse_others(self, tree: dict[str, object], place: Place, known: tuple[str, ...]) -> None:
        for key in [key for key in tree if key not in known]:
            self._problems.add((*place, key), "no key of the lock has this name", _RESTORE)
