"""Tries what a sandbox forbids, in this process and in one that it starts, and then becomes another program.

`confined.py OUT TOLD PROGRAM ARGUMENT…` writes a JSON object to the file OUT: for each attempt whether it
worked, apart for the grandchild. TOLD is a JSON object with the paths and the port to try.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _send_datagram(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


def _connect(family: socket.AddressFamily, address: Any) -> None:
    with socket.socket(family) as connection:
        connection.connect(address)


def attempts(told: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """What is tried, by name."""
    return {
        "read outside": lambda: Path(told["read"]).read_text(encoding="utf-8"),
        "list outside": lambda: list(Path(told["read"]).parent.iterdir()),
        "write outside": lambda: Path(told["write"]).write_text("x", encoding="utf-8"),
        "empty outside": lambda: os.truncate(told["empty"], 0),
        "read a neighbour's environment": lambda: Path(f"/proc/{told['outsider']}/environ").read_bytes(),
        "tcp": lambda: _connect(socket.AF_INET, ("127.0.0.1", told["port"])),
        "udp": lambda: _send_datagram(told["port"]),
        "unix": lambda: _connect(socket.AF_UNIX, told["unix"]),
        "socket pair": socket.socketpair,
        "pair of datagrams": lambda: socket.socketpair(type=socket.SOCK_DGRAM),
        "raw pair": lambda: socket.socketpair(type=socket.SOCK_RAW | socket.SOCK_CLOEXEC),
        "limits of a neighbour": lambda: resource.prlimit(told["outsider"], resource.RLIMIT_CPU),
        "own limits": lambda: resource.setrlimit(
            resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)
        ),
        "temporary file": lambda: tempfile.TemporaryFile().close(),
        "write inside": lambda: Path(told["inside"], f"{os.getpid()}").write_text("x", encoding="utf-8"),
        "device": lambda: Path(os.devnull).write_text("x", encoding="utf-8"),
    }


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except PermissionError:
        return False
    return True


def main(out: str, told: str, *program: str) -> None:
    """Try everything, twice, and become the program."""
    worked = {name: _works(attempt) for name, attempt in attempts(json.loads(told)).items()}
    if out == "grandchild":
        print(json.dumps(worked))
        return
    command = [sys.executable, "-S", __file__, "grandchild", told]
    inner = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    found = json.dumps({"child": worked, "grandchild": json.loads(inner)})
    Path(out).write_text(found, encoding="utf-8")
    os.execv(program[0], program)  # noqa: S606 - as the test says


if __name__ == "__main__":
    main(*sys.argv[1:])
