"""Which configuration file a command uses, and saying so when that is not obvious."""

from __future__ import annotations

import os
import sys

from mcp_workbench.config import locate
from mcp_workbench.config.places import FILE_NAME
from mcp_workbench.workbench.text.sanitise import show_name


def configuration_path(option: str | None) -> str:
    """Return the path of the configuration file. Say on stderr which it is, if the user did not name it.

    A file in the working directory is obvious; one from `$WORKBENCH_CONFIG` or from the user's configuration
    directory is not.
    """
    path = locate(option, os.environ)
    if option is None and path != FILE_NAME:
        print(f"Configuration: {show_name(path)}", file=sys.stderr)
    return path
