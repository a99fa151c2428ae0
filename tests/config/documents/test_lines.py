"""The lines of keys and items in documents of every format."""

from __future__ import annotations

import pytest

from mcp_workbench.config.documents import Format, Path, open_document

JSON = '// head\n{\n  "s": {\n    "a": {"x": 1},\n    "l": [\n      1,\n      {"y": 2}\n    ]\n  }\n}'
TOML = 't = 1\n\n[s.a]\nx = { y = 1 }\n"z" = [\n  1,\n]\n[[s.l]]\nq = 1\n[[s.l]]\nq = 2\n'
YAML = "# head\ns:\n  a:\n    x: 1\n  l:\n  - 1\n  -\n    y: 2\n  f: {g: 1}\n"


@pytest.mark.parametrize(
    ("form", "text", "path", "line"),
    [
        ("json", JSON, (), 2),
        ("json", JSON, ("s", "a", "x"), 4),
        ("json", JSON, ("s", "l", 1, "y"), 7),
        ("json", JSON, ("s", "b"), None),
        ("json", "", ("s",), None),
        ("toml", TOML, ("t",), 1),
        ("toml", TOML, ("s",), 3),
        ("toml", TOML, ("s", "a", "x", "y"), 4),
        ("toml", TOML, ("s", "a", "z", 0), 5),
        ("toml", TOML, ("s", "l", 1, "q"), 11),
        ("toml", TOML, ("s", "l", 1), 10),
        ("toml", TOML, ("x",), None),
        ("yaml", YAML, (), 2),
        ("yaml", YAML, ("s", "a", "x"), 4),
        ("yaml", YAML, ("s", "l", 1), 7),
        ("yaml", YAML, ("s", "l", 1, "y"), 8),
        ("yaml", YAML, ("s", "f", "g"), 9),
        ("yaml", YAML, ("s", "g"), None),
        ("yaml", "", ("s",), None),
    ],
)
def test_a_path_has_the_line_of_its_key(form: Format, text: str, path: Path, line: int | None) -> None:
    assert open_document(form, text.encode()).line_of(path) == line
