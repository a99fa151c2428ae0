"""What is held of each server: one file for each, so that `review` can show it without starting a server.

Owns the format of the files. The pins are the files of `pins`, and a decision of a person is written there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.storage.private_files import PrivateDirectory
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS, HeldServer, config_name, file_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_workbench.errors import StrPath
    from mcp_workbench.storage.trust.pin_records import PinPlace

MAX_FILE_BYTES: Final = 128 * 1024 * 1024
"""Size above which a file is not read: twice the longest list of tools that the catalogue keeps."""


class _HeldFile(msgspec.Struct, kw_only=True):
    format: Literal[1] = 1
    held: HeldServer


_decode = msgspec.json.Decoder(_HeldFile).decode


class HeldFiles:
    """What is held of all servers of a user. The methods block."""

    def __init__(self, data: StrPath) -> None:
        self._files = PrivateDirectory(data, "held")

    def servers(self, config: str | None = None) -> list[HeldServer]:
        """Return the servers of which something is held, of one configuration file or of all, by name.

        What a person has rejected is among it, see `HeldTool.is_rejected`.
        """
        wanted = None if config is None else config_name(config)
        found: list[HeldServer] = []
        with suppress(OSError):
            for name, _ in self._files.scan():
                held = self._read(name) if name.endswith(".json") else None
                if held is not None and wanted in (None, held.place.config):
                    found.append(held)
        return sorted(found, key=lambda held: (held.place.config, held.place.toolbox, held.place.server))

    def of(self, place: PinPlace) -> HeldServer | None:
        """Return what is held of a server, as it was written last; None if nothing is."""
        return self._read(file_name(place))

    def keep(self, place: PinPlace, held: HeldServer | None) -> None:
        """Write what is held of a server; None if nothing is. Raises OSError."""
        if held is None:
            self._files.remove(file_name(place))
        else:
            self._files.replace(file_name(place), [msgspec.json.encode(_HeldFile(held=held))])

    def settle(self, held: HeldServer, names: Collection[str], *, is_rejected: bool = False) -> None:
        """Take decided definitions and `INSTRUCTIONS` off a file, or mark them as rejected. Raises OSError.

        Definitions that the server has listed since they were shown are left alone.
        """
        current = self.of(held.place)
        if current is None:
            return
        tools = dict(current.tools)
        for name in names:
            if name in tools and name in held.tools and tools[name].version == held.tools[name].version:
                if is_rejected:
                    tools[name] = msgspec.structs.replace(tools[name], is_rejected=True)
                else:
                    del tools[name]
        text, shown = current.instructions, held.instructions
        if INSTRUCTIONS in names and text is not None and shown is not None and text.digest == shown.digest:
            text = msgspec.structs.replace(text, is_rejected=True) if is_rejected else None
        rest = msgspec.structs.replace(current, tools=tools, instructions=text)
        self.keep(held.place, rest if tools or text is not None else None)

    def _read(self, name: str) -> HeldServer | None:
        with suppress(OSError, ValueError, RecursionError):
            if (found := self._files.read(name, max_bytes=MAX_FILE_BYTES)) is not None:
                return _decode(found[0]).held
        return None
