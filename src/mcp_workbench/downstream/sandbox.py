"""Decides which paths a server in a sandbox can use, and makes the command that confines it.

Always allowed: programs, libraries and settings of the system, the server's own program with its interpreter,
and a private temporary directory. Everything else is named in the configuration. How a process is confined is
in `wire.processes.confinement`.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.diagnosis.causes import StartFailure
from mcp_workbench.downstream.diagnosis.confined_starts import unavailable
from mcp_workbench.downstream.diagnosis.spawning import FIRST_BYTES, file_of, first_bytes
from mcp_workbench.downstream.writable_places import WritablePlaces
from mcp_workbench.wire.processes import confinement
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_workbench.config import ServerConfig

SYSTEM_PATHS: Final = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/etc"),
    *("/nix/store", "/run/current-system", "/gnu/store", "/snap", "/home/linuxbrew/.linuxbrew"),
    *("/var/lib/ca-certificates", "/proc", "/sys"),
)
"""Directories with programs, libraries and settings for all users, which can be read."""
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that keep nothing and reveal nothing, which can be read and written."""
RESOLVER: Final = "/etc/resolv.conf"
CERTIFICATE_VARIABLES: Final = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""Variables with the path of public certificates, which a server with network can read."""
LOADING_VARIABLES: Final = re.compile(
    "LD_.*|MALLOC_.*|GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH"
    "|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR",
    re.DOTALL,
)
"""Variables that make any program load other code or data, or write files.

These are the ones that glibc ignores in programs with more rights than their user, except TMPDIR.
"""
DELETE_SECONDS: Final = 1.0
"""Seconds for the temporary directory of a server to be deleted, during which its end waits."""
_FIRST_LINE: Final = re.compile(rb"#![ \t]*([^ \t\0\n]+)(?=[ \t\0\n])([^\0\n]*)")
"""The first line of a script, split as Linux does it. A name that is cut off does not count."""
_BESIDE_BIN: Final = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
"""What belongs to a program in a `bin`. Not `share`: that of `~/.local` has data of other programs."""


def why_not_confined(config: ServerConfig) -> StartFailure | None:
    """Return why a server with a sandbox cannot be started here; None if it can."""
    if why := confinement.why_unavailable():
        return unavailable(why)
    sandbox = config.sandbox
    for path in (*sandbox.read, *sandbox.write) if sandbox is not None else ():
        if not os.path.exists(path):
            reason = f"'{path}', which its \"sandbox\" names, does not exist"
            return StartFailure("file-missing", reason, 'Create it, or correct the path in "sandbox".')
    return None


def confined_command(
    config: ServerConfig, env: Mapping[str, str], scratch: str | None
) -> tuple[list[str], dict[str, str]]:
    """Return the command that confines itself and then becomes the server, and the environment for it.

    `env` is the environment of the server, and `scratch` its temporary directory, if it has one. Raises
    FileNotFoundError if there is no such program.
    """
    sandbox = config.sandbox
    program = file_of(config.command or "", config, env)
    if sandbox is None or program is None:
        raise FileNotFoundError(config.command)
    program = os.path.abspath(program)
    writable = WritablePlaces(sandbox.write)
    allowed = [*SYSTEM_PATHS, *_paths_of(program, env.get("PATH", os.defpath), writable)]
    if sandbox.network:
        allowed += [*_certificates(config, env), *([] if writable.lead(RESOLVER) else [_resolver()])]
    # What does not exist here cannot be allowed, and need not be.
    read = [*filter(os.path.exists, allowed), *sandbox.read]
    own = [*filter(os.path.exists, DEVICES), *([scratch] if scratch else [])]
    # What is in a writable place is allowed together with that place.
    read = [*itertools.filterfalse(writable.lead, read)]
    write = [*itertools.filterfalse(writable.lead, own), *writable.granted]
    # Until it is confined, the command must not load a library that the server can write. The server gets
    # these variables in the end. They are no secrets, so others may see them in the list of processes.
    loading = {name: value for name, value in env.items() if LOADING_VARIABLES.fullmatch(name)}
    command = [
        *(sys.executable, "-I", "-S", confinement.__file__),
        *(["--network"] if sandbox.network else []),
        *(word for path in dict.fromkeys(read) for word in ("--read", path)),
        *(word for path in dict.fromkeys(write) for word in ("--write", path)),
        *(word for name, value in loading.items() for word in ("--set", f"{name}={value}")),
        *("--", program, config.command or "", *config.args),
    ]
    return command, {name: value for name, value in env.items() if name not in loading}


def make_scratch(env: Mapping[str, str]) -> str:
    """Create the temporary directory of a server, which no other user can read, and return its path."""
    base = env.get("TMPDIR")
    return tempfile.mkdtemp(prefix="mcp-workbench-", dir=base if base and os.path.isdir(base) else None)


async def delete_scratch(path: str) -> None:
    """Delete the temporary directory of a server that has ended. What cannot be deleted in time stays."""
    with suppress(TimeoutError):
        await in_thread(lambda: shutil.rmtree(path, ignore_errors=True), DELETE_SECONDS)


def _certificates(config: ServerConfig, env: Mapping[str, str]) -> list[str]:
    """Return the paths in the certificate variables. Relative ones count from the server's directory."""
    directory = os.path.abspath(config.cwd or "")
    return [os.path.join(directory, env[name]) for name in CERTIFICATE_VARIABLES if env.get(name)]


def _resolver() -> str:
    """Return the file that names the DNS servers, or its directory if the file is replaced now and then."""
    path = os.path.realpath(RESOLVER)
    directory = os.path.dirname(path)
    return directory if directory.startswith("/run/") else path  # not all of /run


def _paths_of(program: str, search_path: str, writable: WritablePlaces) -> Iterator[str]:
    """Yield the files of a program: itself, what belongs to it, and the interpreter of a script."""
    seen: set[str] = set()
    waiting = [program]
    while waiting:
        path = waiting.pop()
        if path in seen or writable.lead(path):
            continue
        seen.add(path)
        yield path
        waiting.append(os.path.realpath(path))
        if interpreter := _interpreter(path, search_path):
            waiting.append(interpreter)
        directory = os.path.dirname(path)
        if os.path.basename(directory) == "bin":
            prefix = os.path.dirname(directory)
            yield from (os.path.join(prefix, name) for name in _BESIDE_BIN)
            if os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
                waiting.append(os.path.join(directory, "python"))


def _interpreter(path: str, search_path: str) -> str | None:
    """Return the program that the first line of a script names; None if there is no such file."""
    # The system reads this many bytes, too. What it would read after a shorter file counts as NUL.
    named = _FIRST_LINE.match((first_bytes(path) + b"\0")[:FIRST_BYTES])
    if named is None:
        return None
    program, rest = map(os.fsdecode, named.groups())
    if os.path.basename(program) == "env":
        words = (
            word for word in re.split("[ \t]+", rest) if word and not word.startswith("-") and "=" not in word
        )
        program = shutil.which(next(words, ""), path=search_path) or ""
    # A relative path counts from any directory that the server is in, and a directory is more than a program.
    return program if os.path.isabs(program) and os.path.isfile(program) else None
