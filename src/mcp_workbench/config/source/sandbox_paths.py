"""Makes the paths in the `sandbox` of a server absolute: the rest of the workbench knows no others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.config.source.small_files import resolve_path

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_absolute_paths(sandbox: object, directory: str, environ: Mapping[str, str]) -> object:
    """Return a `sandbox` with absolute paths. What has another form is left as it is, to be reported.

    Relative paths count from `directory`, that of the configuration file, and `~` is the home directory.
    """
    if not isinstance(sandbox, dict):
        return sandbox

    def absolute(path: object) -> object:
        if not isinstance(path, str) or not path.strip():
            return path
        return os.path.abspath(resolve_path(path, directory, environ))

    return {
        key: [absolute(path) for path in value]
        if key in ("read", "write") and isinstance(value, list)
        else value
        for key, value in sandbox.items()
    }
