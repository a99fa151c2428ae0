"""YAML, edited in place."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from mcp_workbench.config.documents.document import Document
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path, Step


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)


class YamlDocument(Document):
    """A YAML file, edited in place."""

    def line_of(self, path: Path) -> int | None:
        return None

    def _yaml(self) -> Any:
        from ruamel.yaml import YAML

        yaml = YAML()
        yaml.preserve_quotes = True
        yaml.width = 10**6
        return yaml

    def _parse(self) -> dict[str, object]:
        from ruamel.yaml.error import YAMLError

        try:
            data = _plain(self._yaml().load(self._text))
        except YAMLError as error:
            raise DocumentError("invalid YAML") from error
        if data is None:
            return {}
        if not isinstance(data, dict):
            raise DocumentError("the file does not hold an object")
        return data

    def _edited(self, path: Path) -> Any:
        document: Any = self._yaml().load(self._text)
        if document is None:
            document = {}
        node = document
        for step in path:
            node = node[step]
        return document, node

    def _write(self, document: Any) -> None:
        out = io.StringIO()
        self._yaml().dump(document, out)
        self._text = out.getvalue()

    def _add(self, parent: Path, step: Step, value: object) -> None:
        document, node = self._edited(parent)
        if isinstance(step, int):
            node.append(value)
        else:
            node[step] = value
        self._write(document)

    def _replace(self, path: Path, value: object) -> None:
        document, node = self._edited(path[:-1])
        node[path[-1]] = value
        self._write(document)

    def _delete(self, path: Path) -> None:
        document, node = self._edited(path[:-1])
        del node[path[-1]]
        self._write(document)
