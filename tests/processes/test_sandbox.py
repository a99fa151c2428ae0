"""A server with a `sandbox` can use what the configuration names and nothing else, or it is not started."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.processes.confinement import why_unavailable
from tests.servers import confined, scripted
from tests.support import refusing_calls
from tests.support.client import clean_environment, write_config
from tests.support.configs import server, toolboxes
from tests.support.journal import Journal
from tests.support.processes import wait_until_gone
from tests.support.sessions import LegacySession, text_of
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Start
    from tests.servers.scripted import Script
    from tests.support.client import Json

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=f"no sandbox: {why_unavailable()}")

CREATE_RULESET, RESTRICT_SELF = 444, 446
"""System calls of Landlock, which have the same numbers on all processors."""
ALWAYS = {"socket pair", "own limits", "temporary file", "write inside", "device"}
STUBBORN: Script = {
    "ignore_term": True,
    "ignore_eof": True,
    "grandchild": True,
    "distant_grandchild": True,
}


class Surroundings:
    """A directory that a server may use, and what it may not: files, and sockets that somebody listens on."""

    def __init__(self, directory: Path) -> None:
        self.inside = directory / "inside"
        self.inside.mkdir()
        self.secret = directory / "secret"
        self.secret.write_text("hunter2", encoding="utf-8")
        self.written = directory / "written"
        self.scratch = directory / "tmp"
        self.scratch.mkdir()
        self.out = self.inside / "out.json"
        self.journal = Journal(self.inside / "journal")
        self.told: Json = {
            "read": str(self.secret),
            "write": str(self.written),
            "empty": str(self.secret),
            "inside": str(self.inside),
            "outsider": os.getpid(),
        }

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen on TCP and on a Unix socket, whose path has to be short."""
        with ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            self.told |= {"port": tcp.getsockname()[1], "unix": f"{directory}/s"}
            unix.bind(self.told["unix"])
            unix.listen()
            yield

    def entry(self, *, network: bool = False, **script: object) -> Json:
        """A server that tries everything before it answers."""
        entry = server(self.journal, **script)  # type: ignore[arg-type] # as the caller says
        args = [
            "-S",
            confined.__file__,
            str(self.out),
            json.dumps(self.told),
            entry["command"],
            *entry["args"],
        ]
        code = [str(Path(confined.__file__)), str(Path(scripted.__file__))]
        sandbox = {"network": network, "read": code, "write": ["inside"]}
        return {"command": entry["command"], "args": args, "sandbox": sandbox}


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[Surroundings]:
    made = Surroundings(tmp_path)
    with made.listening():
        yield made


async def greeted(start: Start, surroundings: Surroundings, entry: Json) -> LegacySession:
    env = {"TMPDIR": str(surroundings.scratch)}
    session = LegacySession(await start(toolboxes(dev={"it": entry}), env=env))
    await session.greet()
    return session


@pytest.mark.parametrize("network", [False, True])
async def test_a_confined_server_and_its_children_can_use_only_what_is_named(
    start: Start, surroundings: Surroundings, network: bool
) -> None:
    session = await greeted(start, surroundings, surroundings.entry(network=network))
    assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'
    worked = json.loads(surroundings.out.read_text(encoding="utf-8"))
    expected = ALWAYS | ({"tcp", "udp"} if network else set())
    for found in worked.values():
        assert {name for name, did in found.items() if did} == expected
    assert (surroundings.secret.read_text(encoding="utf-8"), surroundings.written.exists()) == (
        "hunter2",
        False,
    )
    assert len(list(surroundings.scratch.iterdir())) == 1
    await session.client.close()
    # Its temporary directory goes with it.
    assert list(surroundings.scratch.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_confined_server_that_will_not_end_is_ended_with_its_helpers(
    start: Start, surroundings: Surroundings, how: signal.Signals
) -> None:
    session = await greeted(start, surroundings, surroundings.entry(**STUBBORN))
    await session.open_toolbox("dev")
    pids = surroundings.journal.pids
    assert len(pids) == 3
    await session.client.signal(how)
    await wait_until_gone(pids)


def run_without(call: int, error: int, directory: Path, *args: str) -> Json:
    """What a command prints as JSON where a system call fails. It has to fail too."""
    command = [sys.executable, refusing_calls.__file__, str(call), str(error)]
    ran = subprocess.run(
        [*command, sys.executable, "-m", "mcp_workbench", *args, "--json"],
        cwd=directory,
        env=clean_environment(directory),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode != 0
    printed: Json = json.loads(ran.stdout)
    return printed


@pytest.mark.parametrize(
    ("call", "error"),
    [(CREATE_RULESET, errno.ENOSYS), (CREATE_RULESET, errno.EOPNOTSUPP), (RESTRICT_SELF, errno.E2BIG)],
    ids=["an old kernel", "turned off", "refused at the last step"],
)
def test_a_server_that_cannot_be_confined_is_not_started(
    surroundings: Surroundings, tmp_path: Path, call: int, error: int
) -> None:
    write_config(tmp_path, toolboxes(dev={"it": surroundings.entry()}))
    (failed,) = run_without(call, error, tmp_path, "check", "--connect")["servers"]
    assert failed["cause"] == "sandbox-unavailable"
    assert failed["error"].startswith('its "sandbox" cannot be set up: ')
    assert not surroundings.out.exists()


def test_the_doctor_says_that_a_server_cannot_be_confined(surroundings: Surroundings, tmp_path: Path) -> None:
    write_config(tmp_path, toolboxes(dev={"it": surroundings.entry()}))
    findings = run_without(CREATE_RULESET, errno.ENOSYS, tmp_path, "doctor")["findings"]
    (finding,) = [one for one in findings if one["code"] == "sandbox-unavailable"]
    assert (finding["severity"], finding["servers"]) == ("problem", ["dev/it"])
