"""Reads the `envFile` of a server: a dotenv file with variables for its environment.

Owns the format. The variables become part of the entry's `env`, so that the rest of the workbench knows `env`
alone: they are masked like it, and a changed file counts when the configuration is loaded again.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from mcp_workbench.config.source.small_files import UnusableFile, read_small_text, resolve_path

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_env_file(path: str, directory: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables in a dotenv file. Raises UnusableFile. A `${VAR}` in it is literal."""
    if not path.strip():
        raise UnusableFile("it names no file", 'Write for example "envFile": ".env"')
    text = read_small_text(resolve_path(path, directory, environ))
    from dotenv.parser import parse_stream  # noqa: PLC0415 - few configurations name such a file

    variables: dict[str, str] = {}
    # `dotenv_values` would log a part of a line that it cannot parse, which may be a secret.
    for binding in parse_stream(StringIO(text)):
        if binding.error or (binding.key is not None and binding.value is None):
            line = binding.original.line + _blank_lines(binding.original.string)
            raise UnusableFile(f"its line {line} is not NAME=value", "Correct or delete the line.")
        if binding.key is not None and binding.value is not None:
            variables[binding.key] = binding.value
    return variables


def _blank_lines(text: str) -> int:
    """Return how many empty lines the parser has put in front of a statement."""
    return text[: len(text) - len(text.lstrip())].count("\n")
