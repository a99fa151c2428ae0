"""What was found in the files of clients: the files, and the servers in them."""

from __future__ import annotations

import msgspec

from mcp_workbench.config.clients.model import Client, Scope  # noqa: TC001 - msgspec resolves the annotations
from mcp_workbench.config.documents import Format, Step  # noqa: TC001 - msgspec resolves the annotations


class Input(msgspec.Struct, frozen=True):
    """A value that the client asks a person for, as VS Code describes it in `inputs`."""

    prompt: str
    default: str | None = None
    """The value to use if nobody is asked; None for a secret."""


class OuterLimit(msgspec.Struct, frozen=True):
    """What the file says about a server outside of its entry."""

    is_disabled: bool = False
    filters: tuple[str, ...] = ("*",)
    """The tools that are shown, in the form of `toolFilters`."""
    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


class FileContext(msgspec.Struct, frozen=True):
    """What is needed of a whole file to convert one of its entries."""

    project: str = ""
    """The directory of the project that the file belongs to, or empty for a file of the person."""
    inputs: dict[str, Input] = {}
    limits: dict[str, OuterLimit] = {}
    """The limits of servers by name; a name that is missing has none."""


class FoundServer(msgspec.Struct, frozen=True):
    """A server in the file of a client, as it is written there."""

    name: str
    entry: dict[str, object]
    path: tuple[Step, ...]
    """Where the entry is in the document."""
    is_workbench: bool = False
    """Whether the entry starts the workbench itself."""


class FoundFile(msgspec.Struct, frozen=True):
    """A file with servers. A file that cannot be read has an error and no servers."""

    client: Client | None
    scope: Scope
    path: str
    format: Format
    key: tuple[Step, ...] = ()
    """The keys that lead to the servers, as they are in this file."""
    servers: tuple[FoundServer, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""
    context: FileContext = FileContext()
