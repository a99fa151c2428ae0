"""Which program a server is, without the values of its options: a lock may be committed.

Owns which arguments name the program, and which are values. `npx -y package` names a package, and
`tool -p secret` has a value: what a launcher such as `npx` gets before the name of the program is kept. The
version of a package or an image does not count: a new version is compared with what was approved of the old.
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
_VERSION_OF_PACKAGE: Final = re.compile(r"(?<=[^@/:\s])(?:@[^@/:\s]+|(?<=[\w\]])(?:[=~!<>]=|[<>])[^@/:]*)$")
"""The version in `package@1.2`, `@scope/package@latest`, `package[extra]==1.2` and `git+https://host/x@v1`."""
_VERSION_OF_IMAGE: Final = re.compile(r"(?<=[^/])(?::[\w.-]+)?(?:@sha\d+:\w+)?$")
"""The tag and the digest in `registry:5000/image:tag@sha256:0123`."""

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
_PACKAGED: Final = frozenset(
    ("npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uv", "uvx", "pipx", "deno", "go")
)
"""Launchers of packages that can have a version."""
_PACKAGE_OPTIONS: Final = frozenset(("--from", "--with", "--package", "--spec"))
"""Options of these launchers whose value is a package."""
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
    packages = dict(_packages(command, arguments[:named]))
    is_value = False
    for index, argument in enumerate(arguments):
        is_option = argument.startswith("-") and len(argument) > 1
        if is_value and not is_option and index >= named and _REFERENCE not in argument:
            yield VALUE
        elif is_option or _REFERENCE in argument:
            yield argument  # without its value after `=`, as `program_of` has it
        elif index in packages:
            yield packages[index].sub("", argument, count=1)
        else:
            assignment = _FIRST_ASSIGNMENT if index < named else _ASSIGNMENT
            found = assignment.match(argument)
            yield argument if found is None else f"{found[1]}{VALUE}{argument[found.end() :]}"
        is_value = is_option and "=" not in argument and argument != "--"


def _packages(command: str, arguments: Sequence[str]) -> Iterator[tuple[int, re.Pattern[str]]]:
    """Yield which arguments name packages or images, with the pattern for their versions."""
    launcher, start = command, 0
    while (with_value := _options_of(launcher)) is not None and start < len(arguments):
        pattern = _VERSION_OF_IMAGE if with_value is _CONTAINER else _VERSION_OF_PACKAGE
        has_versions = with_value is _CONTAINER or _base_name(launcher) in _PACKAGED
        program = None
        for index in range(start, len(arguments)):
            before = arguments[index - 1] if index > start else ""
            is_option = arguments[index].startswith("-") or arguments[index] in _SUBCOMMANDS
            if has_versions and (before in _PACKAGE_OPTIONS or (before == "-p" and with_value is _NPM)):
                yield index, pattern
            elif not is_option and before not in with_value:
                program = index
                break
        if program is None:
            return
        if has_versions:
            yield program, pattern
        # It may be a launcher again, as in `_length_of_name`.
        follows = program + 1 if with_value is _CONTAINER else program
        launcher, start = "".join(arguments[follows : follows + 1]), follows + 1


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
    return _LAUNCHERS.get(_base_name(command))


def _base_name(command: str) -> str:
    """Return the name of a program without its directory, its version and the suffix of Windows."""
    return _VERSION.sub("", command.replace("\\", "/").rpartition("/")[2].lower())
