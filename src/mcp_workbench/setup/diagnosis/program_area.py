"""Looks at the programs that start servers: whether they are found, and the versions of the usual ones.

A program is looked for in the PATH that the server would have. Only well-known launchers that were found by
their bare name are asked for a version: the command of a server itself is never run.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.diagnosis.spawning import SUPPLIER_OF
from mcp_workbench.downstream.environment import child_environment
from mcp_workbench.setup.diagnosis.examined import names, title
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.diagnosis.sandboxes import look_at_sandboxes
from mcp_workbench.setup.diagnosis.version_calls import VERSION_SECONDS
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding
    from mcp_workbench.setup.diagnosis.version_calls import VersionAnswer


class _Packages(msgspec.Struct, frozen=True):
    """The packages that bring a product: of Homebrew, and of Debian if it has one."""

    brew: str
    apt: str = ""


_PACKAGES: Final = {
    "Node.js": _Packages("node", "nodejs npm"),
    "uv": _Packages("uv"),
    "Python": _Packages("python", "python3"),
    "pipx": _Packages("pipx", "pipx"),
    "Docker": _Packages("docker", "docker.io"),
    "Podman": _Packages("podman", "podman"),
    "Bun": _Packages("bun"),
    "Deno": _Packages("deno"),
}
"""By the product that a launcher comes with, as `SUPPLIER_OF` names it."""
_RUNS_IN: Final = {"npm": "node", "npx": "node"}
"""Launchers that are programs for another one, which is asked for its version too."""
OLDEST: Final[dict[str, tuple[int, ...]]] = {"node": (20,), "python": (3, 10), "python3": (3, 10)}
"""The oldest version of a program that most servers still run with."""

_USER_OF_NOTHING: Final = ServerConfig(command="true")
_BATCH: Final = (".exe", ".cmd", ".bat")


class NeededProgram(msgspec.Struct, frozen=True):
    """A program that servers are started with, and the file that it is found at."""

    command: str
    path: str | None
    """The path of the file; None if it was not found."""
    search_path: str
    """The PATH that was searched."""
    servers: tuple[Origin, ...]
    is_usual: bool
    """Whether it is a well-known launcher that was found by its bare name."""


def needed_programs(examined: Examined) -> list[NeededProgram]:
    """Return the programs that the servers of a configuration need, each with its servers."""
    users: dict[tuple[str, str, str], list[Origin]] = {}
    # The environment of most servers is the same, and a configuration may have many.
    plain = _search_path(child_environment(_USER_OF_NOTHING, examined.environ))
    for origin, server in examined.servers.items():
        if server.command is None:
            continue
        path = _search_path(child_environment(server, examined.environ)) if server.env else plain
        directory = server.cwd or "" if os.path.dirname(server.command) else ""
        users.setdefault((server.command, path, directory), []).append(origin)
    return [
        NeededProgram(
            command,
            find_program(command, path, directory),
            path,
            tuple(origins),
            not os.path.dirname(command) and _bare(command) in SUPPLIER_OF,
        )
        for (command, path, directory), origins in users.items()
    ]


def find_program(command: str, search_path: str, directory: str = "") -> str | None:
    """Return the file that a command starts, as the system looks for it; None if there is none."""
    if not os.path.dirname(command):
        return shutil.which(command, path=search_path)
    path = os.path.join(directory, command)
    return path if os.path.isfile(path) else None


def programs_to_ask(programs: list[NeededProgram]) -> dict[str, tuple[str, str]]:
    """Return the well-known programs to ask for a version: their names and PATHs, by the file of each."""
    asked: dict[str, tuple[str, str]] = {}
    for program in programs:
        if not program.is_usual or program.path is None:
            continue
        asked[program.path] = _bare(program.command), program.search_path
        interpreter = _RUNS_IN.get(_bare(program.command))
        if interpreter and (path := shutil.which(interpreter, path=program.search_path)) is not None:
            asked[path] = interpreter, program.search_path
    return asked


def look_at_programs(
    examined: Examined, programs: list[NeededProgram], answers: Mapping[str, VersionAnswer]
) -> Area:
    """Return which programs are missing, too old or broken. `answers` has their versions by path."""
    mask = examined.loaded.secrets.mask
    findings = [finding for program in programs for finding in _look(examined, program, mask)]
    findings += _missing_directories(examined, mask)
    findings += look_at_sandboxes(examined)
    asked = programs_to_ask(programs)
    shown = []
    for path, (name, _) in asked.items():
        answer = answers[path]
        shown.append(f"{name} {answer.version}".rstrip())
        findings += _judge(name, path, answer, mask)
    others = len({program.path for program in programs if program.path} - asked.keys())
    shown += [count(others, "other", "others")] if others else []
    return Area("programs", ", ".join(shown) or "none is needed", tuple(findings))


def _look(examined: Examined, program: NeededProgram, mask: Callable[[str], str]) -> Iterator[Finding]:
    servers = tuple(map(title, program.servers))
    line = examined.line(program.servers[0], "command")
    command = mask(program.command)
    if program.path is not None:
        yield from _look_at_file(examined, program, command, line)
        return
    first = program.command.split(maxsplit=1)[0]
    if first != program.command and find_program(first, program.search_path) is not None:
        yield found(
            "arguments-in-command",
            f"{names(servers)}: no program is called '{command}'. The arguments belong in \"args\".",
            servers=servers,
            file=examined.path,
            line=line,
            remedy=f'Write "command": "{mask(first)}", and each argument as a string of "args".',
            command=examined.edit(line),
        )
        return
    remedy, mending = _way_to_get(program, examined, line)
    where = "" if os.path.dirname(program.command) else " on the PATH"
    yield found(
        "program-missing",
        f"The command '{command}' was not found{where}. It is needed by {names(servers)}.",
        servers=servers,
        file=examined.path,
        line=line,
        remedy=remedy,
        command=mending,
    )


def _look_at_file(
    examined: Examined, program: NeededProgram, command: str, line: int | None
) -> Iterator[Finding]:
    """Yield what is wrong with a program that is there."""
    path = program.path or ""
    servers = tuple(map(title, program.servers))
    if not os.access(path, os.X_OK):
        yield found(
            "program-not-executable",
            f"The program {command} is not executable. It is needed by {names(servers)}.",
            servers=servers,
            file=examined.path,
            line=line,
            command=f"chmod +x {shlex.quote(examined.loaded.secrets.mask(path))}",
        )
    interpreter = _RUNS_IN.get(_bare(program.command)) if program.is_usual else None
    if interpreter and shutil.which(interpreter, path=program.search_path) is None:
        remedy, mending = _way_to_install(interpreter, examined.environ)
        yield found(
            "program-missing",
            f"The command '{command}' is there, but '{interpreter}', in which it runs, was not found.",
            servers=servers,
            file=examined.path,
            line=line,
            remedy=remedy,
            command=mending or examined.edit(line),
        )


def _missing_directories(examined: Examined, mask: Callable[[str], str]) -> Iterator[Finding]:
    for origin, server in examined.servers.items():
        if server.cwd is not None and not os.path.isdir(server.cwd):
            yield found(
                "directory-missing",
                f"The working directory of {title(origin)}, {mask(server.cwd)}, does not exist.",
                servers=(title(origin),),
                file=examined.path,
                line=examined.line(origin, "cwd"),
                remedy='Create it, or correct "cwd".',
                command=f"mkdir -p {shlex.quote(mask(server.cwd))}",
            )


def _judge(name: str, path: str, answer: VersionAnswer, mask: Callable[[str], str]) -> Iterator[Finding]:
    command = shlex.join((path, "--version"))
    if answer.failure:
        yield found(
            "program-fails",
            f"{path} fails when it is asked for its version: {mask(answer.failure)}",
            file=path,
            remedy="Reinstall it. To see more:",
            command=command,
        )
    elif not answer.version:
        yield found(
            "program-silent",
            f"{path} did not tell its version within {VERSION_SECONDS:g} s.",
            file=path,
            remedy="To see why:",
            command=command,
        )
    elif name in OLDEST and answer.numbers and answer.numbers < OLDEST[name]:
        oldest = ".".join(map(str, OLDEST[name]))
        product = SUPPLIER_OF[name]
        yield found(
            "program-too-old",
            f"{path} is {product} {answer.version}. Most servers need {oldest} or newer.",
            file=path,
            remedy=f"Install a newer {product}. To see which one is used:",
            command=command,
        )


def _way_to_get(program: NeededProgram, examined: Examined, line: int | None) -> tuple[str, str]:
    """Return what to do about a missing program, in words and as a command."""
    name = _bare(program.command)
    if name == "python" and shutil.which("python3", path=program.search_path) is not None:
        return 'Write "command": "python3", which is there.', examined.edit(line)
    if program.command.startswith("~"):
        return "No shell replaces the ~. Write ${HOME} in its place.", examined.edit(line)
    if os.path.dirname(program.command):
        return "Correct the path.", examined.edit(line)
    if name in SUPPLIER_OF:
        remedy, command = _way_to_install(name, examined.environ)
        return remedy, command or examined.edit(line)
    return 'Install it, or give its full path in "command".', examined.edit(line)


def _way_to_install(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return how a launcher is installed here, in words and as a command; an empty one if not known."""
    product = SUPPLIER_OF[name]
    packages = _PACKAGES[product]
    search_path = environ.get("PATH", os.defpath)
    remedy = f'It comes with {product}: install that, or give the full path in "command".'
    if shutil.which("brew", path=search_path) is not None:
        return remedy, f"brew install {packages.brew}"
    if product == "uv":
        by = (
            "pipx install uv"
            if shutil.which("pipx", path=search_path)
            else "python3 -m pip install --user uv"
        )
        return remedy, by
    if sys.platform == "linux" and packages.apt and shutil.which("apt-get", path=search_path) is not None:
        return remedy, f"sudo apt-get install {packages.apt}"
    return remedy, ""


def _search_path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)


def _bare(command: str) -> str:
    """Return the name of a program, without a path and without an extension of Windows."""
    name = os.path.basename(command)
    stem, extension = os.path.splitext(name)
    return stem if extension.lower() in _BATCH else name
