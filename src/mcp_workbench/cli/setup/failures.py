"""Reports why a command could not change a file, in the same words and with the same exit code for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.cli.terminal import complain
from mcp_workbench.errors import (
    CannotChange,
    ConfigError,
    DocumentError,
    EditRefused,
    NameTaken,
    StoreError,
)
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Callable


def report_failures(path: str, work: Callable[[], int]) -> int:
    """Run a command that changes the configuration at `path`, and report why it failed.

    Return the exit code of the command, else 1 (a file or the keyring does not allow it) or 2 (the command
    line or the configuration is wrong).
    """
    try:
        return work()
    except NameTaken as error:
        complain(show_name(str(error)))
        return 1
    except (ConfigError, EditRefused) as error:
        complain(str(error))
        return 2
    except DocumentError as error:
        place = "".join(f":{number}" for number in (error.line, error.column) if number is not None)
        complain(f"{show_name(path)}{place}: {error.reason}. Nothing was written")
        return 2
    except (CannotChange, StoreError) as error:
        complain(str(error))
        return 1
