"""Confines a process, and all that it will start, to certain paths, and keeps it from opening sockets.

`python -I -S confinement.py [--network] [--read PATH]… [--write PATH]… [--set NAME=VALUE]… -- PROGRAM NAME
ARGUMENT…` confines itself and then becomes PROGRAM: process number, group, pipes and working directory stay
as they are, and so does the environment, but for what `--set` adds. For Linux only, and without any
privilege: Landlock limits the files, and a seccomp filter the sockets. What cannot be confined is not run,
and a line on stderr says why, see `FAILED`.

Owns the system calls. Which paths a server gets is decided by `downstream.sandbox`. Imports nothing of the
package: each start of a confined server waits for this file to be loaded.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys

FAILED = "mcp-workbench: the sandbox could not be set up"
"""How the line on stderr begins if the process could not be confined."""
FAILED_EXIT_CODE = 125
OLDEST_LANDLOCK = 3
"""The first version of Landlock, of Linux 6.2, that keeps a process from emptying files outside."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_OF_PATH = 1
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_CAPABILITY_VERSION, _CAPABILITY_BYTES = 0x20080522, 24

# The rights of Landlock, a bit each. Version 3 has the first 15, and version 5 one more.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _DEVICE_CONTROL = 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_ALL_OF_3 = (1 << 15) - 1
_DEVICE_CONTROL_SINCE = 5
_SCOPES_SINCE = 6
_SCOPE_SIGNALS = 1 << 1

_READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CONTROL
"""The rights that a rule about a file, and not a directory, may have."""

# The module `signal` takes a fifth of the time of all this to load.
_SIGPIPE, _SIGXFSZ = 13, 25

_IO_URING_SETUP = 425
_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_KEYRING_CALLS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}
_IPC_CALLS = {
    "x86_64": (29, 30, 31, 64, 65, 66, 67, 68, 69, 70, 71, 220, 240, 241),
    "aarch64": (186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 180, 181),
}
"""Shared memory, semaphores and message queues of System V, and creating and deleting queues of POSIX."""
_X32_CALLS = 0x40000000
"""From this number on, system calls are those of the x32 ABI, which has other numbers for the same calls."""

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN, _AND = 0x20, 0x15, 0x35, 0x06, 0x54
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32
_AF_INET, _AF_INET6, _AF_NETLINK = 2, 10, 16
_NETLINK_ROUTE = 0
_SOCKET_TYPES = 0xF
_SOCK_STREAM, _SOCK_SEQPACKET = 1, 5


def why_unavailable() -> str:
    """Return why this system cannot confine a process; empty if it can."""
    if sys.platform != "linux":
        return "it needs Linux"
    if os.uname().machine not in _AUDIT_ARCHITECTURES:
        return f"it needs a processor of the type {' or '.join(_AUDIT_ARCHITECTURES)}"
    try:
        version = _landlock_version()
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return "Landlock is turned off in this system"
        return f"this system has no Landlock ({error.strerror}), which needs Linux 6.2 or newer"
    if version < OLDEST_LANDLOCK:
        return (
            f"it needs Linux 6.2 or newer (version {OLDEST_LANDLOCK} of Landlock; this system has {version})"
        )
    return ""


def confine(read: list[str], write: list[str], *, network: bool) -> None:
    """Confine this process for good. Raises OSError, after which nothing must be run.

    Paths are files or directories, with all that is in them. Without `network`, no socket can be opened.
    With it, only those of the Internet: a Unix socket may belong to a program that is not confined.
    """
    ruleset = _ruleset(_landlock_version(), read, write)
    _check(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    # root is not confined by far: with its capabilities it may read the memory of every process.
    _check(_libc().capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(_CAPABILITY_BYTES)))
    _check(_libc().syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
    code = _socket_filter(os.uname().machine, network=network)
    buffer = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: the number of instructions, and a pointer to them.
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    _check(_libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0))


def _ruleset(version: int, read: list[str], write: list[str]) -> int:
    handled = _ALL_OF_3 | (_DEVICE_CONTROL if version >= _DEVICE_CONTROL_SINCE else 0)
    # struct landlock_ruleset_attr: rights on files, rights on the network, scopes. The scope keeps the
    # process from sending signals to processes outside.
    attributes = struct.pack("=QQ", handled, 0)
    if version >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", _SCOPE_SIGNALS)
    ruleset = _check(_libc().syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    for paths, rights in ((read, _READ), (write, handled & ~_MAKE_DEVICES)):
        for path in paths:
            _allow(ruleset, path, rights)
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _ON_FILES
        # struct landlock_path_beneath_attr is packed.
        rule = struct.pack("=Qi", rights, opened)
        _check(_libc().syscall(_ADD_RULE, ruleset, _RULE_OF_PATH, rule, 0))
    finally:
        os.close(opened)


def _socket_filter(machine: str, *, network: bool) -> bytes:
    """Return the filter for system calls that open sockets, or reach processes and keys of the user."""
    absent = _FAIL | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        # The numbers of other architectures, which a processor may run as well, mean other calls.
        (_IF_EQUAL, 1, 0, _AUDIT_ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, _X32_CALLS),
        (_RETURN, 0, 0, absent),
    ]
    # io_uring opens sockets without a call that a filter sees. Landlock does not limit IPC by number or name,
    # by which the memory of any other program of the user could be read.
    for call in (_IO_URING_SETUP, *_KEYRING_CALLS[machine], *_IPC_CALLS[machine]):
        steps += [(_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, absent)]
    # The limits of another process can end it, where signals cannot. 0 is the process itself.
    steps += [(_IF_EQUAL, 0, 4, _PRLIMIT[machine]), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    steps += [(_IF_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EPERM)]
    # A pair is connected to itself for good. Only one of datagrams can be connected to any other socket.
    steps += [(_IF_EQUAL, 0, 6, _SOCKETPAIR[machine]), (_LOAD, 0, 0, _SECOND_ARGUMENT)]
    steps += [
        (_AND, 0, 0, _SOCKET_TYPES),
        (_IF_EQUAL, 1, 0, _SOCK_STREAM),
        (_IF_EQUAL, 0, 1, _SOCK_SEQPACKET),
    ]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EACCES)]
    steps += [(_IF_EQUAL, 1, 0, _SOCKET[machine]), (_RETURN, 0, 0, _ALLOW)]
    if network:
        steps.append((_LOAD, 0, 0, _FIRST_ARGUMENT))
        for family in (_AF_INET, _AF_INET6):
            steps += [(_IF_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
        # Names are looked up with the list of network interfaces, which only this kind of socket has.
        steps += [(_IF_EQUAL, 0, 3, _AF_NETLINK), (_LOAD, 0, 0, _THIRD_ARGUMENT)]
        steps += [(_IF_EQUAL, 0, 1, _NETLINK_ROUTE), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, _FAIL | errno.EACCES))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _landlock_version() -> int:
    return _check(_libc().syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _initial_environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with: Python may have set LC_CTYPE since."""
    with open("/proc/self/environ", "rb") as file:
        variables = file.read().split(b"\0")
    return dict(variable.split(b"=", 1) for variable in variables if b"=" in variable)


def main(arguments: list[str]) -> int:
    """Confine this process and become the program. Returns an exit code only if that is not possible."""
    end = arguments.index("--")
    options, (program, *words) = arguments[:end], arguments[end + 1 :]
    given = {
        name: [options[index + 1] for index, word in enumerate(options) if word == name]
        for name in ("--read", "--write", "--set")
    }
    try:
        environment = _initial_environment()
        for variable in given["--set"]:
            name, _, value = os.fsencode(variable).partition(b"=")
            environment[name] = value
        confine(given["--read"], given["--write"], network="--network" in options)
    except OSError as error:
        sys.stderr.write(f"{FAILED}: {error}\n")
        return FAILED_EXIT_CODE
    # Python ignores these, and the program would inherit that.
    for number in (_SIGPIPE, _SIGXFSZ):
        _libc().signal(number, None)
    try:
        os.execve(program, words, environment)  # noqa: S606 - the program that the configuration names
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 126 if error.errno == errno.EACCES else 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
