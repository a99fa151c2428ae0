"""The `sandbox` of a server: what it may say, and that everything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.model.sandbox import SandboxConfig
from tests.config.loading import load_server, one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "toolboxes.dev.mcpServers.fs.sandbox"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, None),
        (False, None),
        (True, SandboxConfig()),
        ({}, SandboxConfig()),
        ({"network": True}, SandboxConfig(network=True)),
    ],
)
def test_a_sandbox_is_on_off_or_an_object(
    tmp_path: Path, written: object, read: SandboxConfig | None
) -> None:
    assert load_server(tmp_path, {"command": "x", "sandbox": written}).sandbox == read


def test_paths_count_from_the_directory_of_the_file(tmp_path: Path) -> None:
    sandbox = {"read": ["docs", "/usr/../srv"], "write": ["~/data", "./${SUB}"]}
    environ = {"HOME": "/home/me", "SUB": "sub"}
    assert load_server(tmp_path, {"command": "x", "sandbox": sandbox}, environ).sandbox == SandboxConfig(
        read=[str(tmp_path / "docs"), "/srv"], write=["/home/me/data", str(tmp_path / "sub")]
    )


@pytest.mark.parametrize(
    ("written", "where"),
    [
        ("strict", ""),
        (1, ""),
        (["/srv"], ""),
        ({"filesystem": {"allowWrite": ["/srv"]}}, ".filesystem"),
        ({"network": "none"}, ".network"),
        ({"network": None}, ".network"),
        ({"read": "/srv"}, ".read"),
        ({"write": [1]}, ".write[0]"),
        ({"write": [" "]}, ".write[0]"),
        ({"read": ["a\0b"]}, ".read[0]"),
    ],
)
def test_a_sandbox_of_another_form_is_refused(tmp_path: Path, written: object, where: str) -> None:
    (problem,) = problems(tmp_path, one_server({"command": "x", "sandbox": written}))
    assert problem.where == PLACE + where
    assert problem.remedy


def test_a_remote_server_has_no_sandbox(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, one_server({"url": "https://x", "sandbox": True}))
    assert (problem.where, problem.remedy) == (PLACE, "Delete it.")
