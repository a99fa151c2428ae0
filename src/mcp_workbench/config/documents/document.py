"""A file that is edited in place: the edits that are the same for every format.

Owns the bytes around the text (byte order mark, encoding), which small edits a change consists of, and the
check that the result holds what was meant. How a format writes an edit is in its own module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from mcp_workbench.config.documents.plain import (
    Path,
    Step,
    get,
    has,
    is_same,
    plain,
    reach,
    with_value,
    without,
)
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = "\ufeff"
_NOT_IN_PLACE = "the file cannot be edited in place without changing something else in it"


class Document(ABC):
    """A JSON, TOML or YAML file that is edited in place: only the lines that a change concerns differ.

    After each edit the text is parsed again. If it does not hold what the edit meant, the edit is undone and
    DocumentError raised. A path consists of keys and of indexes of lists, from the top of the file.
    """

    data: dict[str, object]
    """The present content as plain data. Changes to it have no effect on the file."""

    def __init__(self, source: bytes) -> None:
        text = _decoded(source)
        self._bom = _BOM if text.startswith(_BOM) else ""
        self._text = text.removeprefix(_BOM)
        breaks = self._text.partition("\n")
        self._newline = "\r\n" if breaks[1] and breaks[0].endswith("\r") else "\n"
        self._parsed: str | None = None
        self._update()

    def set(self, path: Path, value: object) -> None:
        """Add or replace the value at a path. New members become the last; missing parents are created."""
        if not path:
            raise DocumentError("the top of a file cannot be replaced")
        with self._edit():
            value = plain(value)
            expected = with_value(self.data, path, value)
            self._put(path, value)
            self._check(expected)

    def append(self, path: Path, value: object) -> None:
        """Add a value to the list at a path, which is created if it is missing."""
        with self._edit():
            value = plain(value)
            present = get(self.data, path) if has(self.data, path) else None
            if not isinstance(present, list | None):
                raise DocumentError("a value can be appended to a list only")
            expected = with_value(self.data, path, [*(present or []), value])
            if present is None:
                self._put(path, [value])
            else:
                self._add(path, len(present), value)
            self._check(expected)

    def remove(self, path: Path) -> None:
        """Remove the value at a path, and the comments that belong to it. Raises KeyError if it is absent."""
        with self._edit():
            expected = without(self.data, path) if path else None
            if expected is None:
                raise KeyError(path)
            self._delete(path)
            self._check(expected)

    def move(self, path: Path, new_path: Path) -> None:
        """Move the value at a path to a new one, where nothing may be. Raises KeyError if it is absent."""
        with self._edit():
            value = get(self.data, path)
            if not path or new_path[: len(path)] == path:
                raise DocumentError("a value cannot be moved into itself")
            if has(self.data, new_path):
                raise DocumentError("there is a value in the new place already")
            expected = without(with_value(self.data, new_path, value), path)
            self._move(path, new_path)
            self._check(expected)

    @abstractmethod
    def line_of(self, path: Path) -> int | None:
        """Return the line of the key or the item at a path, the first line being 1; None if it is absent."""

    def encode(self) -> bytes:
        """Return the content of the file: the bytes that were read, if nothing was changed."""
        return (self._bom + self._text).encode()

    @abstractmethod
    def _parse(self) -> dict[str, object]:
        """Read the text, remember positions in it, and return its content. Raises DocumentError."""

    @abstractmethod
    def _add(self, parent: Path, step: Step, value: object) -> None:
        """Change the text: add a member to the object or the list at a path, as its last."""

    @abstractmethod
    def _replace(self, path: Path, value: object) -> None:
        """Change the text: put a value in the place of one that exists."""

    @abstractmethod
    def _delete(self, path: Path) -> None:
        """Change the text: remove a value that exists."""

    def _move(self, path: Path, new_path: Path) -> None:
        """Change the text: move a value that exists to a place where none is."""
        self._put(new_path, get(self.data, path))
        self._delete(path)

    def _put(self, path: Path, value: object) -> None:
        """Add or replace a value by edits that are as small as they can be."""
        count = reach(self.data, path)
        present = get(self.data, path[:count])
        if count == len(path):
            self._turn_into(path, present, value)
            return
        is_null = present is None
        for step in reversed(path[count if is_null else count + 1 :]):
            value = {step: value}
        if is_null:
            self._replace(path[:count], value)
        else:
            self._add(path[:count], path[count], value)
        self._update()

    def _turn_into(self, path: Path, present: object, value: object) -> None:
        """Change one value into another. Objects are changed member by member, to keep their comments."""
        if is_same(present, value):
            return
        if not (isinstance(present, dict) and isinstance(value, dict) and present and value):
            self._replace(path, value)
            self._update()
            return
        for key, member in value.items():
            self._put((*path, key), member)
        for key in [key for key in present if key not in value]:
            self._delete((*path, key))
            self._update()

    def _update(self) -> None:
        """Parse the text again if it has changed."""
        if self._text is self._parsed:
            return
        try:
            self.data = self._parse()
        except RecursionError:
            raise DocumentError("the file is nested too deeply") from None
        except DocumentError as error:
            if self._parsed is None or error.line is None:
                raise
            # The position is one in a text that nobody else has seen.
            raise DocumentError(_NOT_IN_PLACE) from None
        self._parsed = self._text

    @contextmanager
    def _edit(self) -> Iterator[None]:
        """Undo the edit if it fails."""
        text, data = self._text, self.data
        try:
            yield
        except BaseException as error:
            self._text = text
            self._update()
            self.data = data
            if isinstance(error, RecursionError):
                raise DocumentError("the value is nested too deeply") from None
            raise

    def _check(self, expected: object) -> None:
        self._update()
        try:
            self._text.encode()
        except UnicodeEncodeError:
            raise DocumentError("the value has a character that the file cannot hold") from None
        if not self._is_as_expected(cast("dict[str, object]", expected)):
            raise DocumentError(_NOT_IN_PLACE)

    def _is_as_expected(self, expected: dict[str, object]) -> bool:
        return is_same(self.data, expected)


def _decoded(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        is_wide = source.startswith((b"\xff\xfe", b"\xfe\xff"))
        reason = "the file is UTF-16, not UTF-8" if is_wide else "the file is not UTF-8"
        raise DocumentError(reason, source.count(b"\n", 0, error.start) + 1) from None
