"""What is kept of results: where, for whom, and for how long."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import ResultsConfig
from mcp_workbench.workbench.kept import store as kept_store
from mcp_workbench.workbench.kept.client_results import Content, is_elsewhere, new_handle
from mcp_workbench.workbench.kept.store import ResultStore
from mcp_workbench.workbench.replica import REPLICA
from tests.support.kept import LIMIT, Bench, FilesInMemory, Maker
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from mcp_workbench.workbench.kept.client_results import ContentKind


def test_handles_cannot_be_guessed() -> None:
    handles = {new_handle() for _ in range(1000)}
    assert len(handles) == 1000
    # 22 characters of 6 bits each hold the 128 bits, and 4 name the process.
    assert all(handle.startswith(f"res_{REPLICA[:4]}") and len(handle) == 30 for handle in handles)


def test_a_handle_tells_whether_another_process_has_made_it() -> None:
    assert not is_elsewhere(new_handle())
    assert is_elsewhere(new_handle("other"))
    for made_up in ("", "res_", "res_x", "x" * 30, new_handle("other")[:-1]):
        assert not is_elsewhere(made_up)


async def test_what_is_kept_is_there_for_its_client_and_for_nobody_else() -> None:
    bench = Bench(memory=100)
    other = bench.store.client_results()
    handle = await bench.keep(b"mine")
    assert await bench.read(handle) == b"mine"
    assert await bench.read(handle, other) is None
    assert bench.files.there == {}


async def test_what_was_not_used_for_longest_goes_to_a_file_and_comes_back() -> None:
    bench = Bench(memory=10)
    first, second = await bench.keep(b"1" * 5), await bench.keep(b"2" * 5)
    assert await bench.read(first) == b"1" * 5
    third = await bench.keep(b"3" * 5)
    assert list(bench.files.there.values()) == [b"2" * 5]
    assert await bench.read(second) == b"2" * 5
    assert await bench.read(third) == b"3" * 5


async def test_what_is_larger_than_the_memory_is_in_a_file_when_it_is_kept() -> None:
    bench = Bench(memory=10)
    handle = await bench.keep(b"x" * 50)
    assert list(bench.files.there.values()) == [b"x" * 50]
    assert await bench.read(handle) == b"x" * 50


async def test_beyond_the_quota_the_oldest_go() -> None:
    bench = Bench(memory=0, quota=100)
    first, second = await bench.keep(b"1" * 50), await bench.keep(b"2" * 50)
    assert await bench.read(first) == b"1" * 50
    third = await bench.keep(b"3" * 30)
    assert [await bench.read(handle) for handle in (first, second, third)] == [b"1" * 50, None, b"3" * 30]
    await poll(lambda: sorted(bench.files.there.values()) == [b"1" * 50, b"3" * 30])


async def test_what_is_larger_than_memory_and_quota_is_not_kept_and_costs_no_other_its_place() -> None:
    bench = Bench(memory=10, quota=100)
    filed, held = await bench.keep(b"f" * 20), await bench.keep(b"h" * 10)
    assert await bench.keep(b"x" * 101) is None
    assert await bench.read(filed) == b"f" * 20
    assert await bench.read(held) == b"h" * 10


async def test_contents_that_belong_together_are_kept_together_or_not_at_all() -> None:
    bench = Bench(memory=10, quota=10)
    contents = [Content(new_handle(), b"a" * 5, "text"), Content(new_handle(), b"b" * 50, "text")]
    assert await bench.client_results.keep(contents, Maker(), LIMIT) is False
    assert len(bench.client_results) == 0


async def test_what_was_not_used_for_its_lifetime_expires() -> None:
    bench = Bench(memory=5)
    used, unused = await bench.keep(b"1" * 5), await bench.keep(b"2" * 5)
    bench.now = 99
    assert await bench.read(used) == b"1" * 5
    bench.now = 101
    assert await bench.read(unused) is None
    assert await bench.read(used) == b"1" * 5
    bench.now = 201
    assert await bench.read(used) is None
    await poll(lambda: not bench.files.there)


async def test_nobody_has_to_look_for_it_to_expire() -> None:
    store = ResultStore(FilesInMemory())
    store.adopt(ResultsConfig(lifetime=0.01))
    client_results = store.client_results()
    client_results.keep_now([Content(new_handle(), b"x", "text")], Maker(), LIMIT)
    await poll(lambda: len(client_results) == 0)


async def test_a_shorter_lifetime_counts_for_what_is_kept_already() -> None:
    bench = Bench(memory=100)
    handle = await bench.keep(b"x")
    bench.now = 50
    bench.store.adopt(ResultsConfig(lifetime=10))
    assert await bench.read(handle) is None


async def test_when_a_client_goes_its_contents_go_and_those_of_others_stay() -> None:
    bench = Bench(memory=5)
    other = bench.store.client_results()
    mine = [await bench.keep(b"1" * 5), await bench.keep(b"2" * 5)]
    theirs = await bench.keep(b"3" * 5, client_results=other)
    bench.client_results.close()
    assert [await bench.read(handle) for handle in mine] == [None, None]
    assert await bench.read(theirs, other) == b"3" * 5
    await poll(lambda: not bench.files.there)


async def test_without_files_the_oldest_expire_and_the_fresh_one_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(memory=10)
    bench.files.is_full = True
    with caplog.at_level(logging.WARNING):
        first, second, third = [await bench.keep(data * 5) for data in (b"1", b"2", b"3")]
        assert await bench.keep(b"x" * 11) is None
    assert [await bench.read(handle) for handle in (first, second, third)] == [None, None, None]
    assert await bench.read(await bench.keep(b"4" * 10)) == b"4" * 10
    assert len(caplog.records) == 1


async def test_a_disk_that_does_not_answer_holds_up_one_result_and_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kept_store, "FILE_TIMEOUT_SECONDS", 0.05)
    bench = Bench(memory=10)
    bench.files.may_write.clear()
    with caplog.at_level(logging.WARNING):
        assert await bench.keep(b"x" * 11) is None
        monkeypatch.setattr(kept_store, "FILE_TIMEOUT_SECONDS", PATIENCE)
        async with asyncio.timeout(PATIENCE / 2):
            assert await bench.keep(b"x" * 11) is None
    assert len(caplog.records) == 1
    assert await bench.read(await bench.keep(b"y" * 10)) == b"y" * 10
    bench.files.may_write.set()


@pytest.mark.parametrize(
    ("data", "kind"), [(b"it is hunter22", "text"), (b64encode(b"it is hunter22"), "binary")]
)
async def test_a_secret_is_never_written_to_a_file(data: bytes, kind: ContentKind) -> None:
    bench = Bench(memory=len(data))
    secret = await bench.keep(data, kind)
    assert await bench.read(secret) == data
    other = await bench.keep(b"x" * len(data))
    assert await bench.read(secret) is None
    assert await bench.read(other) == b"x" * len(data)
    assert bench.files.there == {}
    bench.store.adopt(ResultsConfig(memory=0))
    assert await bench.keep(data, kind) is None


async def test_a_file_that_is_gone_is_a_content_that_has_expired() -> None:
    bench = Bench(memory=0)
    handle = await bench.keep(b"x")
    bench.files.there.clear()
    assert await bench.read(handle) is None
    assert len(bench.client_results) == 0


async def test_whoever_gives_up_while_it_is_being_kept_leaves_nothing_behind() -> None:
    bench = Bench(memory=0)
    bench.files.may_write.clear()
    keeping = asyncio.create_task(bench.keep(b"x"))
    await poll(lambda: len(bench.client_results) == 1)
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert len(bench.client_results) == 0
    bench.files.may_write.set()
    assert await bench.read(await bench.keep(b"y")) == b"y"
    await poll(lambda: list(bench.files.there.values()) == [b"y"])


async def test_many_at_once_stay_within_the_bounds() -> None:
    bench = Bench(memory=20, quota=100)
    handles = await asyncio.gather(*(bench.keep(b"%010d" % number) for number in range(50)))
    # The others were dropped before a client had their handles, or are no longer kept.
    found = [await bench.read(handle) for handle in handles if handle is not None]
    assert found[-1] == b"%010d" % 49
    assert 10 <= sum(data is not None for data in found) <= 12
    assert len(bench.files.there) == 10


async def test_one_principal_does_not_push_out_what_another_keeps() -> None:
    bench = Bench(memory=20, quota=100)
    bob, alice = bench.store.client_results("bob"), bench.store.client_results("alice")
    kept = [await bench.keep(b"b" * 8, client_results=bob), await bench.keep(b"B" * 40, client_results=bob)]
    flood = [await bench.keep(b"%d" % number * 10, client_results=alice) for number in range(100, 150)]
    assert [await bench.read(handle, bob) for handle in kept] == [b"b" * 8, b"B" * 40]
    there = [await bench.read(handle, alice) for handle in flood if handle is not None]
    assert there[-1] is not None
    assert there.count(None) > 40


async def test_room_is_made_by_whoever_keeps_most() -> None:
    bench = Bench(memory=0, quota=100)
    bob, alice = bench.store.client_results("bob"), bench.store.client_results("alice")
    of_alice = [await bench.keep(b"%d" % number * 30, client_results=alice) for number in range(3)]
    of_bob = [await bench.keep(b"b" * 30, client_results=bob) for _ in range(2)]
    assert [await bench.read(handle, alice) for handle in of_alice] == [None, b"1" * 30, b"2" * 30]
    assert [await bench.read(handle, bob) for handle in of_bob] == [None, b"b" * 30]
