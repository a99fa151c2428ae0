"""Looks at the configuration file: where it is, its mistakes, who can read and change it, its size."""

from __future__ import annotations

import os
import re
import shlex
import stat
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.load import HARM
from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.config.places import FILE_NAME, VARIABLE, personal_file
from mcp_workbench.config.source.rights import find_writers, others_can_read
from mcp_workbench.config.tokens import USUAL_NAME as TOKEN_FILE_NAME
from mcp_workbench.config.validation.fields import LONG_WAIT
from mcp_workbench.setup.diagnosis.examined import sentence
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.launching import unset_variable
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding

LARGE_BYTES: Final = 1024 * 1024
"""Size in bytes above which a file is called large. A file of 200 servers has some 50,000."""


def look_at_file(examined: Examined) -> Area:
    """Return what is wrong with the configuration file itself and the files that it refers to."""
    status = _status(examined.path)
    if status is None and not os.path.lexists(examined.path):
        findings = [_missing(examined), *_others(examined)]
        return Area("file", f"{examined.path} does not exist", tuple(findings))
    findings = [*_mistakes(examined), *_warnings(examined, status), *_rights(examined, status)]
    if status is not None and stat.S_ISREG(status.st_mode) and status.st_size > LARGE_BYTES:
        size = f"{status.st_size / LARGE_BYTES:.1f} MiB"
        findings.append(
            found(
                "file-large",
                f"{examined.path} has {size}, and is read at every start.",
                file=examined.path,
                remedy="Remove servers that are not used: mcp-workbench remove TOOLBOX/SERVER",
                command=examined.command("list"),
            )
        )
    return Area("file", _summary(examined), (*findings, *_others(examined)))


def _summary(examined: Examined) -> str:
    config = examined.loaded.config
    if examined.loaded.faults.file:
        return f"{examined.path} cannot be used"
    toolboxes = count(len(config.toolboxes), "toolbox", "toolboxes")
    servers = count(sum(len(box.servers) for box in config.toolboxes.values()), "server", "servers")
    return f"{examined.path}: {toolboxes}, {servers}"


def _missing(examined: Examined) -> Finding:
    return found(
        "configuration-missing",
        f"There is no configuration file at {examined.path}.",
        file=examined.path,
        remedy="Import the servers that your clients have, or add one: mcp-workbench add time -- uvx "
        "mcp-server-time",
        command=examined.command("import"),
    )


def _mistakes(examined: Examined) -> Iterator[Finding]:
    faults = examined.loaded.faults
    owners = {id(problem): origin for origin, problems in faults.servers.items() for problem in problems}
    for problem in faults.all:
        if unset_variable(problem) is not None:
            continue  # looked at with the entries
        origin = owners.get(id(problem))
        yield found(
            "file-mistake",
            f"{problem.brief}." if problem.where else sentence(problem.what),
            servers=() if origin is None else ("/".join(origin),),
            file=examined.path,
            line=problem.line,
            remedy=problem.remedy,
            command=examined.edit(problem.line),
        )


def _warnings(examined: Examined, status: os.stat_result | None) -> Iterator[Finding]:
    """Yield what loading warns of, unless it is a finding of its own."""
    ways = [] if status is None else find_writers(examined.path, status, HARM, examined.environ)
    elsewhere = {f"{what}: {remedy}" for what, remedy in ways}
    for warning in examined.loaded.warnings:
        if warning in elsewhere or warning.endswith(LONG_WAIT):
            continue
        placed = re.fullmatch(rf"{re.escape(examined.path)}:(\d+): (.*)", warning, re.DOTALL)
        line = None if placed is None else int(placed[1])
        yield found(
            "file-warning",
            sentence(warning) if placed is None else f"{placed[2]}.",
            file=examined.path,
            line=line,
            command=examined.edit(line),
        )


def _rights(examined: Examined, status: os.stat_result | None) -> Iterator[Finding]:
    holds_secrets = any(find_secrets(entry) for entry in examined.entries.values())
    if status is not None:
        yield from _writers(examined, examined.path, status, HARM)
        if holds_secrets:
            yield from _readers(examined.path, status, "has secrets in plain text")
    beside = os.path.join(os.path.dirname(examined.path), TOKEN_FILE_NAME)
    for path in sorted({*examined.loaded.files, beside}):
        if (its_status := _status(path)) is None or not stat.S_ISREG(its_status.st_mode):
            continue  # a file that is needed and missing is a mistake of the configuration
        if path != beside:
            yield from _writers(examined, path, its_status, "change what servers get")
        yield from _readers(path, its_status, "has secrets")


def _writers(examined: Examined, path: str, status: os.stat_result, harm: str) -> Iterator[Finding]:
    for what, remedy in find_writers(path, status, harm, examined.environ):
        is_command = remedy.startswith("chmod ")
        yield found(
            "file-writable-by-others",
            sentence(what),
            file=path,
            remedy="" if is_command else sentence(remedy),
            command=remedy if is_command else f"ls -ld {shlex.quote(path)}",
        )


def _readers(path: str, status: os.stat_result, why: str) -> Iterator[Finding]:
    if letters := others_can_read(status):
        yield found(
            "file-readable-by-others",
            f"{path} {why}, and other users can read it.",
            file=path,
            command=f"chmod {letters}-r {shlex.quote(path)}",
        )


def _others(examined: Examined) -> Iterator[Finding]:
    """Yield the other places of a configuration file at which there is one."""
    seen = {os.path.realpath(examined.path)}
    named = os.path.expanduser(examined.environ.get(VARIABLE, ""))
    for path in (named, FILE_NAME, personal_file(examined.environ)):
        if not path or not os.path.lexists(path) or os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        shown = os.path.abspath(path)
        yield found(
            "another-file",
            f"{shown} is a configuration too, but is not used here.",
            file=shown,
            remedy="To look at that one:",
            command=f"mcp-workbench doctor --config {shlex.quote(shown)}",
        )


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
