"""Reads the lines that a server wrote to stderr before it ended: which of them says why, and what to do.

The lines are those of npm, uv, pip, Docker, shells, Python and Node.js, and of servers that check their
settings. What a server writes is not trusted: a hint contains only names of a known form from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_workbench.downstream.diagnosis.causes import StartFailure
from mcp_workbench.downstream.diagnosis.spawning import OTHER_SYSTEM, SHORTER_PATH, SUPPLIER_OF
from mcp_workbench.downstream.diagnosis.variables import how_to_set, missing_fields, missing_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.errors import Cause

MAX_QUOTED_CHARACTERS: Final = 200
"""Characters of a line that a reason quotes."""
MAX_READ_CHARACTERS: Final = 500
"""Characters of a line that are read for a cause."""

_TERMINAL_SEQUENCE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_DETAIL: Final = re.compile(
    r"(?:npm (?:error|ERR!)\s+)?(?:code|errno|syscall|hostname|address|port|path|type|requireStack)\b:?\s"
)
"""The members of an error that Node.js prints after its message."""
_DECORATION: Final = re.compile(r"^[^\w\['\"/<(-]*(?:cause: )?")

_PORT: Final = re.compile(r"\bport:? ?(\d{2,5})\b|:(\d{2,5})\b", re.IGNORECASE)
_PYTHON_MODULE: Final = re.compile(r"No module named '?([\w.]+)'?")
_NODE_MODULE: Final = re.compile(r"Cannot find (?:module|package) '([^']+)'")
_PROGRAM: Final = re.compile(
    r"(?:^|[:\s])([\w.+@-]+): (?:command )?not found$"
    r"|env: \W?([\w.+@-]+)\W?: No such file|spawn ([\w.+@-]+) ENOENT|command not found: ([\w.+@-]+)"
    r"|'([\w.+@-]+)' is not recognized as an internal"
)


def read_stderr(
    lines: Sequence[str], how: str, config: ServerConfig, environ: Mapping[str, str]
) -> StartFailure | None:
    """Return why a server ended, according to its stderr; None if that does not say it.

    `how` says how it ended. `environ` is the environment of the workbench.
    """
    shown = [_TERMINAL_SEQUENCE.sub("", line)[:MAX_READ_CHARACTERS] for line in lines]
    read = [line for line in shown if line.strip() and not _DETAIL.match(line.strip())]
    if names := missing_fields(read):
        reason = f"{', '.join(names)}: Field required"
        return StartFailure("variable-missing", _told(reason, how), how_to_set(names, config, environ))
    rule = _last_that_matches(read)
    if rule is None:
        return None
    line = rule.best_of(read)
    hint = rule.remedy if isinstance(rule.remedy, str) else rule.remedy(line, config, environ)
    is_missing = rule.cause != "permission-denied" and _is_missing_file(line)
    cause: Cause = "file-missing" if is_missing else rule.cause
    return StartFailure(cause, _told(_DECORATION.sub("", line), how), hint)


def _last_that_matches(lines: Sequence[str]) -> Rule | None:
    """Return the rule for the last line that has one: what a server wrote before may be warnings."""
    for line in reversed(lines):
        for rule in RULES:
            if rule.matches(line):
                if rule.cause == "package-not-found" and any(map(NO_NETWORK.matches, lines)):
                    return NO_NETWORK  # pip says that there is no such package in both cases
                return rule
    return None


def _told(line: str, how: str) -> str:
    quoted = " ".join(line.split())
    if len(quoted) > MAX_QUOTED_CHARACTERS:
        quoted = f"{quoted[:MAX_QUOTED_CHARACTERS]}…"
    return f"{quoted} ({how})"


def _is_missing_file(line: str) -> bool:
    found = _NODE_MODULE.search(line)
    return (found is not None and found[1].startswith(("/", "\\", "file:"))) or "can't open file" in line


class Rule(NamedTuple):
    """A cause, how to recognize the lines that say it (the most telling form first), and what to do."""

    cause: Cause
    forms: Sequence[Callable[[str], object]]
    remedy: str | Callable[[str, ServerConfig, Mapping[str, str]], str]

    def matches(self, line: str) -> bool:
        """Whether a line says that this is the cause."""
        return any(says_it(line) for says_it in self.forms)

    def best_of(self, lines: Sequence[str]) -> str:
        """Return the line among some that says most about the cause."""
        return next(line for says_it in self.forms for line in lines if says_it(line))


def _variable(line: str, config: ServerConfig, environ: Mapping[str, str]) -> str:
    return how_to_set(missing_in(line), config, environ)


def _port(line: str, *_: object) -> str:
    found = _PORT.search(line)
    port = f"port {found[1] or found[2]}" if found else "this port"
    return f"Another program uses {port}: end that, or give this server another port."


def _module(line: str, config: ServerConfig, _: object) -> str:
    command = config.command or ""
    if found := _PYTHON_MODULE.search(line):
        if SUPPLIER_OF.get(command.rpartition("/")[2]) != "Python":
            return f"Install the package that has the module {found[1]} where the server runs."
        return (
            f"Install the package that has the module {found[1]} ({command} -m pip install …), or name the "
            'Python that has it in "command".'
        )
    if _is_missing_file(line):
        return WRONG_PATH
    if "ImportError: " in line:
        if "shared object file" in line:
            return "Install the library of the system that it names."
        return MISFIT
    return 'Run "npm install" in the directory of the server, and build it if it has to be built.'


def _program(line: str, *_: object) -> str:
    found = _PROGRAM.search(line)
    program = next(filter(None, found.groups()), "it") if found else "it"
    supplier = SUPPLIER_OF.get(program)
    install = f"{program} comes with {supplier}: install that" if supplier else f"Install {program}"
    return f'{install}, or add its directory to PATH in "env" ({SHORTER_PATH}).'


def _forms(*patterns: str) -> Sequence[Callable[[str], object]]:
    return [re.compile(pattern).search for pattern in patterns]


MISFIT: Final = (
    "Its Python packages do not fit together: name another version of the package, or install it again."
)
WRONG_PATH: Final = 'Create it, or correct the path: a relative one begins in "cwd", and "~" is not expanded.'

NO_NETWORK: Final = Rule(
    "no-network",
    _forms(
        r"request to \S+ failed|Failed to fetch: ",
        r"\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ECONNREFUSED)\b",
        r"Name or service not known|Temporary failure in name resolution|nodename nor servname",
        r"getaddrinfo failed|[Nn]etwork is unreachable|NewConnectionError|dns error|error sending request",
    ),
    "Check the network, and the proxy if you need one (HTTPS_PROXY).",
)
RULES: Final = (
    Rule("program-missing", [_PROGRAM.search], _program),
    Rule(
        "package-not-found",
        _forms(
            r"npm (?:error|ERR!) (?:404 +\S|notarget No matching|could not determine executable)",
            r"not found in the package registry|there (?:is|are) no versions? of|is not provided by package",
            r"No matching distribution found|No solution found when resolving",
            r"pull access denied for|manifest (?:unknown|for \S+ not found)",
        ),
        'Check the name and the version of the package in "args".',
    ),
    NO_NETWORK,
    Rule(
        "port-in-use",
        _forms(r"EADDRINUSE|[Aa]ddress already in use|[Pp]ort \d+ is (?:already )?in use"),
        _port,
    ),
    Rule(
        "wrong-architecture",
        _forms(
            r"wrong ELF class|invalid ELF header|[Ee]xec format error|[Bb]ad CPU type",
            r"incompatible architecture|cannot execute binary file",
        ),
        OTHER_SYSTEM,
    ),
    Rule("variable-missing", [missing_in], _variable),
    Rule(
        "module-missing",
        _forms(r"ModuleNotFoundError: |No module named |Cannot find (?:module|package) '|\bImportError: "),
        _module,
    ),
    Rule(
        "permission-denied",
        _forms(r"\bEACCES\b|\bEPERM\b|PermissionError: |[Pp]ermission denied|Operation not permitted"),
        "Give your user access to it, or configure another path for the server.",
    ),
    Rule(
        "file-missing",
        _forms(
            r"ENOENT: |FileNotFoundError: |can't open file|Failed to spawn: ",
            r"[Nn]o such file or directory|ENOTDIR: |NotADirectoryError: ",
            r"(?i:\b(?:file|directory|path)\b.* does not exist)",
        ),
        WRONG_PATH,
    ),
    Rule(
        "crashed",
        _forms(r"heap out of memory|\bMemoryError\b"),
        "It needs more memory than it gets: give it less to load, or a higher limit.",
    ),
)
