"""Nothing of one machine gets into the repository: none of its paths, no address of a package registry."""

from __future__ import annotations

import re

import pytest

from tests.structure.tracked import in_a_clone, project_texts

# These forbid what this file itself must not hold: hence the brackets in them, and the joins further down.
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:root|work|tmp|var/folders)[/][\w.]")
REGISTRY = re.compile(
    r"(?:py[p]i|npm[j]s|python[h]osted)[.](?:org|com)"
    r"|https?://[^\s\"'<>)]*(?:registry[.]|[/]simple)"
    r"|index[-]url"
    r"|^\s*registry\s*="
    r"|\"resolved[\"]:",
    re.MULTILINE,
)


def findings(text: str) -> list[str]:
    return [found[0] for pattern in (MACHINE_PATH, REGISTRY) for found in pattern.finditer(text)]


@in_a_clone
def test_no_file_names_a_path_of_a_machine_or_a_registry() -> None:
    texts = project_texts()
    assert "Makefile" in texts
    assert {path: found for path, text in texts.items() if (found := findings(text))} == {}


@pytest.mark.parametrize(
    "pieces",
    [
        ("see /work", "/shared"),
        ('"/root', '/.cache"'),
        ("cd /tmp", "/x"),
        ("https://registry", ".example/left-pad"),
        ("https://mirror.example", "/simple"),
        ("see py", "pi.org"),
        ("--extra-index", "-url x"),
        ("registry ", "= https://example.org"),
        ('"resolved"', ': "x"'),
    ],
)
def test_such_a_text_is_found(pieces: tuple[str, str]) -> None:
    assert len(findings("".join(pieces))) == 1


@pytest.mark.parametrize(
    "text", ["src/work/a", "../tmp/a", "https://example.org/project/mcp-workbench/", "~/work"]
)
def test_an_innocent_text_is_not(text: str) -> None:
    assert findings(text) == []
