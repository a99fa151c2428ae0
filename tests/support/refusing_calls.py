"""Runs a program on a kernel that lacks a system call: `refusing_calls.py NUMBER ERRNO PROGRAM ARGUMENT…`.

A seccomp filter fails that call for the program and all that it starts, as an old kernel would, or one on
which the feature is turned off.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2


def refuse(call: int, error: int) -> None:
    """Fail a system call with an error from now on."""
    steps = [
        (_LOAD, 0, 0, 0),
        (_IF_EQUAL, 0, 1, call),
        (_RETURN, 0, 0, _FAIL | error),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None)
    assert libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    program = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    assert libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0) == 0


if __name__ == "__main__":
    refuse(int(sys.argv[1]), int(sys.argv[2]))
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - as the test says
