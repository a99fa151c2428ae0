"""Why the system could not start a program, and what the user can do about it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.diagnosis.causes import StartFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config import ServerConfig

SUPPLIER_OF: Final = {
    "npx": "Node.js",
    "node": "Node.js",
    "npm": "Node.js",
    "uvx": "uv",
    "uv": "uv",
    "docker": "Docker",
    "podman": "Podman",
    "bunx": "Bun",
    "bun": "Bun",
    "deno": "Deno",
    "python": "Python",
    "python3": "Python",
    "pipx": "pipx",
}
"""The programs that start most servers, and what each comes with."""
USUAL_PLACES: Final = (
    *("/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin"),
    *("~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.volta/bin", "~/bin"),
)
"""Directories with programs that a terminal often has on its PATH, and a desktop program does not."""
MAX_PATH_CHARACTERS: Final = 300
"""Characters of a PATH that a hint shows."""
FIRST_BYTES: Final = 256
"""Bytes of a file in which Linux looks for the name of its interpreter."""
_EXECUTABLES: Final = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""First bytes of programs for Linux, Windows and macOS."""
_BAD_CPU_TYPE: Final = 86
"""The error of macOS for a program of another processor, which `errno` has only there."""

SHORTER_PATH: Final = "a desktop program has a shorter PATH than a terminal"
OTHER_SYSTEM: Final = "Install the one for this system and processor."


def why_not_spawned(config: ServerConfig, error: OSError, env: Mapping[str, str]) -> StartFailure:
    """Return why a program could not be started. `env` is the environment that it was to get."""
    command = config.command or ""
    if config.cwd is not None and not os.path.isdir(config.cwd):
        reason = f"its working directory '{config.cwd}' is not a directory"
        return StartFailure("file-missing", reason, 'Correct "cwd", or create the directory.')
    found = file_of(command, config, env)
    if isinstance(error, FileNotFoundError):
        if found is not None:
            return _without_interpreter(command, found)
        return _with_arguments(command, config, env) or _missing(command, env)
    if isinstance(error, PermissionError):
        return _forbidden(command, found)
    if error.errno == _BAD_CPU_TYPE:
        return _of_another_system(command)
    if error.errno == errno.ENOEXEC and found is not None:
        if first_bytes(found).startswith(_EXECUTABLES):
            return _of_another_system(command)
        reason = f"command '{command}' is a script whose first line does not name its interpreter"
        return StartFailure("failed", reason, 'Write for example "#!/bin/sh" as its first line.')
    return StartFailure("failed", f"command '{command}' could not be started: {error}")


def file_of(command: str, config: ServerConfig, env: Mapping[str, str]) -> str | None:
    """Return the file that the command names; None if there is none."""
    if os.path.dirname(command):
        path = os.path.join(config.cwd or "", command)
        return path if os.path.exists(path) else None
    return shutil.which(command, path=env.get("PATH"))


def first_bytes(path: str) -> bytes:
    """Return the beginning of a file, where a script names its interpreter; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(FIRST_BYTES)
    except OSError:
        return b""


def _of_another_system(command: str) -> StartFailure:
    reason = f"command '{command}' was built for another system or processor"
    return StartFailure("wrong-architecture", reason, OTHER_SYSTEM)


def _without_interpreter(command: str, found: str) -> StartFailure:
    """Return why a program that is there was not found: what should run it is missing."""
    first_line = first_bytes(found).partition(b"\n")[0]
    if not first_line.startswith(b"#!"):
        return _of_another_system(command)
    interpreter = first_line[2:].decode(errors="replace").strip()
    reason = f"command '{command}' needs '{interpreter}', which was not found"
    return StartFailure("program-missing", reason, "Install that, or correct the first line of the script.")


def _with_arguments(command: str, config: ServerConfig, env: Mapping[str, str]) -> StartFailure | None:
    """Return the failure of a command that has its arguments in it; None if it has not."""
    try:
        program, *args = shlex.split(command)
    except ValueError:  # quotes that do not match
        return None
    if not args or not (_supplier(program) or file_of(program, config, env)):
        return None
    rewritten = json.dumps([*args, *config.args], ensure_ascii=False)
    reason = f"command '{command}' was not found: it has arguments in it"
    hint = f'Write "command": {json.dumps(program, ensure_ascii=False)}, "args": {rewritten}'
    return StartFailure("arguments-in-command", reason, hint)


def _supplier(command: str) -> str | None:
    return SUPPLIER_OF.get(os.path.splitext(os.path.basename(command))[0].lower())


def _missing(command: str, env: Mapping[str, str]) -> StartFailure:
    reason = f"command '{command}' was not found"
    if os.path.dirname(command):
        return StartFailure(
            "program-missing", reason, 'Correct the path in "command", or install the program.'
        )
    path = os.pathsep.join(dict.fromkeys(env.get("PATH", os.defpath).split(os.pathsep)))
    if command == "python" and (python3 := shutil.which("python3", path=path)):
        return StartFailure("program-missing", reason, f'Write "command": "python3": it is at {python3}.')
    places = os.pathsep.join(str(Path(place).expanduser()) for place in USUAL_PLACES)
    searched = f"on the PATH: {path[:MAX_PATH_CHARACTERS]}{'…' if len(path) > MAX_PATH_CHARACTERS else ''}"
    if elsewhere := shutil.which(command, path=places):
        hint = f'Write "command": {json.dumps(elsewhere)}. That directory is not {searched}'
        return StartFailure("program-missing", reason, hint)
    supplier = _supplier(command)
    install = f"It comes with {supplier}: install that" if supplier else "Install it"
    hint = f'{install}, or write its full path into "command" ({SHORTER_PATH}). It is not {searched}'
    return StartFailure("program-missing", reason, hint)


def _forbidden(command: str, found: str | None) -> StartFailure:
    if found is not None and os.path.isdir(found):
        reason = f"command '{command}' is a directory"
        return StartFailure("permission-denied", reason, 'Name the program in "command".')
    reason = f"command '{command}' is not executable"
    return StartFailure("permission-denied", reason, f"Make it executable: chmod +x {shlex.quote(command)}")
