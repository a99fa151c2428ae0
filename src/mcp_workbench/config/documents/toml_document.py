"""TOML, edited in place."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from mcp_workbench.config.documents.document import Document
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path, Step


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


class TomlDocument(Document):
    """A TOML file, edited in place."""

    def line_of(self, path: Path) -> int | None:
        return None

    def _parse(self) -> dict[str, object]:
        try:
            return _plain(tomllib.loads(self._text))
        except tomllib.TOMLDecodeError as error:
            raise DocumentError(f"invalid TOML: {error}") from None

    def _edited(self, path: Path) -> Any:
        import tomlkit

        document: Any = tomlkit.parse(self._text.replace("\r\n", "\n"))
        node = document
        for step in path:
            node = node[step]
        return document, node

    def _write(self, document: Any) -> None:
        import tomlkit

        self._text = tomlkit.dumps(document).replace("\n", self._newline)

    def _add(self, parent: Path, step: Step, value: object) -> None:
        import tomlkit

        document, node = self._edited(parent)
        if isinstance(step, int):
            node.append(value)
        else:
            node[step] = tomlkit.item(value)
        self._write(document)

    def _replace(self, path: Path, value: object) -> None:
        document, node = self._edited(path[:-1])
        node[path[-1]] = value
        self._write(document)

    def _delete(self, path: Path) -> None:
        document, node = self._edited(path[:-1])
        del node[path[-1]]
        self._write(document)
