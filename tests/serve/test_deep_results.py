"""A result nested just as deeply as can be decoded is passed on or refused: its caller never waits."""

from __future__ import annotations

import bisect
import itertools
import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.serve.relayed import Relayed, written
from tests.support.nesting import TOO_DEEP

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = [
    b'{"jsonrpc":"2.0","id":%d,"result":%b}',
    b'{"jsonrpc":"2.0","id":"%d","result":%b}',
    b'{"jsonrpc":"2.0","id":%d,"error":null,"result":%b}',
]


def deepest() -> int:
    """How deeply an array can be nested and decoded. It differs between versions of Python."""

    def fails(depth: int) -> bool:
        try:
            msgspec.json.decode(b"[" * depth + b"]" * depth, type=msgspec.Raw)
        except RecursionError:
            return True
        return False

    return bisect.bisect_left(range(TOO_DEEP), True, key=fails) - 1


RESULTS = [b'{"content":[],"deep":%b}', b'{"content":[],"deep":%b,"_meta":{"a":1}}']


@pytest.mark.parametrize("result", RESULTS, ids=["bare", "with metadata"])
@pytest.mark.parametrize("answer", ANSWERS, ids=["plain", "id as text", "error null"])
@pytest.mark.parametrize("server_is_modern", [False, True], ids=["legacy server", "modern server"])
@pytest.mark.parametrize("client_is_modern", [False, True], ids=["legacy client", "modern client"])
async def test_every_depth_has_exactly_one_answer(
    tmp_path: Path, answer: bytes, result: bytes, *, server_is_modern: bool, client_is_modern: bool
) -> None:
    it = Relayed(tmp_path, modern=client_is_modern, modern_server=server_is_modern)
    limit = deepest()
    outcomes = []
    # The stack that is left to the workbench, and with it the depth, differs a little from the one here.
    margin = max(150, limit // 20)
    for depth in range(limit - margin, limit + margin // 15, margin // 150):
        it.to_client.clear()
        it.request()()
        nested = b"[" * depth + b"]" * depth
        it.server_says(answer % (it.latest_id, result % nested))
        (line,) = map(written, it.to_client)
        passed_on = nested in line
        outcomes.append(passed_on)
        assert passed_on or "nested too deeply" in json.loads(line)["result"]["content"][0]["text"]
    # Up to some depth it is passed on, and from there on it is refused.
    assert [passed_on for passed_on, _ in itertools.groupby(outcomes)] == [True, False]
