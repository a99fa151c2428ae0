"""Files that are edited in place, with comments, order and formatting kept: JSON with comments, TOML, YAML.

Owns how a value is added, replaced, removed or moved in the text of a file. Does not read or write files, and
does not know what their keys mean.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from mcp_workbench.config.documents.document import Document
from mcp_workbench.config.documents.plain import Path, Step

Format: TypeAlias = Literal["json", "toml", "yaml"]
"""The format of a file; JSON may have comments and trailing commas."""

__all__ = ["Document", "Format", "Path", "Step", "open_document"]


def open_document(format: Format, data: bytes) -> Document:  # noqa: A002 - the word that callers use
    """Return the document in the bytes of a file; no bytes stand for an empty object.

    Raises DocumentError if the bytes are not UTF-8, are not of the format, or do not hold an object.
    """
    # The parsers of TOML and YAML are slow to import, and most commands need one format.
    if format == "toml":
        from mcp_workbench.config.documents.toml_document import TomlDocument  # noqa: PLC0415 - slow to import

        return TomlDocument(data)
    if format == "yaml":
        from mcp_workbench.config.documents.yaml_document import YamlDocument  # noqa: PLC0415 - slow to import

        return YamlDocument(data)
    from mcp_workbench.config.documents.json_document import JsonDocument  # noqa: PLC0415 - rarely needed

    return JsonDocument(data)
