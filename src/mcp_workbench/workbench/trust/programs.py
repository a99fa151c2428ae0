"""Which program a server is, without the values of its options: a lock may be committed.

Owns which arguments name the program, and which are values. `npx -y package` names a package, and
`tool -p secret` has a value: what a launcher such as `npx` gets before the name of the program is kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.trust.digests import VALUE, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_workbench.config import ServerConfig

_REFERENCE: Final = "${"
"""Begins a reference to a variable, which counts by its name."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][\w.-]*=).+", re.DOTALL)
_FIRST_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][\w.-]*=)\S+")
"""Only up to a space: in the script of a shell, what follows it is the program."""
_VERSION: Final = re.compile(r"[\d.]*(\.exe|\.cmd|\.bat)?$")

_NPM: Final = frozenset(("-p", "--package", "--registry", "--prefix", "--cache", "-w", "--workspace"))
_UV: Final = frozenset(
    (
        *("--from", "--with", "--with-editable", "--with-requirements", "-p", "--python", "--directory"),
        *("--project", "--index", "--default-index", "--env-file"),
        *("--extra", "--group", "--config-file", "--cache-dir"),
    )
)
_CONTAINER: Final = frozenset(
    (
        *("-e", "--env", "--env-file", "-v", "--volume", "--mount", "--name", "--network", "--net", "-p"),
        *("--publish", "-w", "--workdir", "-u", "--user", "--entrypoint", "--platform", "--add-host", "-l"),
        *("--label", "-m", "--memory", "--cpus", "--pull", "--gpus", "-h", "--hostname"),
    )
)
_LAUNCHERS: Final = {
    "npx": _NPM,
    "npm": _NPM,
    "pnpm": _NPM,
    "pnpx": _NPM,
    "yarn": _NPM,
    "bunx": _NPM,
    "bun": _NPM,
    "uv": _UV,
    "uvx": _UV,
    "pipx": frozenset(("--spec", "--python", "--pip-args")),
    "python": frozenset(("-W", "-X")),
    "node": frozenset(("-r", "--require", "--import", "--loader", "--env-file", "-C", "--conditions")),
    "tsx": frozenset(("--tsconfig",)),
    "deno": frozenset(("-c", "--config", "--import-map", "--env-file")),
    "java": frozenset(("-cp", "-classpath", "--class-path", "-p", "--module-path")),
    "docker": _CONTAINER,
    "podman": _CONTAINER,
    "sh": frozenset[str](),
    "bash": frozenset[str](),
    "zsh": frozenset[str](),
    "cmd": frozenset[str](),
    "dotnet": frozenset(("--project",)),
    "go": frozenset[str](),
    "ruby": frozenset(("-I", "-r")),
    "php": frozenset(("-d",)),
}
"""Programs that start another one, with those of their options that have a value."""
_SUBCOMMANDS: Final = frozenset(("run", "exec", "x", "dlx", "tool", "container", "/c", "/C"))
_PROGRAM_OPTIONS: Final = frozenset(("-m", "-c", "-e", "--eval", "-jar", "-lc", "--module"))
"""Options of launchers whose value is the program, unless they are among those above."""


def server_program(config: ServerConfig, written: Sequence[str] | None) -> str:
    """Return which program a server is: its command and arguments without values, or its URL's origin.

    `written` has these as they are in the file, if they have references.
    """
    if config.url is not None:
        return program_of(config, written)
    command, *arguments = written or (config.command or "", *config.args)
    return program_of(config, (command, *_without_values(command, arguments)))


def _without_values(command: str, arguments: Sequence[str]) -> Iterator[str]:
    named = _length_of_name(command, arguments)
    is_value = False
    for index, argument in enumerate(arguments):
        is_option = argument.startswith("-") and len(argument) > 1
        if is_value and not is_option and index >= named and _REFERENCE not in argument:
            yield VALUE
        elif is_option or _REFERENCE in argument:
            yield argument  # without its value after `=`, as `program_of` has it
        else:
            assignment = _FIRST_ASSIGNMENT if index < named else _ASSIGNMENT
            found = assignment.match(argument)
            yield argument if found is None else f"{found[1]}{VALUE}{argument[found.end() :]}"
        is_value = is_option and "=" not in argument and argument != "--"


def _length_of_name(command: str, arguments: Sequence[str]) -> int:
    """Return how many of the arguments say which program a launcher starts; 0 if it is no launcher."""
    with_value = _options_of(command)
    if with_value is None:
        return 0
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        index += 1
        if argument in with_value:
            index += 1
        elif argument in _PROGRAM_OPTIONS:
            return index + 1
        elif not argument.startswith("-") and argument not in _SUBCOMMANDS:
            # It may be a launcher again, as in `uv run python -m module` and `docker run image npx package`.
            if with_value is _CONTAINER and _options_of(next(iter(arguments[index:]), "")) is not None:
                argument, index = arguments[index], index + 1
            return index + _length_of_name(argument, arguments[index:])
    return index


def _options_of(command: str) -> frozenset[str] | None:
    name = command.replace("\\", "/").rpartition("/")[2].lower()
    return _LAUNCHERS.get(_VERSION.sub("", name))
