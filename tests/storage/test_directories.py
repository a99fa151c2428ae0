"""The cache and the data directory are where the user or the platform wants them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.directories import cache_directory, data_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PLACES: dict[Callable[[Mapping[str, str]], str], dict[str, str]] = {
    cache_directory: {
        "linux": "/home/ada/.cache/mcp-workbench",
        "darwin": "/home/ada/Library/Caches/mcp-workbench",
        "win32": "/local/mcp-workbench/Cache",
    },
    data_directory: {
        "linux": "/home/ada/.local/share/mcp-workbench",
        "darwin": "/home/ada/Library/Application Support/mcp-workbench",
        "win32": "/local/mcp-workbench",
    },
}


def test_a_directory_that_the_user_has_chosen_is_used() -> None:
    environ = {"XDG_CACHE_HOME": "/caches", "XDG_DATA_HOME": "/data"}
    found = [cache_directory(environ), data_directory(environ)]
    assert found == ["/caches/mcp-workbench", "/data/mcp-workbench"]


@pytest.mark.parametrize("directory", PLACES)
def test_without_a_choice_it_is_where_the_platform_keeps_such_files(
    directory: Callable[[Mapping[str, str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    found = {}
    for platform in PLACES[directory]:
        monkeypatch.setattr(sys, "platform", platform)
        found[platform] = directory({"XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "LOCALAPPDATA": "/local"})
    assert found == PLACES[directory]
