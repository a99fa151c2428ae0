"""Which paths a server in a sandbox gets by itself, and what is said if its start fails."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.config.model.sandbox import SandboxConfig
from mcp_workbench.downstream.diagnosis.causes import StartFailure
from mcp_workbench.downstream.diagnosis.confined_starts import NETWORK_HINT, PATHS_HINT, PERHAPS, in_sandbox
from mcp_workbench.downstream.sandbox import confined_command, why_not_confined
from mcp_workbench.wire.processes.confinement import FAILED, why_unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.errors import Cause


def script(path: Path, first_line: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first_line}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def readable(command: list[str]) -> list[str]:
    return [path for option, path in pairwise(command) if option == "--read"]


def test_a_program_can_read_its_own_installation_and_that_of_its_interpreter(tmp_path: Path) -> None:
    base = script(tmp_path / "base" / "bin" / "python3.99", "")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    for directory in (venv / "lib", base.parent.parent / "lib", base.parent.parent / "share"):
        directory.mkdir()
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").symlink_to(base)
    script(venv / "bin" / "server", "#!/usr/bin/env -S python -u")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "server").symlink_to(venv / "bin" / "server")
    env = {"PATH": os.pathsep.join((str(tmp_path / "links"), str(venv / "bin")))}
    command = confined_command(ServerConfig(command="server", sandbox=SandboxConfig()), env, None)
    mine = {path.removeprefix(f"{tmp_path}/") for path in readable(command) if path.startswith(str(tmp_path))}
    assert mine == {
        *("links/server", "venv/bin/server", "venv/bin/python", "base/bin/python3.99"),
        *("venv/bin", "venv/lib", "venv/pyvenv.cfg", "base/bin", "base/lib"),
    }
    assert command[command.index("--") + 1 :] == [str(tmp_path / "links" / "server"), "server"]


def test_what_a_server_could_have_put_there_itself_gives_it_nothing_more(tmp_path: Path) -> None:
    data, secrets = tmp_path / "data", tmp_path / "secrets"
    secrets.mkdir()
    script(data / "bin" / "server", f"#!{secrets}/interpreter")
    (data / "bin" / "python").symlink_to(secrets)
    (data / "pyvenv.cfg").touch()
    (data / "link").symlink_to(secrets)
    sandbox = SandboxConfig(read=[str(data / "link")], write=[str(data), str(data / "link")])
    config = ServerConfig(command=str(data / "bin" / "server"), sandbox=sandbox)
    command = confined_command(config, {"PATH": "/usr/bin:/bin"}, None)
    options = command[: command.index("--")]
    assert [word for word in options if word.startswith(str(tmp_path))] == [str(data)]


def test_certificates_can_be_read_with_the_network_only(tmp_path: Path) -> None:
    certificates = tmp_path / "ca.pem"
    certificates.touch()
    env = {"PATH": "/usr/bin:/bin", "SSL_CERT_FILE": str(certificates)}
    for network in (False, True):
        config = ServerConfig(command="sh", sandbox=SandboxConfig(network=network))
        assert (str(certificates) in readable(confined_command(config, env, None))) is network


@pytest.mark.skipif(bool(why_unavailable()), reason=f"no sandbox: {why_unavailable()}")
def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    sandbox = SandboxConfig(read=[str(tmp_path)], write=[str(tmp_path / "data")])
    failure = why_not_confined(ServerConfig(command="sh", sandbox=sandbox))
    assert failure is not None
    assert (failure.cause, str(tmp_path / "data") in failure.reason) == ("file-missing", True)


@pytest.mark.parametrize(
    ("cause", "network", "hint"),
    [
        ("no-network", False, NETWORK_HINT),
        ("silent", False, NETWORK_HINT),
        ("no-network", True, f"Help. {PERHAPS}"),
        ("permission-denied", True, PATHS_HINT),
        ("failed", False, f"Help. {PERHAPS}"),
    ],
)
def test_a_failed_start_is_told_what_the_sandbox_may_have_to_do_with_it(
    cause: Cause, network: bool, hint: str
) -> None:
    failure = in_sandbox(StartFailure(cause, "it ended", "Help."), SandboxConfig(network=network), [])
    assert failure == StartFailure(cause, "it ended", hint)


def test_a_sandbox_that_failed_inside_of_the_process_is_recognized() -> None:
    lines = [f"{FAILED}: [Errno 7] Argument list too long"]
    failure = in_sandbox(StartFailure("failed", "it ended"), SandboxConfig(), lines)
    assert failure.cause == "sandbox-unavailable"
    assert failure.reason.endswith(": [Errno 7] Argument list too long")
