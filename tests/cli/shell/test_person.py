"""The line that shows the progress of a call, whatever a server sends."""

from __future__ import annotations

import io

import pytest

from mcp_workbench.cli.shell.person import ProgressLine


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        ({"progress": 1, "total": 4, "message": "a\x1b[2Jb"}, "[#####...............] 25% a\\x1b[2Jb"),
        ({"progress": 5, "total": 4}, "[####################] 100%"),
        ({"progress": 2.5}, "2.5"),
        ({"progress": 3, "total": 0}, "3"),
        ({"progress": 3, "total": 10**400}, "3"),
        ({"progress": 10**400, "total": 1}, ""),
        ({"progress": "half"}, ""),
        ({}, ""),
    ],
)
def test_progress_is_drawn_if_it_can_be_calculated(
    params: dict[str, object], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", screen := Screen())
    ProgressLine().report(params)
    assert screen.getvalue().removeprefix("\r\x1b[K") == shown
