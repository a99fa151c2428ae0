"""The findings of `mcp-workbench doctor`: their codes, with the severity and the meaning of each.

Owns the table of codes, which `docs/doctor.md` lists, and what a finding consists of. Codes are stable: a
script may depend on one. A finding names secrets and variables, and never has the value of one.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Severity = Literal["problem", "warning", "note"]

SEVERITIES: Final[tuple[Severity, ...]] = ("problem", "warning", "note")
"""The severities, the worst first. Only problems make the command fail."""


class FindingCode(msgspec.Struct, frozen=True):
    """What a code stands for: how bad that is, what it means, and what fixes it."""

    severity: Severity
    meaning: str
    mending: str


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was found: what, where, and the command that fixes it."""

    code: str
    severity: Severity
    message: str
    """One or two sentences that say what is wrong."""
    servers: tuple[str, ...] = ()
    """The servers that it concerns, as TOOLBOX/SERVER."""
    client: str = ""
    """The id of the client that it concerns."""
    file: str = ""
    line: int | None = None
    remedy: str = ""
    """What to do, in words, where the command alone does not say it."""
    command: str = ""
    """A command line for a shell that fixes it, or opens the file where the edit has to be made."""


class Area(msgspec.Struct, frozen=True):
    """One part of what was looked at: its name, what was there, and what was found."""

    name: str
    summary: str
    findings: tuple[Finding, ...]


def found(
    code: str,
    message: str,
    *,
    servers: tuple[str, ...] = (),
    client: str = "",
    file: str = "",
    line: int | None = None,
    remedy: str = "",
    command: str = "",
) -> Finding:
    """Return a finding with the severity that the table has for its code."""
    return Finding(
        code=code,
        severity=CODES[code].severity,
        message=message,
        servers=servers,
        client=client,
        file=file,
        line=line,
        remedy=remedy,
        command=command,
    )


_CODES_OF_THE_FILE: Final = {
    "configuration-missing": FindingCode(
        "problem", "There is no configuration file.", "`mcp-workbench import`, or adding a server"
    ),
    "file-mistake": FindingCode(
        "problem",
        "The configuration file has a mistake, or cannot be read.",
        "an edit of the line that is named",
    ),
    "file-warning": FindingCode(
        "warning",
        "The configuration is valid, but has something in it that is probably not meant.",
        "an edit of the line that is named",
    ),
    "file-writable-by-others": FindingCode(
        "problem",
        "Other users can change the configuration, or a file that it refers to. They could make you run any "
        "program.",
        "`chmod`, or a file in a directory of your own",
    ),
    "file-readable-by-others": FindingCode(
        "warning",
        "Other users can read a file with secrets: the configuration, a file that it refers to, or "
        "`tokens.json` beside it.",
        "`chmod go-r FILE`",
    ),
    "file-large": FindingCode(
        "note",
        "The configuration file is larger than 1 MiB. It is read at every start.",
        "removing servers that are not used",
    ),
    "another-file": FindingCode(
        "note", "There is another configuration file, which is not used.", "naming it with `--config`"
    ),
}

_CODES_OF_ENTRIES: Final = {
    "variable-not-set": FindingCode(
        "problem",
        "A server refers to an environment variable that is not set here.",
        "`export NAME=value`, or a stored secret",
    ),
    "secret-missing": FindingCode(
        "problem", "A server refers to a secret that is not stored.", "`mcp-workbench secret set NAME`"
    ),
    "keyring-unavailable": FindingCode(
        "problem",
        "Stored secrets cannot be read: the keyring is locked, does not answer, or is not there.",
        "unlocking the keyring, or storing the secret again",
    ),
    "secret-in-plain-text": FindingCode(
        "warning",
        "A secret is written into the configuration in plain text.",
        "`mcp-workbench secret set NAME`, and a reference in its place",
    ),
    "shell-reference": FindingCode(
        "warning",
        "A value has `$NAME`, which only a shell would replace. The workbench replaces `${NAME}`.",
        "an edit: braces around the name",
    ),
    "timeout-in-milliseconds": FindingCode(
        "warning",
        "A time-out is longer than an hour. The unit is seconds, and milliseconds were probably meant.",
        "an edit: a thousandth of the number",
    ),
    "unpinned-package": FindingCode(
        "warning",
        "A server is a package without a fixed version: each start may run other code than the last one.",
        "an edit: the version after the name of the package",
    ),
}

_CODES_OF_PROGRAMS: Final = {
    "program-missing": FindingCode(
        "problem", "The program that starts a server is not found.", "installing it, or its full path"
    ),
    "arguments-in-command": FindingCode(
        "problem", "`command` holds a whole command line.", "an edit: the arguments belong in `args`"
    ),
    "program-not-executable": FindingCode(
        "problem", "The program that starts a server is not executable.", "`chmod +x FILE`"
    ),
    "directory-missing": FindingCode(
        "problem", "The working directory (`cwd`) of a server does not exist.", "`mkdir -p DIRECTORY`"
    ),
    "sandbox-unavailable": FindingCode(
        "problem",
        "A server has a `sandbox`, and this system cannot confine it.",
        "an edit: without `sandbox` the server runs with your rights",
    ),
    "sandbox-undoable": FindingCode(
        "warning",
        "A server can write to the configuration, or to the program or the data of the workbench: it could "
        "undo its own `sandbox`.",
        "an edit: in `write`, a directory for this server alone",
    ),
    "program-too-old": FindingCode(
        "warning", "A program is too old for most servers.", "installing a newer version"
    ),
    "program-fails": FindingCode(
        "warning",
        "A program that starts servers fails when it is asked for its version.",
        "reinstalling it",
    ),
    "program-silent": FindingCode(
        "note",
        "A program that starts servers did not tell its version within 2 seconds.",
        "running it in a terminal",
    ),
}

_CODES_OF_CLIENTS: Final = {
    "no-client": FindingCode(
        "note", "No client on this machine starts the workbench.", "`mcp-workbench install CLIENT`"
    ),
    "client-file-unreadable": FindingCode(
        "warning", "The settings of a client cannot be read.", "an edit of the client's file"
    ),
    "client-command-missing": FindingCode(
        "problem",
        "The program in a client's entry does not exist, is not executable, or is not on the PATH.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-command-fails": FindingCode(
        "problem",
        "The program in a client's entry fails when it is asked for its version.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-command-not-absolute": FindingCode(
        "warning",
        "A client's entry has the program without its path. A desktop program may not find it.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-command-temporary": FindingCode(
        "warning",
        "The program in a client's entry is in a cache, and may be deleted at any time.",
        "`uv tool install workbench-mcp`, then `mcp-workbench install CLIENT`",
    ),
    "client-version-differs": FindingCode(
        "warning",
        "A client starts another version of the workbench than this one.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-config-missing": FindingCode(
        "problem",
        "The configuration file that a client's entry names does not exist.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-config-not-absolute": FindingCode(
        "warning",
        "A client's entry names the configuration by a relative path, or not at all. A client may start it "
        "in any directory.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-uses-another-file": FindingCode(
        "note",
        "A client's entry uses another configuration file than this one.",
        "`mcp-workbench doctor --config FILE` for that one",
    ),
    "client-without-keep-going": FindingCode(
        "warning",
        "A client's entry lacks `--keep-going`: with one mistake in the file, the client gets no tools.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-path-too-short": FindingCode(
        "problem",
        "The PATH in a client's entry lacks the directory of a program that servers need.",
        "`mcp-workbench install CLIENT`",
    ),
    "client-without-path": FindingCode(
        "warning",
        "A client's entry has no PATH. A desktop program has a short one, without a program that servers "
        "need.",
        "`mcp-workbench install CLIENT`",
    ),
    "server-in-both": FindingCode(
        "warning",
        "A client has a server itself that it also gets by the workbench: the model pays for both.",
        "`mcp-workbench install CLIENT --replace`",
    ),
}

_CODES_OF_STORAGE: Final = {
    "login-expired": FindingCode(
        "problem",
        "The login to a remote server has expired, and cannot be renewed.",
        "`mcp-workbench login TOOLBOX/SERVER`",
    ),
    "login-missing": FindingCode(
        "warning",
        "A remote server has `oauth` settings, but nobody has logged in yet.",
        "`mcp-workbench login TOOLBOX/SERVER`",
    ),
    "login-unreadable": FindingCode(
        "problem",
        "A stored login cannot be read: the file is damaged, or the keyring does not answer.",
        "`mcp-workbench login TOOLBOX/SERVER`",
    ),
    "catalogue-incomplete": FindingCode(
        "note",
        "The tools of a server were never listed, so that a search cannot find them.",
        "`mcp-workbench index`",
    ),
    "catalogue-old": FindingCode(
        "note", "The tools of a server were last listed more than 30 days ago.", "`mcp-workbench index`"
    ),
    "lock-unusable": FindingCode(
        "problem",
        "`workbench-lock.json` has a mistake, so that what it approves does not count.",
        "an edit of the line that is named, or the file as it was before",
    ),
    "tools-held": FindingCode(
        "warning",
        "Tools or instructions of a server changed, or are new, and are held until you have looked at them.",
        "`mcp-workbench review`",
    ),
    "directory-unusable": FindingCode(
        "warning",
        "The directory for the catalogue, or that for logins, secrets, pins and the audit, cannot be used.",
        "removing what is in the way, or another directory",
    ),
    "leftover-files": FindingCode(
        "note", "An interrupted command has left temporary files behind.", "`rm FILE`"
    ),
    "orphaned-processes": FindingCode(
        "warning", "Servers of a workbench that has ended are still running.", "`kill PID`"
    ),
    "several-installs": FindingCode(
        "warning",
        "The PATH leads to several installations of `mcp-workbench`.",
        "removing one of them",
    ),
}

CODES: Final[dict[str, FindingCode]] = {
    **_CODES_OF_THE_FILE,
    **_CODES_OF_ENTRIES,
    **_CODES_OF_PROGRAMS,
    **_CODES_OF_CLIENTS,
    **_CODES_OF_STORAGE,
}
"""Every code that can be found without starting a server. `--connect` adds the causes of failed starts."""
