"""The client's own eyes: what it must not overlook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.client import RawClient, clean_environment
from tests.support.configs import server

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "line",
    [
        "a banner",
        "[]",
        '{"id":1,"result":{}}',
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        '{"jsonrpc":"2.0","result":{}}',
    ],
)
async def test_a_line_on_stdout_that_is_no_json_rpc_fails_the_test(tmp_path: Path, line: str) -> None:
    entry = server(stdout=[line])
    client = RawClient([entry["command"], *entry["args"]], clean_environment(tmp_path))
    with pytest.raises(AssertionError, match="not JSON-RPC on stdout"):
        async with client:
            await client.send_raw(b"")


@pytest.mark.parametrize("told", [{"exit": 3}, {"stderr": ["Traceback (most recent call last):"]}])
async def test_a_bad_end_or_a_traceback_fails_the_test(tmp_path: Path, told: dict[str, object]) -> None:
    entry = server(**told)  # type: ignore[arg-type] # one of two scripts, chosen by the parameter
    client = RawClient([entry["command"], *entry["args"]], clean_environment(tmp_path))
    with pytest.raises(AssertionError):
        async with client:
            await client.send_raw(b"")
