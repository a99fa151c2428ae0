"""Servers that listen on a port of this machine, as processes of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tests.real.servers import everything
from tests.structure.package import ROOT
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def listening(command: Sequence[str], port: int, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Runs a command that is to listen there, from when it does."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environ, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    try:
        until = time.monotonic() + 2 * PATIENCE
        while not _answers(port):
            assert process.poll() is None, f"{command} ended with {process.returncode}"
            assert time.monotonic() < until, f"{command} does not listen"
            time.sleep(0.02)  # no event tells that another process listens
        yield
    finally:
        process.kill()
        process.wait(PATIENCE)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextmanager
def official(way: str, port: int | None = None) -> Iterator[str]:
    """The address of a server on the official Python SDK: `stream`, `json`, `stateless` or not; or `sse`."""
    port = port or free_port()
    command = [sys.executable, "-m", "tests.servers.official_http", str(port), way]
    with listening(command, port):
        yield f"http://127.0.0.1:{port}/{'sse' if way == 'sse' else 'mcp'}"


@contextmanager
def everything_over(way: str, port: int | None = None) -> Iterator[str]:
    """The address of the reference server in TypeScript: `streamableHttp` or `sse`."""
    port = port or free_port()
    entry = everything()
    with listening([entry["command"], *entry["args"], way], port, {"PORT": str(port)}):
        yield f"http://127.0.0.1:{port}/{'sse' if way == 'sse' else 'mcp'}"
