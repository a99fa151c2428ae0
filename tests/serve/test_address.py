"""The address to listen on, as people write it."""

from __future__ import annotations

import pytest

from mcp_workbench.serve.address import read_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("8000", ("127.0.0.1", 8000)),
        ("[::1]:8000", ("::1", 8000)),
        ("http://127.0.0.1:8000/mcp", ("127.0.0.1", 8000)),
        ("HTTP://localhost:8000", ("localhost", 8000)),
        ("http://[::1]:8000/mcp/", ("::1", 8000)),
    ],
)
def test_what_is_meant_is_understood(text: str, address: tuple[str, int]) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("localhost", "'localhost' has no port from 0 to 65535: write for example localhost:8000"),
        ("http://localhost/mcp", "'localhost' has no port from 0 to 65535: write for example localhost:8000"),
        ("99999", "'99999' has no port from 0 to 65535: write for example 127.0.0.1:8000"),
        ("a:70000", "'a:70000' has no port from 0 to 65535: write for example 127.0.0.1:8000"),
        (":8000", "':8000' names no host: write 127.0.0.1:8000, or 0.0.0.0:8000 for all networks"),
        ("::1:8000", "'::1:8000' has several colons: write an IPv6 address in brackets, as in [::1]:8000"),
        ("https://a:8000/mcp", "the workbench serves plain HTTP (a reverse proxy adds TLS): write a:8000"),
        ("http://a:8000/api", "the path is always /mcp: write a:8000"),
    ],
)
def test_what_is_wrong_is_answered_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"write") as told:
        read_address(text)
    assert str(told.value) == said
