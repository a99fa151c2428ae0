"""Warns of other users who can change the configuration file or the token file.

Owns the warnings about files that other users can write to or replace, and the usual setups that need none:
private groups (umask 002), sticky directories, read-only mounts, containers, and Windows drives in WSL. It
warns only, and never stops a start.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_workbench.config.validation.problems import Problems

    _Way = tuple[str, str]
    """What other users can do, and what to do against it."""

_MOVE: Final = "move the file"
_CONTAINER_FILES: Final = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_VARIABLES: Final = ("KUBERNETES_SERVICE_HOST", "container")
_WINDOWS_DRIVES: Final = ("9p", "drvfs", "virtiofs")
"""Types of file system for Windows drives in WSL. Every mode is 0777 there, and cannot be changed."""


def warn_of_writers(
    path: str, status: os.stat_result, harm: str, environ: Mapping[str, str], problems: Problems
) -> None:
    """Warn if other users than the current one and root can change or replace the file.

    `status` is that of the open file; `harm` says what these users could do.
    """
    for what, remedy in find_writers(path, status, harm, environ):
        problems.warn((), f"{what}: {remedy}")


def find_writers(
    path: str, status: os.stat_result, harm: str, environ: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the ways in which other users can change or replace the file, each with what to do."""
    if sys.platform == "win32" or not stat.S_ISREG(status.st_mode):
        return []
    try:
        found = [
            *_writers_of_file(path, status, harm, environ),
            *_writers_of_directory(os.path.dirname(path) or os.curdir, harm, environ),
            *_writers_of_link(path, harm, environ),
        ]
    except OSError:
        return []  # the file was removed since it was opened
    # Checked last: hardly any file gets here.
    return list(dict.fromkeys(found)) if found and not _modes_mean_nothing(path, status) else []


def others_can_read(status: os.stat_result) -> str:
    """Return the letters for `chmod` of those who can read a file besides its owner; empty for nobody."""
    if sys.platform == "win32":
        return ""
    group = "g" if status.st_mode & stat.S_IRGRP and not is_private_group(status) else ""
    letters = f"{group}o" if status.st_mode & stat.S_IROTH else group
    return "" if letters and _is_on_windows_drive(status) else letters


def _writers_of_file(
    path: str, status: os.stat_result, harm: str, environ: Mapping[str, str]
) -> Iterator[_Way]:
    if _is_of_another_user(status, environ):
        yield f"{path} belongs to {_user(status.st_uid)}, who can {harm}", "use a copy of your own"
    if letters := _writers(status):
        yield f"other users can write to {path}, and {harm}", f"chmod {letters}-w {_quoted(path)}"


def _writers_of_directory(directory: str, harm: str, environ: Mapping[str, str]) -> Iterator[_Way]:
    status = os.stat(directory)
    where = f"the directory {directory}"
    if _is_of_another_user(status, environ):
        yield f"{where} belongs to {_user(status.st_uid)}, who can replace the file and {harm}", _MOVE
    # In a sticky directory, such as /tmp, only the owner of a file can replace it.
    if not status.st_mode & stat.S_ISVTX and (letters := _writers(status)):
        what = f"other users can write to {where}, replace the file and {harm}"
        yield what, f"chmod {letters}-w {_quoted(directory)}"


def _writers_of_link(path: str, harm: str, environ: Mapping[str, str]) -> Iterator[_Way]:
    """Yield a warning for each user who can replace a link to the file, or the file that it leads to."""
    status = os.lstat(path)
    if not stat.S_ISLNK(status.st_mode):
        return
    if _is_of_another_user(status, environ):
        yield f"the link {path} belongs to {_user(status.st_uid)}, who can {harm}", "name the file itself"
    yield from _writers_of_directory(os.path.dirname(os.path.realpath(path)), harm, environ)


def _is_of_another_user(status: os.stat_result, environ: Mapping[str, str]) -> bool:
    # In a container, a mounted file often belongs to the user of the host, who has another number.
    return status.st_uid not in (os.geteuid(), 0) and not _is_in_container(environ)


def _writers(status: os.stat_result) -> str:
    """Return the letters for `chmod` of those who can write and should not: g for the group, o for others."""
    group = "g" if status.st_mode & stat.S_IWGRP and not is_private_group(status) else ""
    return f"{group}o" if status.st_mode & stat.S_IWOTH else group


def is_private_group(status: os.stat_result) -> bool:
    """Whether the owner of a file is the only member of its group.

    Many systems give each user a group of the same name, and a umask that lets the group write (`pam_umask`
    has the same rule). Users without a name, as in containers, have a group of the same number, or root's.
    """
    import grp  # noqa: PLC0415 - rarely needed, and not on Windows
    import pwd  # noqa: PLC0415 - rarely needed, and not on Windows

    try:
        user = pwd.getpwuid(status.st_uid)
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return status.st_gid in (0, status.st_uid)
    is_own = group.gr_gid == user.pw_gid and group.gr_name == user.pw_name
    return (is_own or group.gr_gid == 0) and set(group.gr_mem) <= {user.pw_name, "root"}


def _user(number: int) -> str:
    import pwd  # noqa: PLC0415 - rarely needed, and not on Windows

    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the user {number}"


def _quoted(path: str) -> str:
    import shlex  # noqa: PLC0415 - only for a warning

    return shlex.quote(path)


def _is_in_container(environ: Mapping[str, str]) -> bool:
    return any(name in environ for name in _CONTAINER_VARIABLES) or any(map(os.path.exists, _CONTAINER_FILES))


def _modes_mean_nothing(path: str, status: os.stat_result) -> bool:
    """Whether the modes do not say who can write: on a read-only mount, and on Windows drives in WSL."""
    try:
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return True
    except OSError:
        return False
    return _is_on_windows_drive(status)


def _is_on_windows_drive(status: os.stat_result) -> bool:
    return "microsoft" in os.uname().release.lower() and _file_system(status) in _WINDOWS_DRIVES


def _file_system(status: os.stat_result) -> str:
    """Return the type of the file system of a file, by the list of mounts; empty if it is not there."""
    device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                mount, _, kind = line.partition(" - ")
                if mount.split(" ", 3)[2] == device:
                    return kind.split(" ", 1)[0]
    except (OSError, IndexError):
        return ""
    return ""
