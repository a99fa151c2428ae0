"""Every finding has its line, and JSON with comments and trailing commas is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import load
from mcp_workbench.errors import ConfigError
from tests.config.loading import load_content, write

if TYPE_CHECKING:
    from pathlib import Path

COMMENTED = """\
{
  // "not": "read",
  "toolboxes": {
    "dev": {
      /* A longer one,
         over two lines. */
      "description": "Not a // comment, nor /* this */ one",
      "mcpServers": {
        "fs": { "command": "npx", "args": ["-y", "${MISSING}",], }, // the last comma
      },
    },
  },
}
"""


def findings(path: Path) -> list[tuple[str, int | None]]:
    with pytest.raises(ConfigError) as raised:
        load(path, {})
    return [(problem.where, problem.line) for problem in raised.value.problems]


def test_comments_and_trailing_commas_are_read(tmp_path: Path) -> None:
    config = load_content(tmp_path, COMMENTED, {"MISSING": "found"}).config
    assert config.toolboxes["dev"].description == "Not a // comment, nor /* this */ one"
    assert config.toolboxes["dev"].servers["fs"].args == ["-y", "found"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_problem_has_the_line_of_its_place_below_comments(tmp_path: Path, line_end: str) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + COMMENTED.replace("\n", line_end).encode())
    assert findings(path) == [("toolboxes.dev.mcpServers.fs.args[1]", 9)]


def test_the_message_has_file_and_line_before_the_place(tmp_path: Path) -> None:
    path = write(tmp_path, COMMENTED)
    with pytest.raises(ConfigError) as raised:
        load(path, {})
    finding = f"{path}:9: toolboxes.dev.mcpServers.fs.args[1]: the variable MISSING is not set"
    assert f"  - {finding}\n" in str(raised.value)


def test_a_warning_has_file_and_line_before_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, '{\n  "toolMode": "proxy",\n  "toolboxes": {}\n}')
    (warning,) = load(path, {}).warnings
    assert warning.startswith(f"{path}:2: toolMode: deprecated")


def test_a_key_that_is_missing_has_the_line_of_the_object_that_lacks_it(tmp_path: Path) -> None:
    path = write(tmp_path, '{\n  "toolboxes": {\n    "dev": {\n      "mcpServers": {}\n    }\n  }\n}')
    assert findings(path) == [("toolboxes.dev.description", 3)]


def test_a_key_with_a_variable_has_its_line_too(tmp_path: Path) -> None:
    text = '{"toolboxes": {\n"${BOX:-dev}": {\n"description": "D",\n"mcpServers": {\n"a": {}}}}}'
    assert findings(write(tmp_path, text)) == [('toolboxes["${BOX:-dev}"].mcpServers.a', 5)]


def test_a_syntax_error_below_comments_has_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, COMMENTED.replace('"npx",', '"npx"'))
    assert findings(path) == [("line 9, column 34", 9)]
