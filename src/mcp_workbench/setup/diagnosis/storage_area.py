"""Looks at what the workbench keeps on disk: logins, the catalogue, and what interrupted commands left."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.oauth.login_store import LoginStore
from mcp_workbench.errors import StoreError
from mcp_workbench.setup.diagnosis.examined import KEYRING_SECONDS, names, sentence, title
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.file_changes import find_leftovers
from mcp_workbench.storage.audit.audit_files import AuditFiles
from mcp_workbench.storage.catalogue import Catalogue, identity_of
from mcp_workbench.storage.directories import (
    blocking_part,
    cache_directory,
    data_directory,
    remedy_for,
    why_unusable,
)
from mcp_workbench.storage.private_files import PrivateDirectory
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_workbench.config import Origin, ServerConfig
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding

OLD_SECONDS: Final = 30 * 24 * 3600.0
"""Age in seconds from which on a list of tools is called old."""
DRAFT_SECONDS: Final = 3600.0
"""Age in seconds from which on no process can still be writing a draft."""

_DAY_SECONDS: Final = 24 * 3600
_DATA: Final = ("approvals", "backups", "held", "logins", "pins", "texts", "token-use")
_CACHE: Final = ("catalogue", "eras", "running", "vectors")


async def look_at_logins(examined: Examined) -> Area:
    """Return the logins to remote servers that are missing, expired or unreadable."""
    servers = {origin: server for origin, server in examined.servers.items() if server.takes_login}
    judged = await asyncio.gather(*(_judge(examined, *server) for server in servers.items()))
    known = sum(is_there for is_there, _ in judged)
    findings = tuple(finding for _, finding in judged if finding is not None)
    return Area("logins", f"{known} stored, {len(servers)} could be needed", findings)


async def _judge(examined: Examined, origin: Origin, server: ServerConfig) -> tuple[bool, Finding | None]:
    """Return whether there is a login, and what is wrong with it."""
    name, line = title(origin), examined.line(origin)
    try:
        async with asyncio.timeout(KEYRING_SECONDS):
            login = await LoginStore(examined.environ, origin, server.url or "").load()
    except (StoreError, TimeoutError) as error:
        why = str(error) or f"the system's keyring did not answer within {KEYRING_SECONDS:g} s: is it locked?"
        code, what = "login-unreadable", f"The login to {name} cannot be read: {why}"
    else:
        if login is None:
            if server.oauth is None:
                return False, None  # most servers need none, and only the server knows
            code, what = "login-missing", f"{name} has oauth settings, and nobody has logged in"
        elif login.has_expired and login.refresh_token is None:
            code, what = "login-expired", f"The login to {name} has expired, and cannot be renewed"
        else:
            return True, None
    finding = found(
        code,
        f"{what}.",
        servers=(name,),
        file=examined.path,
        line=line,
        command=examined.command("login", name),
    )
    return code != "login-missing", finding


def look_at_catalogue(examined: Examined) -> Area:
    """Return the servers whose tools were never listed, or long ago."""
    catalogue = Catalogue(cache_directory(examined.environ))
    now = time.time()
    never: list[str] = []
    old: list[tuple[float, str]] = []
    listed = 0
    for origin, server in examined.servers.items():
        record = catalogue.recall(identity_of(origin, server, examined.loaded.secrets.mask))
        if record is None:
            never.append(title(origin))
            continue
        listed += 1
        if (age := now - record.listed_at) > OLD_SECONDS:
            old.append((age, title(origin)))
    findings: list[Finding] = []
    if never:
        what = f"The tools of {names(tuple(never))} were never listed, so that a search cannot find them."
        findings.append(
            found("catalogue-incomplete", what, servers=tuple(never), command=_index(examined, never))
        )
    if old:
        servers = [name for _, name in old]
        days = max(age for age, _ in old) / _DAY_SECONDS
        what = f"The tools of {names(tuple(servers))} were last listed up to {days:.0f} days ago."
        findings.append(
            found("catalogue-old", what, servers=tuple(servers), command=_index(examined, servers))
        )
    return Area("catalogue", f"{listed} of {len(examined.servers)} servers listed", tuple(findings))


def _index(examined: Examined, servers: Sequence[str]) -> str:
    """Return the command that lists these servers, or all if they are many."""
    return examined.command("index", *(servers if len(servers) <= 3 else ()))


def look_at_directories(examined: Examined, files: Sequence[str]) -> Area:
    """Return what is wrong with our directories, and temporary files beside these files and in them."""
    environ = examined.environ
    cache, data = cache_directory(environ), data_directory(environ)
    findings = [
        *_unusable(environ, cache, "the catalogue is not kept, and searches find less"),
        *_unusable(
            environ, data, "logins, secrets, backups and pins cannot be kept, and calls are not recorded"
        ),
    ]
    if len(findings) == 0 and examined.loaded.config.audit != "off":
        findings += _unusable(environ, AuditFiles(environ).path, "calls are not recorded")
    if leftovers := sorted({*_beside([examined.path, *files]), *_drafts(environ)}):
        left = count(len(leftovers), "temporary file", "temporary files")
        findings.append(
            found(
                "leftover-files",
                f"An interrupted command has left {left} behind, such as {leftovers[0]}.",
                file=leftovers[0],
                command=f"rm -f {shlex.join(leftovers)}",
            )
        )
    return Area("directories", f"{cache}, {data}", tuple(findings))


def _unusable(environ: Mapping[str, str], directory: str, harm: str) -> Iterator[Finding]:
    reason, remedy = _reason_against(environ, directory)
    if reason:
        yield found(
            "directory-unusable",
            f"{sentence(reason)} So {harm}.",
            file=directory,
            remedy=sentence(remedy),
            command=f"ls -ld {shlex.quote(directory)}",
        )


def _reason_against(environ: Mapping[str, str], directory: str) -> tuple[str, str]:
    """Return why files cannot be kept in a directory of ours, and what to do; empty texts if they can.

    Makes no directory.
    """
    if directory == os.devnull:
        return "there is no home directory", "Set HOME, or XDG_CACHE_HOME and XDG_DATA_HOME"
    try:
        PrivateDirectory(directory).scan()
    except OSError as error:
        return why_unusable(error, environ)
    remedy = remedy_for(directory, environ)
    above = blocking_part(directory)
    if not os.path.isdir(above):
        return f"{above} is not a directory", remedy
    return ("", "") if os.access(above, os.W_OK | os.X_OK) else (f"{above} is not writable", remedy)


def _beside(files: Sequence[str]) -> Iterator[str]:
    """Yield the temporary files that interrupted commands left beside files of persons and clients."""
    for path in {os.path.realpath(file) for file in files}:
        try:
            yield from find_leftovers(path)
        except OSError:
            continue


def _drafts(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the drafts of killed processes in our own directories."""
    for root, below in (
        (data_directory(environ), ((), *((name,) for name in _DATA))),
        (cache_directory(environ), tuple((name,) for name in _CACHE)),
    ):
        for steps in below:
            directory = PrivateDirectory(root, *steps)
            try:
                drafts = directory.drafts(older_than_seconds=DRAFT_SECONDS)
            except OSError:
                continue
            yield from (os.path.join(directory.path, name) for name in drafts)
