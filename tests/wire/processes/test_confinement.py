"""A confined process becomes its program in every other respect, or nothing is run at all."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_workbench.wire.processes import confinement

pytestmark = pytest.mark.skipif(
    bool(confinement.why_unavailable()), reason=f"no sandbox: {confinement.why_unavailable()}"
)

IPC = (
    *("shmget", "shmat", "shmctl", "shmdt"),
    *("semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl"),
    *("mq_open", "mq_unlink"),
)
TRY_CALLS = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for name in sys.argv[1:]:
    # glibc looks at a name before it makes the call.
    first = b"/no-such-queue" if name.startswith("mq_") else -1
    ctypes.set_errno(0)
    getattr(libc, name)(first, 0, 0, 0, 0)
    print(name, ctypes.get_errno())
"""

SYSTEM = [word for path in ("/usr", "/bin", "/lib", "/lib64", "/proc") for word in ("--read", path)]


def confined(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", confinement.__file__, *words],
        cwd=cwd,
        env={"A": "1", "B": "x=y"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_environment_directory_arguments_signals_and_exit_code_are_those_of_the_program(
    tmp_path: Path,
) -> None:
    script = "tr '\\0' '\\n' </proc/self/environ; pwd -P; echo $0; grep SigIgn /proc/self/status; exit 3"
    ran = confined(*SYSTEM, "--", "/bin/sh", "my-name", "-c", script, "zero", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (3, "")
    environment, directory, name, ignored = ran.stdout.rsplit("\n", 4)[:4]
    assert environment.splitlines()[:2] == ["A=1", "B=x=y"]
    assert "LC_CTYPE" not in environment
    assert (directory, name) == (str(tmp_path.resolve()), "zero")
    # The program ignores what whoever runs the tests ignores, and not what Python ignores for itself.
    before = Path("/proc/self/status").read_text(encoding="utf-8").partition("SigIgn:")[2].split()[0]
    of_python = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert int(ignored.partition(":")[2], 16) == int(before, 16) & ~of_python


def test_a_path_that_cannot_be_allowed_ends_it_before_the_program(tmp_path: Path) -> None:
    ran = confined(*SYSTEM, "--read", "/no/such/path", "--", "/bin/echo", "echo", "ran", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (confinement.FAILED_EXIT_CODE, "")
    assert ran.stderr.startswith(f"{confinement.FAILED}: ")


def test_a_program_outside_is_not_run(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho ran\n", encoding="utf-8")
    program.chmod(0o755)
    ran = confined(*SYSTEM, "--", str(program), "program", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (126, "")
    assert "Permission denied" in ran.stderr


def test_system_v_ipc_and_message_queues_do_not_exist_inside(tmp_path: Path) -> None:
    python = [word for path in (sys.base_prefix, sys.prefix) for word in ("--read", path)]
    command = [sys.executable, "python", "-I", "-S", "-c", TRY_CALLS, *IPC]
    ran = confined(*SYSTEM, *python, "--", *command, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert dict(line.split() for line in ran.stdout.splitlines()) == dict.fromkeys(IPC, str(errno.ENOSYS))
