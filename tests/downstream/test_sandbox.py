"""Which paths a server in a sandbox gets by itself, and what is said if its start fails."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.config.model.sandbox import SandboxConfig
from mcp_workbench.downstream.diagnosis.causes import StartFailure
from mcp_workbench.downstream.diagnosis.confined_starts import NETWORK_HINT, PATHS_HINT, PERHAPS, in_sandbox
from mcp_workbench.downstream.diagnosis.starts import LastWords, on_exit
from mcp_workbench.downstream.sandbox import RESOLVER, confined_command, why_not_confined
from mcp_workbench.wire.processes.confinement import FAILED, why_unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.errors import Cause


def script(path: Path, first_line: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first_line}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def command_of(config: ServerConfig, env: dict[str, str], scratch: str | None) -> list[str]:
    return confined_command(config, env, scratch)[0]


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
    command = command_of(ServerConfig(command="server", sandbox=SandboxConfig()), env, None)
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
    command = command_of(config, {"PATH": "/usr/bin:/bin"}, None)
    options = command[: command.index("--")]
    assert [word for word in options if word.startswith(str(tmp_path))] == [str(data)]


class Project:
    """A directory that a server can write to, with links into it and, as the server made them, out of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.writable = directory / "project"
        self.secrets = directory / "secrets"
        for made in (self.writable / "real", self.secrets / "sub", directory / "bin"):
            made.mkdir(parents=True)
        (self.writable / "release").symlink_to(self.secrets)
        (self.writable / "back").symlink_to("real/..")
        (directory / "current").symlink_to(self.writable / "release")
        (directory / "relative").symlink_to("project/release")
        (directory / "alias").symlink_to(self.writable)
        (directory / "up").symlink_to(self.writable / "real" / "..")
        (directory / "twice").symlink_to("current")
        (directory / "circle").symlink_to("circle")
        script(self.secrets / "interpreter", "")
        script(self.writable / "tool", f"#!{self.secrets}/interpreter")
        (directory / "bin" / "tool").symlink_to(self.writable / "tool")

    def allowed(
        self, command: str = "sh", env: dict[str, str] | None = None, **sandbox: list[str]
    ) -> set[str]:
        """The paths in this directory that a server gets rights on by a rule of their own."""
        paths = {key: [str(self.directory / name) for name in named] for key, named in sandbox.items()}
        config = ServerConfig(command=command, sandbox=SandboxConfig(network=True, **paths))
        words = command_of(config, {"PATH": "/usr/bin:/bin", **(env or {})}, None)
        options = words[: words.index("--")]
        return {
            word.removeprefix(f"{self.directory}/")
            for word in options
            if word.startswith(str(self.directory))
        }


@pytest.mark.parametrize(
    "path",
    ["current", "current/sub", "relative", "relative/sub", "alias/release", "alias/release/sub", "twice"],
)
def test_a_link_through_a_writable_directory_gives_nothing_more(tmp_path: Path, path: str) -> None:
    project = Project(tmp_path)
    assert project.allowed(read=[path], write=["project"]) == {"project"}
    assert project.allowed(write=["project", path]) == {"project"}
    certificates = {"SSL_CERT_FILE": str(tmp_path / path)}
    assert project.allowed(env=certificates, write=["project"]) == {"project"}
    # Without a writable directory on their way, links are as good as what they lead to.
    assert project.allowed(read=[path]) == {path}


def test_a_program_that_is_a_link_into_a_writable_directory_gives_nothing_more(tmp_path: Path) -> None:
    project = Project(tmp_path)
    command = str(tmp_path / "bin" / "tool")
    assert project.allowed(command, write=["project"]) == {"project"}
    assert project.allowed(command) >= {"bin/tool", "project/tool", "secrets/interpreter"}


@pytest.mark.parametrize(
    ("first_line", "is_followed"),
    [
        ("#!{it}", True),
        ("#! \t {it}\t-u", True),
        ("#!{it}\0garbage", True),
        ("#!{it}\0\n", True),
        ("#!/usr/bin/env\t-S\tA=1\tinterpreter\t-u", True),
        ("#! \v{it}", False),
        ("#!\f{it}", False),
        ("#!{it}\v", False),
        ("#!{it}\r", False),
        ("#!\0{it}", False),
        ("#!{it}/../..", False),
        ("#!interpreter", False),
        ("#!/usr/bin/env interpreter\v", False),
        ("#!/usr/bin/env ./interpreter", False),
        ("#!/usr/bin/env\0interpreter", False),
        ("#!", False),
        ("#!\0", False),
        # The system does not run a script with a name that may go on after what it reads.
        ("#!{it}".ljust(256, " "), True),
        ("#!/usr/bin/env interpreter".ljust(300, "x"), False),
    ],
)
def test_an_interpreter_is_found_as_the_system_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_line: str, is_followed: bool
) -> None:
    project = Project(tmp_path)
    interpreter = project.secrets / "interpreter"
    monkeypatch.chdir(project.secrets)
    tool = script(tmp_path / "own" / "tool", first_line.format(it=interpreter))
    allowed = project.allowed(str(tool), {"PATH": f"{project.secrets}:/usr/bin:/bin"})
    assert allowed == {"own/tool", *(["secrets/interpreter"] if is_followed else [])}


def test_a_name_that_is_cut_off_is_no_interpreter(tmp_path: Path) -> None:
    project = Project(tmp_path)
    cut_off = tmp_path / "d" / ("x" * (254 - len(f"{tmp_path}/d/")))
    for program in (cut_off, cut_off.with_name(f"{cut_off.name}yz")):
        script(program, "")
    tool = script(tmp_path / "own" / "tool", f"#!{cut_off}yz")
    assert project.allowed(str(tool)) == {"own/tool"}


def test_a_program_on_a_relative_path_is_no_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path)
    monkeypatch.chdir(tmp_path)
    tool = script(tmp_path / "own" / "tool", "#!/usr/bin/env interpreter")
    assert project.allowed(str(tool), {"PATH": "secrets:/usr/bin"}) == {"own/tool"}


def test_a_writable_directory_can_be_named_by_links(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.allowed(read=["project/real"], write=["alias"]) == {"alias"}
    assert project.allowed(read=["secrets"], write=["alias", "project", "current"]) == {
        *("alias", "project", "secrets"),
    }
    # The server could make another directory of what is before the two dots.
    assert project.allowed(write=["up"]) == set()
    assert project.allowed(write=["project/back"]) == set()


def test_a_link_in_a_circle_leads_nowhere(tmp_path: Path) -> None:
    assert Project(tmp_path).allowed(read=["secrets"], write=["circle"]) == {"circle", "secrets"}


def test_a_temporary_directory_in_a_writable_one_needs_no_rule(tmp_path: Path) -> None:
    config = ServerConfig(command="sh", sandbox=SandboxConfig(write=[str(tmp_path)]))
    command = command_of(config, {"PATH": "/usr/bin:/bin"}, str(tmp_path / "scratch"))
    assert str(tmp_path / "scratch") not in command


def test_a_relative_certificate_counts_from_the_directory_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    config = ServerConfig(command="sh", cwd=str(tmp_path), sandbox=SandboxConfig(network=True))
    env = {"PATH": "/usr/bin:/bin", "SSL_CERT_FILE": "ca.pem"}
    assert str(tmp_path / "ca.pem") in readable(command_of(config, env, None))


@pytest.mark.parametrize(
    ("leads_to", "allowed"),
    [
        ("/etc/resolv.conf", "/etc/resolv.conf"),
        ("/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve"),
        ("/run/resolv.conf", "/run/resolv.conf"),
    ],
)
def test_no_more_than_the_names_of_the_resolvers_can_be_read(
    monkeypatch: pytest.MonkeyPatch, leads_to: str, allowed: str
) -> None:
    monkeypatch.setattr(os.path, "realpath", lambda path: leads_to if path == RESOLVER else path)
    monkeypatch.setattr(os.path, "exists", lambda _: True)
    config = ServerConfig(command="/bin/sh", sandbox=SandboxConfig(network=True))
    assert allowed in readable(command_of(config, {}, None))
    assert "/run" not in readable(command_of(config, {}, None))


def test_certificates_can_be_read_with_the_network_only(tmp_path: Path) -> None:
    certificates = tmp_path / "ca.pem"
    certificates.touch()
    env = {"PATH": "/usr/bin:/bin", "SSL_CERT_FILE": str(certificates)}
    for network in (False, True):
        config = ServerConfig(command="sh", sandbox=SandboxConfig(network=network))
        assert (str(certificates) in readable(command_of(config, env, None))) is network


@pytest.mark.skipif(bool(why_unavailable()), reason=f"no sandbox: {why_unavailable()}")
def test_variables_for_loading_programs_are_given_to_the_server_only(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    copy = "import sys; open(sys.argv[1], 'wb').write(open('/proc/self/environ', 'rb').read())"
    config = ServerConfig(
        command=sys.executable,
        args=["-I", "-S", "-c", copy, str(inside / "environment")],
        sandbox=SandboxConfig(write=[str(inside)]),
    )
    env = {
        "PATH": "/usr/bin:/bin",
        "TOKEN": "not-for-others",
        "LD_LIBRARY_PATH": f"{tmp_path}/a=b\n:\udcff",
        "LD_DEBUG": "libs",
        # Each process that is not confined writes such a file, with its number at the end.
        "LD_DEBUG_OUTPUT": str(tmp_path / "loaded"),
        "GCONV_PATH": "",
        "LOCPATH": str(inside),
        "MALLOC_ARENA_MAX": "1",
    }
    command, environment = confined_command(config, env, None)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    variables = (inside / "environment").read_bytes().rstrip(b"\0").split(b"\0")
    assert sorted(variables) == sorted(os.fsencode(f"{name}={value}") for name, value in env.items())
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert environment == {"PATH": "/usr/bin:/bin", "TOKEN": "not-for-others"}
    assert "not-for-others" not in " ".join(command)


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


def test_a_script_that_the_sandbox_hides_gets_the_setting_that_shows_it() -> None:
    config = ServerConfig(command="python3", args=["/srv/server.py"], sandbox=SandboxConfig())
    words = LastWords([], ["python3: can't open file '/srv/server.py': [Errno 13] Permission denied"])
    failure = on_exit(config, "the server exited with code 2", 2, words, {})
    assert (failure.cause, failure.hint) == ("permission-denied", PATHS_HINT)
    assert "Add the directory to sandbox.read" in failure.hint


def test_a_sandbox_that_failed_inside_of_the_process_is_recognized() -> None:
    lines = [f"{FAILED}: [Errno 7] Argument list too long"]
    failure = in_sandbox(StartFailure("failed", "it ended"), SandboxConfig(), lines)
    assert failure.cause == "sandbox-unavailable"
    assert failure.reason.endswith(": [Errno 7] Argument list too long")
