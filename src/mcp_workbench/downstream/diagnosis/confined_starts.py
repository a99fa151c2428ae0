"""Why a server in a sandbox does not start: what the sandbox may have to do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.diagnosis.causes import StartFailure
from mcp_workbench.wire.processes.confinement import FAILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config.model.sandbox import SandboxConfig

UNAVAILABLE_HINT: Final = 'Delete "sandbox" to run it with your rights, or run the server in a container.'
NETWORK_HINT: Final = (
    'Its "sandbox" has no network. If it needs one, as npx and uvx do to download a package, write '
    '"network": true there.'
)
PATHS_HINT: Final = (
    'Its "sandbox" allows only paths of the system, and those that it lists. Add the directory to '
    "sandbox.read, or to sandbox.write if the server has to write there."
)
PERHAPS: Final = 'It runs in a "sandbox", which may be why.'


def unavailable(why: str) -> StartFailure:
    """Return the failure of a server that cannot be confined."""
    return StartFailure("sandbox-unavailable", f'its "sandbox" cannot be set up: {why}', UNAVAILABLE_HINT)


def in_sandbox(failure: StartFailure, sandbox: SandboxConfig, stderr: Sequence[str]) -> StartFailure:
    """Return the failure of a server in a sandbox, with what its sandbox may have to do with it."""
    for line in stderr:
        if line.startswith(FAILED):
            return unavailable(line.removeprefix(FAILED).strip(": "))
    if failure.cause in ("no-network", "silent") and not sandbox.network:
        return msgspec.structs.replace(failure, hint=NETWORK_HINT)
    if failure.cause == "permission-denied":
        return msgspec.structs.replace(failure, hint=PATHS_HINT)
    return msgspec.structs.replace(failure, hint=f"{failure.hint} {PERHAPS}".lstrip())
