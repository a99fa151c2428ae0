"""The C library's search says what Python's own would."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.wire import byte_search

if TYPE_CHECKING:
    import pytest

TEXT = st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"."))


@given(TEXT, TEXT.filter(bool), st.booleans())
def test_what_stands_in_a_text_is_found_and_nothing_else(data: bytes, wanted: bytes, has_it: bool) -> None:
    if has_it:
        data = data + wanted + data
    assert bool(byte_search.find(data, wanted)) is (wanted in data)


def test_where_the_library_cannot_be_had_python_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> object:
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "PyDLL", refuse)
    find = byte_search._load()
    assert (find(b"a uri", b"uri"), find(b"a url", b"uri")) == (True, False)
