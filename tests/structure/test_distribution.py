"""The distribution is `workbench-mcp`: `mcp-workbench` on the package index is somebody else's project."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.structure.package import ROOT
from tests.structure.tracked import in_a_clone, project_texts

INSTALLER = (
    r"(?:pip3?\s+install|pipx\s+(?:install|run|upgrade|inject)"
    r"|uvx|uv\s+(?:add|pip\s+install|tool\s+(?:install|run|upgrade)))"
)
BY_THE_WRONG_NAME = re.compile(
    # Told to install or run it, with any arguments before the name on the same line.
    INSTALLER + r"([^\n`|&;#,]*?[ '\"])mcp[-]workbench(?![\w/-])"
    r"|\"(?:uvx|pipx)\",\s*\"args\":\s*\[[^\]]*\"mcp[-]workbench\""  # the same in a client's file
    r"|(?<![\w/.-])mcp[-]workbench(?:\[\w|\s?[=~><!]=)"  # a requirement: with an extra, or with a version
    r"|(?<![\w/.-])mcp[_]workbench-\d"  # a wheel or an sdist
)


def wrong_names(text: str) -> list[str]:
    found = BY_THE_WRONG_NAME.finditer(text)
    return [call[0] for call in found if "workbench-mcp" not in call[0]]


@in_a_clone
def test_nobody_is_told_to_install_the_project_of_somebody_else() -> None:
    texts = project_texts()
    assert "README.md" in texts
    assert {path: found for path, text in texts.items() if (found := wrong_names(text))} == {}


@pytest.mark.parametrize(
    "before",
    [
        "pip install ",
        "python -m pip install --upgrade '",
        "uvx ",
        "uvx --from . ",
        "uv tool install ",
        "uv add ",
        "pipx install ",
        "pipx run ",
    ],
)
def test_such_a_command_is_found(before: str) -> None:
    assert len(wrong_names(f"{before}mcp-" + "workbench demo")) == 1


@pytest.mark.parametrize("after", ["workbench[semantic]", "workbench>=0.1,<0.2", "workbench == 0.1"])
def test_such_a_requirement_is_found(after: str) -> None:
    assert len(wrong_names("mcp-" + after)) == 1


def test_such_an_entry_of_a_client_is_found() -> None:
    assert len(wrong_names('"command": "uvx", "args": ["mcp-' + 'workbench", "serve"]')) == 1


def test_a_file_of_such_a_distribution_is_found() -> None:
    assert len(wrong_names("dist/x mcp_" + "workbench-0.1.0-py3-none-any.whl")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "pip install workbench-mcp",
        "uvx --from workbench-mcp mcp-workbench demo",
        '"command": "uvx", "args": ["workbench-mcp"]',
        "uv tool install . && mcp-workbench import",
        "`pip install .`, then `mcp-workbench check`",
        "pip install git+https://example.org/mcp-workbench/mcp-workbench",
        "pip install ./mcp-workbench",
        "mcp-workbench install cursor",
        "pip install uv\nmcp-workbench check",
    ],
)
def test_another_command_is_not(text: str) -> None:
    assert wrong_names(text) == []


def test_the_command_exists_under_its_own_name_and_under_that_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "workbench-mcp"
    assert project["scripts"] == dict.fromkeys(
        ["mcp-workbench", "workbench-mcp"], "mcp_workbench.__main__:main"
    )
