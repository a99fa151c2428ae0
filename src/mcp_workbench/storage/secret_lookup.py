"""Looks up stored secrets by name. The store itself is loaded when the first secret is asked for.

Most configurations refer to no secret, and every client waits for the start.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import StoreError
from mcp_workbench.storage.directories import data_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.storage.secrets import SecretStore

FILE_NAME: Final = "secrets.json"
"""Name of the file in the data directory that says which secrets there are."""
KEYRING_TIMEOUT_SECONDS: Final = 10.0
"""Time that a keyring has to answer while no person is there to unlock it."""


def secrets_path(environ: Mapping[str, str]) -> str:
    """Return the path of the file that changes whenever a secret is set or removed."""
    return os.path.join(data_directory(environ), FILE_NAME)


def secret_lookup(
    environ: Mapping[str, str], *, limit: float = KEYRING_TIMEOUT_SECONDS
) -> Callable[[str], str | None]:
    """Return a function that returns the value of a secret by its name, or None. It raises StoreError.

    It touches nothing before it is first called, and asks for each secret once. After a keyring has failed,
    it is not asked again, so that a locked one costs its timeout once.
    """
    stores: list[SecretStore] = []
    known: dict[str, str | None] = {}
    failures: list[str] = []

    def lookup(name: str) -> str | None:
        from mcp_workbench.storage.secrets import SecretStore  # noqa: PLC0415 - see above

        if not stores:
            stores.append(SecretStore(environ, limit=limit))
        if name not in known:
            if failures and stores[0].places().get(name) == "keyring":
                raise StoreError(failures[0])
            try:
                known[name] = stores[0].get(name)
            except StoreError as error:
                failures.append(str(error))
                raise
        return known[name]

    return lookup
