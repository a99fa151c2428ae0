"""The `sandbox` of a server: whether it may use the network, and which paths.

Owns the keys under `sandbox`, with their types, defaults and descriptions.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

_EXPECTED = "a list of paths"


class SandboxConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a confined server may use beyond the programs and libraries of the system."""

    network: Annotated[
        bool,
        Meta(
            description="Whether the server may use the network.",
            examples=[True],
            extra={"expected": "true or false"},
        ),
    ] = False
    read: Annotated[
        list[str],
        Meta(
            description="Files and directories that the server may read, and run programs from. A relative "
            "path counts from the directory of the configuration file.",
            examples=[["./docs"]],
            extra={"expected": _EXPECTED},
        ),
    ] = []
    write: Annotated[
        list[str],
        Meta(
            description="Files and directories that the server may read and change. A relative path counts "
            "from the directory of the configuration file.",
            examples=[["./data"]],
            extra={"expected": _EXPECTED},
        ),
    ] = []
