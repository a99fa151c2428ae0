"""What clients differ in, as structs: files, entries, references. The data is in `clients.table`."""

from typing import Literal

import msgspec

from mcp_workbench.config.documents import Format
from mcp_workbench.config.entries.dialects import SECONDS, Dialect

Scope = Literal["user", "project"]
System = Literal["linux", "darwin", "win32"]
References = Literal["none", "ours", "shell", "dollar", "command", "editor", "opencode", "continue"]
"""How a client writes a value that it looks up: the cases of `clients.references`."""
OuterLimits = Literal["", "amazon-q", "amp", "claude-code", "gemini", "goose", "opencode", "zed"]
"""Which keys outside of the entries limit servers: the cases of `clients.limits`."""


class ClientFile(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file in which a client keeps servers."""

    scope: Scope
    format: Format = "json"
    key: tuple[str, ...]
    """The keys that lead to the servers; `{project}` stands for the path of the project."""
    paths: dict[System, tuple[str, ...]]
    """Where the file may be, best first, with the placeholders of `clients.machine`. A `*` is a glob."""
    is_list: bool = False
    """Whether the servers are a list of objects with a name, and not an object by name."""
    may_be_flat: bool = False
    """Whether the servers may be at the top of the file, without the key."""
    is_installable: bool = True
    """Whether `install` may write this file: older places are only read."""


class EntryForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a client writes a server that is a program."""

    first: dict[str, object] = {}
    last: dict[str, object] = {}
    has_name: bool = False
    command_key: str = "command"
    is_one_list: bool = False
    """Whether the program and its arguments are one list."""
    env_key: str = "env"
    always_has_env: bool = False


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A program that keeps a list of MCP servers, with all that is particular about its files."""

    id: str
    title: str
    aliases: tuple[str, ...] = ()
    files: tuple[ClientFile, ...] = ()
    dialect: Dialect = SECONDS
    references: References = "none"
    header_references: References | None = None
    """How references are written in headers, where that differs."""
    asks_for_env_keys: bool = False
    """Whether `env_keys` names secrets in the client's own store, rather than variables."""
    skipped_types: tuple[str, ...] = ()
    """Values of `type` for servers that are part of the client itself."""
    outer_limits: OuterLimits = ""
    form: EntryForm = EntryForm()
    new_file: dict[str, object] = {}
    """What the client wants at the top of a file that did not exist before."""
    passes_workspace: bool = False
    """Whether the client replaces `${workspaceFolder}` in an entry by the directory of the open project."""
    after_install: str = "Restart {title}."
    """What a person does after an installation, so that the client takes it up."""
    paste: str = ""
    """Where to paste an entry by hand, for a client without a file."""
