"""Where it listens, and what is said of places where it cannot."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from tests.serve.admission.shared import sharing
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.configs import server, toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


async def failed_start(home: Path, address: str) -> tuple[int | None, str]:
    """How it ended, and what it said."""
    command = serve_command(write_config(home, toolboxes()), "serve", "--http", address)
    process = await asyncio.create_subprocess_exec(
        *command,
        env=clean_environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            printed, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert printed == b""
    return process.returncode, said.decode()


async def test_an_address_that_is_taken_is_told_with_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = await failed_start(tmp_path, f"127.0.0.1:{port}")
    assert code == 1
    assert f"127.0.0.1:{port}" in said
    assert "--http 127.0.0.1:" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "x:y",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:99999",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "::1:8000",
        ":8000",
        "[::1]",
        "no.such.host.invalid:0",
        "localhost:" + "9" * 5000,
    ],
)
async def test_an_address_that_is_none_is_told(tmp_path: Path, address: str) -> None:
    code, said = await failed_start(tmp_path, address)
    assert code in (1, 2)
    assert "Traceback" not in said
    assert said.strip()


async def test_it_can_listen_on_ipv6(tmp_path: Path) -> None:
    async with sharing(tmp_path, toolboxes(dev={"files": server()}), address="[::1]:0") as shared:
        assert shared.url.startswith("http://[::1]:")
        client = await shared.client(None, "modern")
        assert client.greeting["supportedVersions"] == ["2026-07-28"]


async def test_a_name_of_this_machine_may_stand_for_several_addresses(tmp_path: Path) -> None:
    async with sharing(tmp_path, toolboxes(dev={"files": server()}), address="localhost:0") as shared:
        client = await shared.client(None, "modern")
        assert client.greeting["supportedVersions"] == ["2026-07-28"]
