"""Who else could change a file that decides what the workbench does.

Owns the warnings about a configuration file or a token file that other users can write to or replace, and the
ordinary set-ups that need none: private groups (umask 002), sticky directories, read-only mounts, containers
and the drives of Windows in WSL. It warns only, and never stops a start.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_workbench.config.validation.problems import Problems

_CONTAINER_FILES: Final = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_VARIABLES: Final = ("KUBERNETES_SERVICE_HOST", "container")
_WINDOWS_DRIVES: Final = ("9p", "drvfs", "virtiofs")
"""File systems by which WSL shows the drives of Windows: every mode is 0777 there, and cannot be changed."""


def warn_of_writers(
    path: str, status: os.stat_result, harm: str, environ: Mapping[str, str], problems: Problems
) -> None:
    """Warn if others than the current user and root can change the file, or put another one in its place.

    `status` is that of the open file; `harm` says what they could do with it.
    """
    if sys.platform == "win32" or not stat.S_ISREG(status.st_mode):
        return
    try:
        found = [
            *_writers_of_file(path, status, harm, environ),
            *_writers_of_directory(os.path.dirname(path) or os.curdir, harm, environ),
            *_writers_of_link(path, harm, environ),
        ]
    except OSError:
        return  # it was removed since it was opened
    # Looked up only now: hardly any file gets here.
    if found and not _modes_mean_nothing(path, status):
        for warning in dict.fromkeys(found):
            problems.warn((), warning)


def _writers_of_file(
    path: str, status: os.stat_result, harm: str, environ: Mapping[str, str]
) -> Iterator[str]:
    if _is_of_another_user(status, environ):
        yield f"{path} belongs to {_user(status.st_uid)}, who can {harm}: use a copy of your own"
    if letters := _writers(status):
        yield f"other users can write to {path}, and {harm}: chmod {letters}-w {_quoted(path)}"


def _writers_of_directory(directory: str, harm: str, environ: Mapping[str, str]) -> Iterator[str]:
    status = os.stat(directory)
    where = f"the directory {directory}"
    if _is_of_another_user(status, environ):
        yield f"{where} belongs to {_user(status.st_uid)}, who can replace the file and {harm}: move the file"
    # In a sticky directory, such as /tmp, only the owner of a file can replace it.
    if not status.st_mode & stat.S_ISVTX and (letters := _writers(status)):
        yield (
            f"other users can write to {where}, replace the file and {harm}:"
            f" chmod {letters}-w {_quoted(directory)}"
        )


def _writers_of_link(path: str, harm: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Who can replace a link to the file, or the file that it leads to. Nobody if there is no link."""
    status = os.lstat(path)
    if not stat.S_ISLNK(status.st_mode):
        return
    if _is_of_another_user(status, environ):
        yield f"the link {path} belongs to {_user(status.st_uid)}, who can {harm}: name the file itself"
    yield from _writers_of_directory(os.path.dirname(os.path.realpath(path)), harm, environ)


def _is_of_another_user(status: os.stat_result, environ: Mapping[str, str]) -> bool:
    # A container often has a file of the host's user mounted, while its own user has another number.
    return status.st_uid not in (os.geteuid(), 0) and not _is_in_container(environ)


def _writers(status: os.stat_result) -> str:
    """Of the letters of `chmod`, g for a group and o for everybody, those that can write and should not."""
    group = "g" if status.st_mode & stat.S_IWGRP and not is_private_group(status) else ""
    return f"{group}o" if status.st_mode & stat.S_IWOTH else group


def is_private_group(status: os.stat_result) -> bool:
    """Whether the owner of the file is alone in the group of the file.

    Many systems give each user a group of the same name, and a umask that lets it write (`pam_umask` goes by
    the same rule). Containers have users without a name, whose group has the same number, or is that of root.
    """
    # Rarely needed, and not on Windows.
    import grp  # noqa: PLC0415 - see above
    import pwd  # noqa: PLC0415 - see above

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
    """Whether nobody can write there whatever the modes are, or the modes are made up."""
    try:
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return True
    except OSError:
        return False
    return "microsoft" in os.uname().release.lower() and _file_system(status) in _WINDOWS_DRIVES


def _file_system(status: os.stat_result) -> str:
    """The type of the file system that a file is on, by the list of mounts; empty if it is not there."""
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
