"""Pins are shared by processes, survive their ends, and are kept in memory if nothing can be written."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.storage.trust import pins
from mcp_workbench.storage.trust.pin_records import (
    HeldServer,
    HeldTool,
    PinPlace,
    ServerPin,
    ToolPin,
    config_name,
)
from mcp_workbench.storage.trust.pins import MAX_REJECTED, PinRecord, PinStore
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACE = PinPlace("/home/me/workbench-config.json", "dev", "fs")
TEXT = msgspec.Raw(b'{"name":"read"}')
WRITER = """
import sys
from mcp_workbench.storage.trust.pins import PinStore
from tests.storage.trust.test_pins import PLACE, with_tool, TEXT
store, name = PinStore(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    store.change(PLACE, lambda record: with_tool(record, f"{name}{number}"), {f"d-{name}{number}": TEXT})
    print(number, flush=True)
"""


def with_tool(record: PinRecord, name: str) -> PinRecord:
    """The record with one more approved tool."""
    pin = record.pin or ServerPin(identity="i", program="p")
    one = ToolPin(digest=f"d-{name}", since=1.0, by="first")
    return PinRecord(pin=msgspec.structs.replace(pin, tools=pin.tools | {name: one}), judged=record.judged)


def held(*, place: PinPlace = PLACE, digest: str = "new", **members: object) -> HeldServer:
    """A server of which the tool `read` is held."""
    tool = HeldTool(reasons=("changed",), definition=TEXT, digest=digest, approved="old", since=1.0)
    return HeldServer(
        place=place,
        level="scan",
        identity="i",
        program="p",
        tools={"read": tool},
        **members,  # type: ignore[arg-type] # more members of the same struct
    )


@contextmanager
def unwritable(home: Path) -> Iterator[None]:
    """Let nothing be written for a while, whoever the user is: a directory stands where the lock should."""
    lock = home / "pins" / "lock"
    aside = home / "aside"
    if lock.exists():
        lock.rename(aside)
    lock.mkdir(parents=True, mode=0o700)
    yield
    lock.rmdir()
    if aside.exists():
        aside.rename(lock)


def writer(home: Path, name: str, times: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(home), name, str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_pin_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 25) for name in ("a", "b")]
    for one in writers:
        one.communicate(timeout=PATIENCE)
        assert one.returncode == 0
    store = PinStore(tmp_path)
    pin = store.read(PLACE).pin
    assert pin is not None
    assert pin.tools.keys() == {f"{name}{number}" for name in ("a", "b") for number in range(25)}
    assert store.texts(PLACE).keys() == {tool.digest for tool in pin.tools.values()}


def test_a_process_that_is_killed_while_it_writes_damages_nothing(tmp_path: Path) -> None:
    process = writer(tmp_path, "a", 100_000)
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.kill()
    process.communicate(timeout=PATIENCE)
    store = PinStore(tmp_path)
    record = store.read(PLACE)
    assert record.pin is not None
    assert not record.is_damaged
    assert {tool.digest for tool in record.pin.tools.values()} <= store.texts(PLACE).keys()
    assert store.change(PLACE, lambda known: with_tool(known, "later"), {}).pin is not None


def test_files_are_for_their_owner_only_and_only_needed_texts_are_kept(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    store.change(PLACE, lambda record: with_tool(record, "a"), {"d-a": TEXT, "other": TEXT})
    store.held.keep(PLACE, held())
    assert store.texts(PLACE).keys() == {"d-a"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"pins", "texts", "held"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_what_is_remembered_stays_the_same_object_until_it_changes(tmp_path: Path) -> None:
    one, other = PinStore(tmp_path), PinStore(tmp_path)
    assert one.read(PLACE) == PinRecord()
    kept = one.change(PLACE, lambda record: with_tool(record, "a"), {})
    assert one.read(PLACE) is kept
    assert one.change(PLACE, lambda record: record, {}) is kept
    other.change(PLACE, lambda record: with_tool(record, "b"), {})
    assert one.read(PLACE) is one.read(PLACE) is not kept
    assert one.read(PLACE) == other.read(PLACE)


def test_an_unwritable_place_is_said_once_and_pins_live_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "file"
    place.write_text("", encoding="utf-8")
    for root in (place, os.devnull):
        caplog.clear()
        store = PinStore(root)
        for name in ("a", "b"):
            store.change(PLACE, lambda record, name=name: with_tool(record, name), {f"d-{name}": TEXT})  # type: ignore[misc] # bound early
        store.keep_held(PLACE, held())
        assert caplog.text.count("cannot be written") == 1
        pin = store.read(PLACE).pin
        assert pin is not None
        assert set(pin.tools) == {"a", "b"}
        assert set(store.texts(PLACE)) == {"d-a", "d-b"}
        assert store.held.servers() == []
        with pytest.raises(OSError, match="directory"):
            store.approve(held(), ["read"])


def test_what_could_not_be_written_overwrites_no_approval(tmp_path: Path) -> None:
    store, other = PinStore(tmp_path), PinStore(tmp_path)
    store.change(PLACE, lambda record: with_tool(record, "a"), {"d-a": TEXT})
    with unwritable(tmp_path):
        kept = store.change(PLACE, lambda record: with_tool(record, "b"), {"d-b": TEXT})
        assert store.read(PLACE) is kept
    assert store.read(PLACE) is kept
    other.approve(held(), ["read"])
    approved = store.read(PLACE)
    assert (approved == other.read(PLACE), set(store.texts(PLACE))) == (True, {"d-a", "new"})
    assert store.read(PLACE) is approved
    pin = store.change(PLACE, lambda record: with_tool(record, "c"), {"d-c": TEXT}).pin
    assert pin is not None
    assert set(pin.tools) == {"a", "read", "c"}
    assert PinStore(tmp_path).read(PLACE).pin == pin


def test_what_could_not_be_written_is_written_before_anything_held_can_be_approved(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    with unwritable(tmp_path):
        kept = store.change(PLACE, lambda record: with_tool(record, "a"), {"d-a": TEXT})
    store.keep_held(PLACE, held())
    assert store.read(PLACE) is kept
    other = PinStore(tmp_path)
    (shown,) = other.held.servers()
    other.approve(shown, ["read"])
    pin = store.read(PLACE).pin
    assert pin is not None
    assert set(pin.tools) == {"a", "read"}
    assert set(store.texts(PLACE)) == {"d-a", "new"}


def test_a_lock_that_another_process_keeps_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pins, "LOCK_TIMEOUT_SECONDS", 0.05)
    other = PinStore(tmp_path)
    with other._locked():
        store = PinStore(tmp_path)
        store.change(PLACE, lambda record: with_tool(record, "a"), {})
    assert "has locked" in caplog.text
    assert store.read(PLACE).pin is not None
    assert other.read(PLACE).pin is None


def test_a_damaged_file_is_not_taken_for_none(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    store.change(PLACE, lambda record: with_tool(record, "a"), {"d-a": TEXT})
    store.held.keep(PLACE, held())
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(b"{")
    again = PinStore(tmp_path)
    assert (again.read(PLACE), again.texts(PLACE)) == (PinRecord(is_damaged=True), {})
    assert again.held.servers() == []


def test_a_file_that_cannot_be_looked_at_is_damaged_and_stays_the_same_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    store = PinStore(tmp_path)
    monkeypatch.setattr("mcp_workbench.storage.trust.pins.os.lstat", refuse)
    record = store.read(PLACE)
    assert record.is_damaged
    assert store.read(PLACE) is record


def test_what_is_held_can_be_listed_by_configuration(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    config = tmp_path / "workbench-config.json"
    own = PinPlace(config_name(str(config)), "dev", "fs")
    store.held.keep(PLACE, held())
    store.held.keep(own, held(place=own))
    (tmp_path / "held" / "notes.txt").write_text("mine", encoding="utf-8")
    assert [one.place for one in store.held.servers()] == sorted([PLACE, own], key=lambda one: one.config)
    link = tmp_path / "link.json"
    link.symlink_to(config)
    assert store.held.servers(str(link)) == [held(place=own)]
    store.held.keep(own)
    assert store.held.servers(str(config)) == []


def test_a_decision_is_about_what_was_shown(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    store.held.keep(PLACE, held(digest="newer"))
    store.approve(held(digest="new"), ["read"])
    pin = store.read(PLACE).pin
    assert pin is not None
    assert pin.tools["read"].digest == "new"
    assert store.held.of(PLACE) == [held(digest="newer")]
    store.reject(held(digest="newer"), ["read"])
    (left,) = store.held.of(PLACE)
    assert (left.tools["read"].is_rejected, left.is_pending) == (True, False)
    assert store.read(PLACE).rejected == {"read": ("newer",)}
    store.approve(held(digest="newer"), ["read"])
    assert (store.read(PLACE).rejected, store.held.of(PLACE)) == ({}, [])
    for digest in ("new", "other"):
        store.held.keep(PLACE, held(digest=digest))
        store.reject(held(digest=digest), ["read"])
    store.release(held(digest="other"), ["read"])
    assert (store.read(PLACE).rejected, store.held.of(PLACE)) == ({"read": ("new",)}, [])
    for number in range(MAX_REJECTED + 5):
        store.reject(held(digest=str(number)), ["read"])
    assert store.read(PLACE).rejected["read"][0] == "5"


def test_several_definitions_of_a_tool_are_held_until_each_is_decided(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    one, other = held(digest="one"), held(digest="other")
    both = msgspec.structs.replace(other, tools={**other.tools, "write": other.tools["read"]})
    store.keep_held(PLACE, one)
    store.keep_held_again([one, both, other])
    assert all(map(store.held.has, (one, both, other)))
    # Each definition is there once, whatever files it is in.
    shown = store.held.of(PLACE)
    listed = sorted((name, tool.digest) for server in shown for name, tool in server.tools.items())
    assert listed == [("read", "one"), ("read", "other"), ("write", "other")]
    store.approve(other, ["read"])
    assert not store.held.has(other)
    store.reject(both, ["write"])
    store.release(one, ["read"])
    (left,) = store.held.servers()
    assert ([*left.tools], left.is_pending) == (["write"], False)
    store.keep_held(PLACE)
    assert store.held.of(PLACE) == []
