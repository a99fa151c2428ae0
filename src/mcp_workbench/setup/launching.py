"""How a client starts the workbench: an absolute command, and the environment that it needs.

Desktop programs start their servers without a shell, with a short PATH and without the variables of a
person's profile. Owns what stands in for both. No secret is ever part of it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.entries.whole_file import parse_in_our_words
from mcp_workbench.config.load import load_usable
from mcp_workbench.config.masking.secret_values import is_plain
from mcp_workbench.config.source.expand import is_disabled
from mcp_workbench.config.source.reference_mistakes import explain_unset
from mcp_workbench.config.source.references import WORKSPACE_VARIABLE
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.errors import Problem

DISTRIBUTION: Final = "workbench-mcp"
"""Name under which package indexes have the workbench."""

_SCRIPT: Final = "mcp-workbench.exe" if sys.platform == "win32" else "mcp-workbench"
_ALWAYS_SET: Final = frozenset(
    (
        *("HOME", "LOGNAME", "PATH", "SHELL", "USER", WORKSPACE_VARIABLE),
        *("APPDATA", "COMSPEC", "LOCALAPPDATA", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
    )
)
"""Variables that clients pass on by themselves, or that are set for them alone."""
_OUR_DIRECTORIES: Final = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that say where the workbench keeps logins and secrets."""
_KEYRING: Final = "PYTHON_KEYRING_BACKEND"
"""The variable that chooses the keyring, where a person has set it."""
_BUS: Final = "DBUS_SESSION_BUS_ADDRESS"
"""The variable by which the keyring of a Linux desktop is reached. Some clients do not pass it on."""
_USUAL_BUS: Final = re.compile(r"unix:path=/run/user/\d+/bus")
_REFERENCE: Final = re.compile(r"\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")
_CACHES: Final = frozenset((".cache", "Caches", "archive-v0", "builds-v0", "environments-v2"))
"""Names of directories whose content may be deleted at any time: those of `uvx` and `pipx run` among them."""


class Launch(msgspec.Struct, frozen=True):
    """How a client starts the workbench, with warnings about what it will lack."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]
    warnings: tuple[str, ...]
    needs_workspace: bool
    """Whether the configuration refers to the directory of the project that the client has open."""


def load_for_launch(
    path: str, content: bytes | None, environ: Mapping[str, str], lookup: SecretLookup
) -> tuple[dict[str, object], list[str]]:
    """Return the tree of a configuration that a client is to serve, and warnings about mistakes in it.

    The entries are in our words. `content` is what the file is going to hold; None if it stays as it is.
    Raises ConfigError if nothing of the file can be used.
    """
    warnings = []
    if content is None:
        # Whether the client knows the folder is not known yet.
        loaded = load_usable(path, {WORKSPACE_VARIABLE: os.sep, **environ}, lookup=lookup)
        if loaded.faults.file:
            raise ConfigError(path, loaded.faults.file)
        warnings = [problem.brief for problem in loaded.faults.all if unset_variable(problem) is None]
        with open(path, "rb") as file:
            content = file.read()
    return parse_in_our_words(path, content, Problems(), is_file=True), warnings


def plan_launch(
    config_path: str, tree: Mapping[str, object], environ: Mapping[str, str], executable: str = sys.executable
) -> Launch:
    """Return how a client is to start the workbench on a configuration, given the tree of its file."""
    command, args, warning = own_command(environ, executable)
    env = {"PATH": lasting_path(environ, executable)}
    env |= {name: environ[name] for name in _OUR_DIRECTORIES if os.path.isabs(environ.get(name, ""))}
    env |= {_KEYRING: environ[_KEYRING]} if environ.get(_KEYRING) else {}
    warnings = [warning] if warning else []
    needed = referenced_variables(tree)
    inherited = {name: users for name, users in inherited_variables(tree).items() if name in environ}
    for name, users in (inherited | needed).items():
        if name in _ALWAYS_SET or name in env:
            continue
        value = environ.get(name)
        if value is not None and is_plain(f"${{{name}}}", value):
            env[name] = value
        else:
            warnings.append(_lacking(name, users, is_set=value is not None))
    if _mentions(tree, "${keyring:") and _USUAL_BUS.fullmatch(environ.get(_BUS, "")):
        env[_BUS] = environ[_BUS]
    return Launch(
        command=command,
        args=(*args, "--config", os.path.abspath(config_path), "--keep-going"),
        env=env,
        warnings=tuple(warnings),
        needs_workspace=WORKSPACE_VARIABLE in needed,
    )


def own_command(environ: Mapping[str, str], executable: str) -> tuple[str, tuple[str, ...], str]:
    """Return the command and the arguments that start this workbench from anywhere, and a warning or ""."""
    executable = os.path.abspath(executable)
    if is_temporary(executable, environ):
        runner = shutil.which("uvx", path=environ.get("PATH", ""))
        if runner is not None:
            warning = (
                "this workbench runs in a temporary environment, so the client starts it with "
                f"`uvx {DISTRIBUTION}`. `uv tool install` makes it permanent, and quicker to start"
            )
            return os.path.abspath(runner), (DISTRIBUTION,), warning
        warning = (
            "this workbench runs in a temporary environment, which may be deleted at any time. "
            "Install it with `uv tool install` or pipx, and run this again"
        )
        return executable, ("-m", "mcp_workbench"), warning
    script = os.path.join(os.path.dirname(executable), _SCRIPT)
    if not os.path.isfile(script):
        return executable, ("-m", "mcp_workbench"), ""
    return _link_to(script, environ) or script, (), ""


def is_temporary(path: str, environ: Mapping[str, str]) -> bool:
    """Whether a program is in a cache, from which it may be deleted at any time."""
    cache = environ.get("UV_CACHE_DIR") or environ.get("XDG_CACHE_HOME")
    if cache and os.path.isabs(cache) and path.startswith(os.path.join(cache, "")):
        return True
    return not _CACHES.isdisjoint(path.replace("\\", "/").split("/"))


def lasting_path(environ: Mapping[str, str], executable: str) -> str:
    """Return the PATH with only the directories that are absolute and exist, each once.

    A temporary environment that this program runs in is left out.
    """
    directories = dict.fromkeys(environ.get("PATH", "").split(os.pathsep))
    if is_temporary(executable, environ):
        directories.pop(os.path.dirname(executable), None)
    return os.pathsep.join(
        directory for directory in directories if os.path.isabs(directory) and os.path.isdir(directory)
    )


def referenced_variables(tree: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the variables that a configuration cannot do without, each with the servers that need it.

    References with a default, and those of disabled servers, can be done without.
    """
    return _by_name((name, user) for user, node in _parts(tree) for name in _references(node))


def inherited_variables(tree: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the variables that servers get if they are set, by `inheritEnv`, each with those servers."""
    return _by_name((name, user) for user, node in _parts(tree) for name in _inherited(node))


def _by_name(uses: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, user in uses:
        users = found.setdefault(name, [])
        if user not in users:
            users.append(user)
    return found


def _parts(tree: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield each server that is not disabled, and all else in the file as one part."""
    boxes = tree.get("toolboxes")
    yield "the configuration", {key: value for key, value in tree.items() if key != "toolboxes"}
    for box, toolbox in (boxes if isinstance(boxes, dict) else {}).items():
        servers = toolbox.get("mcpServers") if isinstance(toolbox, dict) else None
        for name, server in (servers if isinstance(servers, dict) else {}).items():
            if isinstance(server, dict) and not is_disabled(server):
                yield f"{box}/{name}", server


def _references(node: object) -> Iterator[str]:
    for text in _texts(node):
        for found in _REFERENCE.finditer(text):
            if found[1] == "workspaceFolder":
                yield WORKSPACE_VARIABLE
            elif found[1] and found[2] is None and found[1] != "userHome":
                yield found[1]


def _inherited(node: object) -> list[str]:
    names = node.get("inheritEnv") if isinstance(node, dict) else None
    # A pattern may mean any variable: only those that are named are known to be needed.
    return (
        [name for name in names if isinstance(name, str) and name.isidentifier()]
        if isinstance(names, list)
        else []
    )


def unset_variable(problem: Problem) -> str | None:
    """Return the variable of a problem that says that it is not set; None for any other problem."""
    name = problem.what.removeprefix("the variable ").partition(" ")[0]
    return name if problem.what == explain_unset(name)[0] else None


def _mentions(node: object, part: str) -> bool:
    return any(part in text for text in _texts(node))


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _texts(value)
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item)


def _link_to(script: str, environ: Mapping[str, str]) -> str | None:
    """Return a link on the PATH that leads to the script: it stays when the environment is made anew."""
    real = os.path.realpath(script)
    for directory in environ.get("PATH", "").split(os.pathsep):
        link = os.path.join(directory, _SCRIPT)
        if os.path.isabs(link) and os.path.islink(link) and os.path.realpath(link) == real:
            return link
    return None


def _lacking(name: str, users: Sequence[str], *, is_set: bool) -> str:
    why = "looks like a secret, and is not written into the client's file" if is_set else "is not set"
    return (
        f"the variable {name} {why}. {', '.join(users)} needs it. Store it with `mcp-workbench secret set "
        f"{name}`, and write ${{keyring:{name}}} instead of ${{{name}}} in the configuration"
    )
