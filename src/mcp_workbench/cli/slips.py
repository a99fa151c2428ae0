"""Slips of the command line: what was meant is understood, or answered with the line to type.

Owns the answers. `parsing` finds out that a command line is wrong, and asks here.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.edit_distance import edit_distance
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PROGRAM: Final = "mcp-workbench"

_HELP: Final = ("-h", "--help")
_VERSION: Final = ("version", "-v", "-V")
_CONFIG: Final = "--config"
_CONFIG_SUFFIXES: Final = (".json", ".jsonc")

_OTHER_NAMES: Final = {
    **dict.fromkeys(("run", "start", "up", "server"), "serve"),
    **dict.fromkeys(("ls", "show", "servers", "toolboxes"), "list"),
    **dict.fromkeys(("rm", "delete", "del"), "remove"),
    **dict.fromkeys(("mv", "rename"), "move"),
    **dict.fromkeys(("validate", "verify", "lint", "test"), "check"),
    **dict.fromkeys(("setup", "connect"), "install"),
    **dict.fromkeys(("migrate", "init"), "import"),
    **dict.fromkeys(("search", "find", "query"), "tools --query"),
    **dict.fromkeys(("status", "diagnose"), "doctor"),
    **dict.fromkeys(("exec", "invoke"), "call"),
    **dict.fromkeys(("logs", "audit", "history", "calls"), "log"),
    **dict.fromkeys(("secrets", "keyring"), "secret"),
    "auth": "login",
    "off": "disable",
    "on": "enable",
    "revert": "undo",
    "set": "secret set",
}
"""Names that other programs have for a command. Only commands that exist are suggested."""

_SHORT_OPTIONS: Final = {"-c": _CONFIG, "-f": _CONFIG, "-y": "--yes", "-j": "--json", "-n": "--dry-run"}
"""Short options of other programs. Ours have one form each."""

_LAUNCHERS: Final = {
    *("npx", "npm", "pnpm", "bunx", "bun", "deno", "node"),
    *("uvx", "uv", "pipx", "python", "python3", "docker", "podman", "dotnet", "java"),
}
"""Programs that start MCP servers, on this machine or not."""

_PLAIN_WORD: Final = re.compile(r"(--config=)?[\w@.,:/+-]+")
"""A word that is shown again. Others, such as NAME=VALUE, may hold a secret."""
_LONG_RANDOM: Final = re.compile(r"(?=.*\d)[\w-]{20,}")

MAX_SUGGESTIONS: Final = 2
"""Names that are suggested for one that does not exist."""


def put_in_order(
    arguments: Sequence[str], commands: Collection[str], valued: Mapping[str, bool]
) -> list[str]:
    """Return a command line as the parser expects it: the command first, `--help` and `--version` as options.

    `valued` has the options that may stand before a command, and whether each takes a value.
    """
    words = list(arguments)
    first = words[0] if words else ""
    if first == "help":
        return [*words[1:], "--help"]
    if first in _VERSION:
        return ["--version", *words[1:]]
    at, is_known = 0, True
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        option, equals, _ = words[at].partition("=")
        is_known = is_known and option in valued and option not in _HELP
        at += 1
        takes_value = valued.get(option, at < len(words) and words[at] not in commands)
        if takes_value and not equals and words[at : at + 1] and not words[at].startswith("-"):
            at += 1
    if is_known or at >= len(words) or words[at] not in commands or "--version" in words[:at]:
        return words
    return [words[at], *words[:at], *words[at + 1 :]]


def explain_command(word: str, words: Sequence[str], commands: Collection[str]) -> str:
    """Return the answer to a first word that is no command; `words` is the whole command line."""
    at = words.index(word)
    rest = words[at + 1 :]
    if is_config_name(word):
        command = rest[:1] if rest and rest[0] in commands else ["check"] if "--connect" in rest else []
        others = rest[1:] if command == rest[:1] else rest
        return (
            f"a configuration file is named with {_CONFIG}: "
            f"{_line(*command, *words[:at], _CONFIG, word, *others)}"
        )
    name = show_name(word)
    if (other := _OTHER_NAMES.get(word.lower(), "")).split(" ")[0] in commands:
        text = [" ".join(rest)] if other.endswith("--query") and rest else rest
        return f"there is no command '{name}'. Use: {_line(*words[:at], *other.split(' '), *text)}"
    if near := _near_names(word, commands):
        lines = [_line(*words[:at], command, *rest) for command in near]
        if len(lines) == 1:
            return f"there is no command '{name}'. Did you mean: {lines[0]}"
        return f"there is no command '{name}'. Did you mean one of these?\n  " + "\n  ".join(lines)
    if word.startswith(("http://", "https://")):
        return f"to add a remote server: {_line('add', _name_of(word), word)}"
    if _is_program(word):
        return f"to add a server: {_line('add', _name_of(*words[at:]), '--', *words[at:])}"
    return f"there is no command '{name}'. {PROGRAM} --help lists the commands"


def _near_names(word: str, names: Collection[str]) -> list[str]:
    """Return the names that a mistyped word may stand for, the nearest first."""
    import difflib

    return difflib.get_close_matches(word.lower(), sorted(names), n=MAX_SUGGESTIONS, cutoff=0.7)


def explain_action(word: str, prog: str, actions: Sequence[str]) -> str:
    """Return the answer to an unknown action of a command, without the words that follow."""
    near = [_OTHER_NAMES.get(word.lower(), ""), *_near_names(word, actions)]
    meant = next((action for action in near if action in actions), None)
    if meant is not None:
        return f"{prog} has no action '{show_name(word)}'. Did you mean: {prog} {meant}"
    return f"{prog} has no action '{show_name(word)}'. Its actions: {', '.join(actions)}"


def explain_unknown(
    unknown: Sequence[str], command: str, words: Sequence[str], options: Mapping[str, Collection[str]]
) -> str:
    """Return the answer to words that a command does not take.

    `words` is the whole command line, and `options` has the options of every command, by its name; the
    options without a command stand under the empty name.
    """
    word = unknown[0]
    if command == "serve" and (address := _address_of(unknown)) is not None:
        return f"the address is given with --http: {_line('serve', '--http', address)}"
    help_line = f"{PROGRAM} {command}".strip() + " --help"
    if command == "add" and not _LAUNCHERS.isdisjoint(words) and "--" not in words:
        at = next(at for at, launcher in enumerate(words) if launcher in _LAUNCHERS)
        name = words[1:at] or [_name_of(*words[at:])]
        return f"write the program after two dashes: {_line('add', *name, '--', *words[at:])}"
    if not word.startswith("-"):
        if is_config_name(word) and _CONFIG in options[command]:
            return explain_config_file(word, words)
        return f"{command} takes no argument '{show_name(word)}'. {help_line} shows what it takes"
    option, equals, value = word.partition("=")
    if meant := _option_meant(option, options[command]):
        line = _line(*_replaced(words, word, f"{meant}{equals}{value}"))
        return f"there is no option {show_name(option)}. Did you mean: {line}"
    owners = [name for name, taken in options.items() if name and option in taken]
    elsewhere = f" It is an option of {', '.join(owners)}." if owners else ""
    what = f"{command} has no option" if command else "there is no option"
    return f"{what} {show_name(option)}.{elsewhere} {help_line} lists the options"


def explain_config_file(path: str, words: Sequence[str]) -> str:
    """Return the answer to a configuration file that is given without its option."""
    return f"a configuration file is named with {_CONFIG}: {_line(*_replaced(words, path, _CONFIG, path))}"


def is_config_name(word: str) -> bool:
    """Whether a word is named like a configuration file, where it can be nothing else."""
    return word.lower().endswith(_CONFIG_SUFFIXES)


def is_config_file(word: str) -> bool:
    """Whether a word is the path of a file that may be a configuration, where it could be a name too."""
    return is_config_name(word) and Path(word).is_file()


def _option_meant(option: str, options: Collection[str]) -> str | None:
    """Return the option that was meant by one that does not exist, if there is just one."""
    if (long := _SHORT_OPTIONS.get(option)) in options:
        return long
    bare = option.lstrip("-").replace("_", "-").lower()
    limit = 1 if len(bare) < 5 else 2
    near = {name for name in options if edit_distance(bare, name.lstrip("-"), limit) <= limit}
    halves = {name for name in options if len(bare) > 2 and name.startswith(f"--{bare}")}
    found = (near if len(near) == 1 else halves) & {name for name in options if name.startswith("--")}
    return found.pop() if len(found) == 1 else None


def _address_of(unknown: Sequence[str]) -> str | None:
    """Return the address that is meant by `--host` and `--port`; None if there is neither."""
    given = dict(re.findall(r"(?:^|\0)--?(host|port|p)[=\0]([\w.:-]+)", "\0".join(unknown)))
    if not given:
        return None
    host, port = given.get("host", "127.0.0.1"), given.get("port") or given.get("p", "8000")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_program(word: str) -> bool:
    import shutil

    return word in _LAUNCHERS or shutil.which(word) is not None


def _name_of(*words: str) -> str:
    """Return a name for the server that a command line or a URL stands for."""
    if words[0].startswith(("http://", "https://")):
        labels = [
            label for label in words[0].split("/")[2].split(":")[0].split(".") if label not in _EMPTY_LABELS
        ]
        return (labels or ["NAME"])[0]
    candidates = [word for word in words[1:] if not word.startswith("-")]
    package = candidates[0].rpartition("/")[2].partition("@")[0] if candidates else ""
    name = re.sub(r"^(mcp-)?(server-)?|([-_]?mcp)?([-_]server)?(\.\w+)?$", "", package)
    return name if re.fullmatch(r"[\w-]+", name) else "NAME"


_EMPTY_LABELS: Final = {"mcp", "www", "api", "com", "org", "io", "dev", "net", "app", "ai"}
"""Parts of a host that do not name a service."""


def _replaced(words: Sequence[str], word: str, *others: str) -> list[str]:
    at = words.index(word)
    return [*words[:at], *others, *words[at + 1 :]]


def _line(*words: str) -> str:
    """Return a command line to type. It ends before a word that may hold a secret."""
    from mcp_workbench.config.masking.token_shapes import known_tokens

    shown: list[str] = [PROGRAM]
    for word in words:
        is_secret = _LONG_RANDOM.fullmatch(word) or any(known_tokens(word))
        if (is_secret or not _PLAIN_WORD.fullmatch(word)) and not Path(word).exists():
            shown.append("…")
            break
        shown.append(shlex.quote(word))
    return " ".join(shown)
