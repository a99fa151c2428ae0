"""Tools that are asked for by names that no server has."""

from __future__ import annotations

import json

import msgspec
import pytest

from mcp_workbench.errors import ToolsNotFound
from mcp_workbench.surface.listing import found
from mcp_workbench.surface.listing.found import named_result
from mcp_workbench.surface.listing.open_request import OpenRequest
from mcp_workbench.workbench.client_view import FoundTool


def known(count: int) -> list[FoundTool]:
    names = [f"read_file_{number}" for number in range(count)]
    return [
        FoundTool(("dev", "files"), name, msgspec.Raw(json.dumps({"name": name}).encode()), None)
        for name in names
    ]


def test_what_was_meant_is_looked_for_among_so_many_names_and_not_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(found, "MAX_COMPARED_NAMES", 100)
    names = ("raed_file_1", "raed_file_2", "raed_file_3")
    for count, guessed in ((30, 3), (50, 2), (1000, 1)):
        with pytest.raises(ToolsNotFound) as failure:
            named_result(known(count), OpenRequest(names=names))
        assert list(map(bool, failure.value.similar.values())) == [True] * guessed + [False] * (3 - guessed)
