"""Opens the workbench's own directories without following links, and works in them by descriptor.

`$XDG_CACHE_HOME/mcp-workbench` and `$XDG_DATA_HOME/mcp-workbench` are roots. The path to a root may lead
through symbolic links, because people move `~/.cache` to another disk. The root and everything below it may
not: each directory is opened relative to the descriptor of the one above, without following links, and files
are opened, renamed and deleted relative to the descriptor of their directory. An attacker who replaces a
directory by a link meanwhile gains nothing. A directory has to belong to the current user; modes other than
0700 are corrected.

Windows has neither `dir_fd` nor `O_NOFOLLOW`. There, each directory is checked for being a link or a junction
before its path is used, and the access rights are those of the user's profile.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_MODE: Final = 0o600
OTHERS_MODE: Final = 0o077
"""Permission bits of the group and of all other users."""

_DIRECTORY_MODE: Final = 0o700
_OTHERS_WRITE: Final = 0o022

# Windows lacks most of these. O_NONBLOCK: opening a FIFO would wait for its other end.
_NO_LINK: Final[int] = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_DIRECTORY: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_OPEN_FILE: Final[int] = (
    _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)


class UnsafeDirectory(PermissionError):
    """A directory cannot be used safely: it is a link, belongs to another user, or is open to others."""

    def __init__(self, path: str, what: str, remedy: str) -> None:
        self.path = path
        self.what = f"{path} {what}"
        """What is wrong, without a full stop."""
        self.remedy = remedy
        """What to do about it, without a full stop."""
        super().__init__(errno.EPERM, f"{self.what}. {remedy}")

    def __str__(self) -> str:
        return self.strerror or ""


class OpenDirectory:
    """An open directory. Names are looked up relative to its descriptor, even if its path changes."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor
        """Descriptor of the directory; None on Windows, where names are joined to the path."""

    @property
    def scannable(self) -> int | str:
        """The argument for `os.scandir`: the descriptor, or the path on Windows."""
        return self.path if self.descriptor is None else self.descriptor

    def at(self, name: str) -> str:
        """Return the name as the first argument for functions that take a `dir_fd`."""
        return os.path.join(self.path, checked_name(name)) if self.descriptor is None else checked_name(name)

    def open_file(self, name: str, flags: int) -> int:
        """Open a regular file that belongs to the current user, and that no other user can write to."""
        descriptor = os.open(self.at(name), flags | _OPEN_FILE, FILE_MODE, dir_fd=self.descriptor)
        try:
            _check_file(os.fstat(descriptor), os.path.join(self.path, name))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file. It replaces a file or an empty directory that has the new name."""
        old, new = self.at(name), self.at(new_name)
        try:
            os.replace(old, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except IsADirectoryError:
            os.rmdir(new, dir_fd=self.descriptor)
            os.replace(old, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        """Delete a name that is not a directory. Where it is a link, the link is deleted."""
        os.unlink(self.at(name), dir_fd=self.descriptor)


@contextmanager
def opened_directory(root: str, below: tuple[str, ...], *, make: bool) -> Iterator[OpenDirectory]:
    """Open the directory that `below` leads to from the root; `make` creates what is missing on the way."""
    if sys.platform == "win32":
        yield OpenDirectory(_checked_on_windows(root, below, make=make), None)
        return
    path = root
    descriptor = _enter(path, path, None, make=make)
    try:
        for name in below:
            path = os.path.join(path, name)
            above, descriptor = descriptor, -1
            try:
                descriptor = _enter(path, name, above, make=make)
            finally:
                os.close(above)
        yield OpenDirectory(path, descriptor)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def checked_name(name: str) -> str:
    """Return the name unchanged. Raises ValueError if it would lead out of the directory."""
    if name in ("", ".", "..") or os.sep in name or (os.altsep is not None and os.altsep in name):
        raise ValueError(f"{name!r} is not the name of a file in a directory")
    return name


def _enter(path: str, name: str, above: int | None, *, make: bool) -> int:
    """Return a descriptor of the directory `name` in `above`, after checking it and making it private."""
    try:
        try:
            descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=above)
        except FileNotFoundError:
            if not make:
                raise
            if above is None:
                _make_parents(os.path.dirname(path))
            with suppress(FileExistsError):
                os.mkdir(name, _DIRECTORY_MODE, dir_fd=above)
            descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(name, above):
            raise _link_found(path) from None
        # With the whole path: the system names only the last step.
        raise OSError(error.errno, error.strerror, path) from None
    try:
        _claim(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _claim(descriptor: int, path: str) -> None:
    """Make sure that an open directory belongs to the current user alone."""
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise UnsafeDirectory(
            path, f"belongs to another user (uid {status.st_uid})", "Delete it, or use another directory"
        )
    if stat.S_IMODE(status.st_mode) == _DIRECTORY_MODE:
        return
    try:
        os.fchmod(descriptor, _DIRECTORY_MODE)
    except OSError as error:
        # A cache that was filled before, such as that of a container image, can still be read.
        if error.errno == errno.EROFS and not status.st_mode & _OTHERS_WRITE:
            return
        raise
    if os.fstat(descriptor).st_mode & OTHERS_MODE:
        raise UnsafeDirectory(
            path, "is open to other users, and its file system does not change that", "Use another directory"
        )


def _is_link(name: str, above: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _link_found(path: str) -> UnsafeDirectory:
    remedy = (
        "Replace it by a directory. To keep the files elsewhere, set XDG_CACHE_HOME or XDG_DATA_HOME, or move"
        " the directory that contains mcp-workbench, and put a link to it in its place"
    )
    return UnsafeDirectory(path, "is a symbolic link, which is not followed here", remedy)


def _make_parents(path: str) -> None:
    """Create the directories above a root, private whatever the umask. Existing ones are left alone."""
    if not path:
        return
    try:
        os.mkdir(path, _DIRECTORY_MODE)
    except FileExistsError:
        return
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if parent in (path, ""):
            raise
        _make_parents(parent)
        with suppress(FileExistsError):
            os.mkdir(path, _DIRECTORY_MODE)


def _checked_on_windows(root: str, below: tuple[str, ...], *, make: bool) -> str:
    """Return the path of the directory. Links and junctions from the root down are refused."""
    if make:
        _make_parents(os.path.dirname(root))
    path = root
    for name in ("", *below):
        path = os.path.join(path, name) if name else path
        if make:
            with suppress(FileExistsError):
                os.mkdir(path, _DIRECTORY_MODE)
        attributes = getattr(os.lstat(path), "st_file_attributes", 0)
        if attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT:
            raise _link_found(path)
    return path


def _check_file(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(errno.EPERM, f"{path} is not a regular file")
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{path} belongs to another user")
    if status.st_mode & _OTHERS_WRITE:
        raise PermissionError(errno.EPERM, f"other users can write to {path}: it is not trusted. Delete it")
