"""Vectors are remembered by what the texts say, and what cannot be read is as good as forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage import vectors
from mcp_workbench.storage.vectors import VectorMemory, key_of

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 4
ONE = {key_of("one"): b"1111"}
TWO = {key_of("two"): b"2222"}


def test_vectors_are_remembered_by_another_process(tmp_path: Path) -> None:
    VectorMemory(tmp_path).remember("model-1", SIZE, ONE)
    assert VectorMemory(tmp_path).recall("model-1", SIZE) == ONE


def test_another_text_has_another_key() -> None:
    assert len({key_of("one"), key_of("One"), key_of("one "), key_of("\ud800")}) == 4


def test_another_model_knows_nothing_of_them(tmp_path: Path) -> None:
    VectorMemory(tmp_path).remember("model-1", SIZE, ONE)
    assert VectorMemory(tmp_path).recall("model-2", SIZE) == {}


def test_two_processes_add_to_each_other(tmp_path: Path) -> None:
    first, second = VectorMemory(tmp_path), VectorMemory(tmp_path)
    first.remember("model-1", SIZE, ONE)
    second.remember("model-1", SIZE, TWO)
    assert first.recall("model-1", SIZE) == ONE | TWO
    assert [path.name for path in (tmp_path / "vectors").iterdir()] == ["model-1"]


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 1000])
def test_a_damaged_file_is_forgotten_and_replaced(tmp_path: Path, damage: bytes) -> None:
    memory = VectorMemory(tmp_path)
    memory.remember("model-1", SIZE, ONE)
    (tmp_path / "vectors" / "model-1").write_bytes(damage)
    assert memory.recall("model-1", SIZE) == {}
    memory.remember("model-1", SIZE, TWO)
    assert memory.recall("model-1", SIZE) == TWO


def test_one_changed_byte_is_noticed(tmp_path: Path) -> None:
    memory = VectorMemory(tmp_path)
    memory.remember("model-1", SIZE, ONE)
    file = tmp_path / "vectors" / "model-1"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"9")
    assert memory.recall("model-1", SIZE) == {}


def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_VECTORS", 2)
    memory = VectorMemory(tmp_path)
    for text in ("one", "two", "three"):
        memory.remember("model-1", SIZE, {key_of(text): text[:4].ljust(4).encode()})
    assert list(memory.recall("model-1", SIZE).values()) == [b"two ", b"thre"]


def test_a_directory_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("in the way")
    memory = VectorMemory(tmp_path)
    memory.remember("model-1", SIZE, ONE)
    assert memory.recall("model-1", SIZE) == {}
