"""Changes of files that a person or a client owns: previewed, backed up, and written in one step.

Owns which files may be changed, and how they are replaced. At every moment the file has either the old bytes
or the new ones, and a backup of the old ones exists before they are replaced. The content of files is not
known here.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import CannotChange
from mcp_workbench.storage.backups import CONFIG, Backups

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Size of the largest file that is read or changed."""

PRIVATE_MODE: Final = 0o600
SHARED_MODE: Final = 0o666
"""Mode of a new file that is meant to be shared, of which the umask takes its part."""

_TEMPORARY_SUFFIX: Final = ".mcp-workbench.tmp"
_OUR_DIRECTORY_MODE: Final = 0o700
_CLIENT_DIRECTORY_MODE: Final = 0o755
_GROUP_BITS: Final = 0o070
_OPEN_FLAGS: Final[int] = (
    getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


class FileChange(msgspec.Struct, frozen=True):
    """A file with its bytes before and after a change. `before` is None if there is no file yet."""

    path: str
    before: bytes | None
    after: bytes

    def diff(self, mask: Callable[[str], str]) -> list[str]:
        """Return the change as the lines of a unified diff, each masked; empty if nothing changes."""
        return diff_of(self.path, self.before, self.after, mask)


def diff_of(path: str, before: bytes | None, after: bytes | None, mask: Callable[[str], str]) -> list[str]:
    """Return the lines of a unified diff between two contents of a file, each masked. None means no file."""
    import difflib  # noqa: PLC0415 - only for previews

    if before == after:
        return []
    old, new = _lines(before), _lines(after)
    old_name = path if before is not None else "(no file)"
    new_name = path if after is not None else "(deleted)"
    return [
        mask(line.rstrip("\r\n")) for line in difflib.unified_diff(old, new, old_name, new_name, lineterm="")
    ] or [f"--- {old_name}", f"+++ {new_name}"]


def real_path(path: str) -> str:
    """Return the path of the file itself, where symbolic links lead to it. Raises CannotChange on a loop."""
    real = os.path.realpath(path)
    if os.path.islink(real):
        raise CannotChange(path, "its symbolic links form a loop", "Delete or fix the links.")
    return real


def read_for_change(path: str) -> bytes | None:
    """Return the bytes of a file that is to be changed; None if there is no file.

    Raises CannotChange if the file could not be replaced safely.
    """
    return _read(path, real_path(path))[0]


def apply(
    change: FileChange,
    environ: Mapping[str, str],
    *,
    subject: str,
    command: str = "",
    file_mode: int = PRIVATE_MODE,
) -> None:
    """Replace a file, after a backup. `subject` is the id of a client, or `config`. Raises CannotChange.

    A file that is not as it was when the change was made is left alone. A new file gets `file_mode`.
    """
    if change.before != change.after:
        before, after = change.before, change.after
        _change(change.path, before, after, environ, subject, command=command, file_mode=file_mode)


def restore(
    path: str,
    before: bytes | None,
    after: bytes | None,
    environ: Mapping[str, str],
    *,
    subject: str,
    undoes: Collection[str],
) -> None:
    """Undo changes: give a file its former bytes, or delete it if `after` is None. Raises CannotChange.

    The present bytes are backed up too. `undoes` has the ids of the changes in the journal.
    """
    _change(path, before, after, environ, subject, command="undo", undoes=undoes)


def _change(
    path: str,
    before: bytes | None,
    after: bytes | None,
    environ: Mapping[str, str],
    subject: str,
    *,
    command: str,
    undoes: Collection[str] = (),
    file_mode: int = PRIVATE_MODE,
) -> None:
    real = real_path(path)
    if after is not None and len(after) > MAX_FILE_BYTES:
        raise CannotChange(path, "it would become larger than 16 MiB", "Shorten it first.")
    with _explained(path, "no backup can be made"):
        backups = Backups(environ)
        with backups.locked():
            _check_unchanged(path, real, before)
            if before != after:
                backups.add(subject, real, before, after, command=command, undone=command == "undo")
                with _explained(path, "it cannot be replaced"):
                    directory_mode = _OUR_DIRECTORY_MODE if subject == CONFIG else _CLIENT_DIRECTORY_MODE
                    _make_directories(os.path.dirname(real), directory_mode)
                    _replace(path, real, before, after, file_mode)
            if undoes:
                backups.mark_undone(undoes)


@contextmanager
def _explained(path: str, what: str) -> Iterator[None]:
    """Turn errors of the system into CannotChange."""
    try:
        yield
    except UnicodeEncodeError:
        raise CannotChange(path, "its path is not UTF-8", "Rename it, or edit it by hand.") from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename and error.filename != path else ""
        reason = f"{what}: {error.strerror or error}{place}"
        remedy = "Nothing was written. Solve that, and run the command again."
        raise CannotChange(path, reason, remedy) from error


def _check_unchanged(path: str, real: str, before: bytes | None) -> os.stat_result | None:
    """Return the status of the file. Raises CannotChange if it does not have the bytes of the preview."""
    data, status = _read(path, real)
    if data != before:
        remedy = "Nothing was written. Run the command again."
        raise CannotChange(path, "it has changed since the preview", remedy)
    return status


def _replace(path: str, real: str, before: bytes | None, after: bytes | None, file_mode: int) -> None:
    directory, name = os.path.split(real)
    _remove_leftovers(real)
    if after is None:
        _check_unchanged(path, real, before)
        os.unlink(real)
    else:
        draft = os.path.join(directory, f".{name}.{os.urandom(6).hex()}{_TEMPORARY_SUFFIX}")
        try:
            _write_draft(draft, after, real if before is not None else None, file_mode)
            _check_unchanged(path, real, before)
            os.replace(draft, real)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
    _sync_directory(directory)


def _write_draft(draft: str, data: bytes, model: str | None, new_mode: int) -> None:
    """Write a temporary file with the mode, the group and the attributes of the file that it replaces."""
    mode = PRIVATE_MODE if model is not None else new_mode
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if model is not None:
            _copy_rights(model, draft)
        elif sys.platform != "win32" and mode == PRIVATE_MODE:
            os.fchmod(descriptor, mode)  # an unusual umask
        os.fsync(descriptor)


def _copy_rights(model: str, draft: str) -> None:
    wanted, made = os.stat(model), os.stat(draft)
    has_group = sys.platform == "win32" or wanted.st_gid == made.st_gid
    if not has_group:
        with suppress(OSError):
            os.chown(draft, -1, wanted.st_gid)
            has_group = True
    shutil.copystat(model, draft)
    if not has_group:
        # Another group must not get the rights that the old one had.
        os.chmod(draft, stat.S_IMODE(wanted.st_mode) & ~_GROUP_BITS)
    # Programs notice a change by the time of it.
    os.utime(draft)


def _make_directories(directory: str, mode: int) -> None:
    if not os.path.isdir(directory):
        _make_directories(os.path.dirname(directory), mode)
        with suppress(FileExistsError):
            os.mkdir(directory, mode)


def find_leftovers(real: str) -> list[str]:
    """Return the temporary files beside a file, which killed commands left behind. Raises OSError."""
    directory, name = os.path.split(real)
    with os.scandir(directory) as entries:
        return [
            entry.path
            for entry in entries
            if entry.name.startswith(f".{name}.") and entry.name.endswith(_TEMPORARY_SUFFIX)
        ]


def _remove_leftovers(real: str) -> None:
    """Delete temporary files of killed commands. The lock is held, so no other command is writing one."""
    for leftover in find_leftovers(real):
        with suppress(OSError):
            os.unlink(leftover)


def _sync_directory(directory: str) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):  # not every file system synchronises directories
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(path: str, real: str) -> tuple[bytes | None, os.stat_result | None]:
    """Return the bytes and the status of a file that may be replaced; None for each if there is no file."""
    with _explained(path, "it cannot be read"):
        try:
            status = os.lstat(real)
        except FileNotFoundError:
            _check_directory(path, os.path.dirname(real))
            return None, None
        _check_file(path, status)
        if not os.access(real, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not os.access(real, os.W_OK):
            raise _read_only(path)
        _check_directory(path, os.path.dirname(real))
        # Not blocking: the file may have been replaced by a FIFO since.
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _OPEN_FLAGS)
        with open(descriptor, "rb", 0) as file:
            return file.read(MAX_FILE_BYTES + 1), os.fstat(descriptor)


def _check_file(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise CannotChange(path, "it is a directory", "Name the file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise CannotChange(path, "it is not a regular file", "Put a regular file there.")
    if sys.platform != "win32" and status.st_uid != os.geteuid():
        remedy = "Run the command as that user, or edit the file by hand."
        raise CannotChange(path, f"it belongs to another user (uid {status.st_uid})", remedy)
    if not status.st_mode & stat.S_IWUSR:
        raise _read_only(path)
    if status.st_nlink > 1:
        # Replacing it would leave the other name with the old content, and nobody would notice.
        remedy = "Replace it by a copy of itself, or by a symbolic link to the other name."
        raise CannotChange(
            path, "it has another name (a hard link), which would keep the old content", remedy
        )
    if status.st_size > MAX_FILE_BYTES:
        raise CannotChange(path, "it is larger than 16 MiB", "Check that it is the right file.")


def _read_only(path: str) -> CannotChange:
    return CannotChange(path, "it is read-only", "Make it writable (chmod u+w), or edit where it is made.")


def _check_directory(path: str, directory: str) -> None:
    """Check that a file can be created in a directory, or in the nearest one above it that exists."""
    while not os.path.lexists(directory) and os.path.dirname(directory) != directory:
        directory = os.path.dirname(directory)
    if not os.path.isdir(directory):
        raise CannotChange(path, f"{directory} is not a directory", "Delete or rename it.")
    if not os.access(directory, os.W_OK | os.X_OK):
        remedy = "A file is replaced in one step, for which its directory has to be writable."
        raise CannotChange(path, f"its directory {directory} is not writable", remedy)


def _lines(data: bytes | None) -> list[str]:
    # `splitlines` would also break lines at characters that are part of a string.
    text = (data or b"").decode(errors="backslashreplace")
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]} (no line feed at the end)"]
