"""What the areas look at: the configuration as it is written and as it is loaded, and the environment.

Owns reading the file once for all of them, in spite of any mistake in it, and the command lines that fix.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping  # noqa: TC003 - msgspec resolves the annotations
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config import LoadedConfig, load_usable
from mcp_workbench.config.entries.whole_file import parse_in_our_words
from mcp_workbench.config.source.expand import is_disabled
from mcp_workbench.config.source.positions import Positions
from mcp_workbench.config.validation.problems import Place, Problems
from mcp_workbench.errors import ConfigError, EditRefused, StoreError
from mcp_workbench.setup.editing import path_of, servers_of
from mcp_workbench.storage.secret_lookup import secret_lookup

if TYPE_CHECKING:
    from mcp_workbench.config import Origin, ServerConfig

KEYRING_SECONDS: Final = 2.0
"""Time that the keyring has to answer: a person who waits for the findings can unlock it and try again."""
MAX_NAMED_SERVERS: Final = 3
"""Servers that a sentence names, at most."""


class SecretProbe:
    """Looks up secrets, and remembers which of them are missing or cannot be read."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._lookup = secret_lookup(environ, limit=KEYRING_SECONDS)
        self.missing: set[str] = set()
        self.failures: dict[str, str] = {}
        """Why a secret could not be read, by its name."""

    def __call__(self, name: str) -> str | None:
        """Return the value of a secret, or text in its place, so that loading does not report it as well."""
        try:
            value = self._lookup(name)
        except StoreError as error:
            self.failures[name] = str(error)
            value = None
        else:
            if value is None:
                self.missing.add(name)
        return f"<secret {name}>" if value is None else value


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration file, and the environment in which it is looked at."""

    path: str
    option: str | None
    """The path that a person gave with `--config`; None for the file that is found without it."""
    environ: Mapping[str, str]
    loaded: LoadedConfig
    entries: dict[tuple[str, str], dict[str, object]]
    """The servers as the file has them, in our words and with their references, disabled ones left out."""
    line_of: Callable[[Place], int | None]
    secrets: SecretProbe
    """The secrets that the configuration refers to, after they were looked up."""

    @property
    def servers(self) -> dict[Origin, ServerConfig]:
        """The servers that can be started: neither disabled nor with a mistake."""
        return {
            (toolbox, name): server
            for toolbox, box in self.loaded.config.toolboxes.items()
            if toolbox not in self.loaded.faults.toolboxes
            for name, server in box.servers.items()
            if not server.disabled and (toolbox, name) not in self.loaded.faults.servers
        }

    def line(self, origin: Origin, *steps: str | int) -> int | None:
        """Return the line of a server, or of a place in its entry."""
        return self.line_of((*path_of(origin), *steps))

    def command(self, *words: str) -> str:
        """Return a command of the workbench for a shell, with the configuration file if it was named."""
        option = ("--config", self.option) if self.option is not None else ()
        return shlex.join(("mcp-workbench", *words, *option))

    def edit(self, line: int | None) -> str:
        """Return the command for a shell that opens the configuration file at a line."""
        return edit_command(self.path, line)


def examine(path: str, option: str | None, environ: Mapping[str, str]) -> Examined:
    """Read a configuration file, whatever is wrong with it."""
    secrets = SecretProbe(environ)
    loaded = load_usable(path, environ, lookup=secrets)
    # Read once more only if it is a file: what came out of a pipe is gone.
    data = _read(path) if os.path.isfile(path) else b""
    try:
        servers = servers_of(parse_in_our_words(path, data, Problems(), is_file=True))
    except (ConfigError, EditRefused, RecursionError):
        servers = {}
    return Examined(
        path=path,
        option=option,
        environ=environ,
        loaded=loaded,
        entries={
            origin: entry
            for origin, entry in servers.items()
            if isinstance(entry, dict) and not is_disabled(entry)
        },
        line_of=Positions(data.decode("utf-8-sig", errors="replace")).line_of,
        secrets=secrets,
    )


def edit_command(path: str, line: int | None) -> str:
    """Return the command for a shell that opens a file in the person's editor, at a line."""
    at = f"+{line} " if line is not None else ""
    return f"${{EDITOR:-vi}} {at}{shlex.quote(path)}"


def title(origin: Origin) -> str:
    """Return the name of a server as people write it: TOOLBOX/SERVER."""
    return "/".join(origin)


def names(servers: tuple[str, ...]) -> str:
    """Return the first of these names in a sentence, and how many more there are."""
    more = len(servers) - MAX_NAMED_SERVERS
    listed = ", ".join(servers[:MAX_NAMED_SERVERS])
    return f"{listed} and {more} more" if more > 0 else listed


def sentence(text: str) -> str:
    """Return a text as a sentence, with a capital and a full stop."""
    ends = text.endswith((".", "?", "!"))
    return f"{text[:1].upper()}{text[1:]}{'' if ends else '.'}"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
