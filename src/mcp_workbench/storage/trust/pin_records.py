"""What was approved of a server, and what is held, as they are kept in the data directory and in the lock."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection

INSTRUCTIONS: Final = ""
"""Stands for a server's instructions among the names of its tools, none of which is empty."""

HoldingLevel = Literal["scan", "strict"]
"""The values of the key `pin` under which tools can be held."""


class ToolPin(msgspec.Struct, frozen=True, kw_only=True):
    """The approved definition of one tool."""

    digest: str
    """`sha256:` and the digest of the definition in canonical JSON, without annotations."""
    hints: dict[str, bool] = {}
    """The approved annotations that are hints, such as `readOnlyHint`, by name."""
    since: float
    """When the definition was approved, in seconds since 1970."""
    by: str
    """How it was approved: `first` (first listing), `scan` (a clean change), `review` or `lock`."""
    before: str = ""
    """The digest of the definition that was approved before. It stays approved, because a server may list
    another definition in another protocol version, or go back to an earlier version of its program."""


class ServerPin(msgspec.Struct, frozen=True, kw_only=True):
    """What was approved of one server: which program it is, its instructions and its tools."""

    identity: str
    """`sha256:` and the digest of the command and arguments without values, or of the URL's origin."""
    program: str
    """The command and arguments without values, or the URL's origin, for people to read."""
    instructions: str = ""
    """The digest of the approved instructions; empty if there are none."""
    instructions_before: str = ""
    """The digest of the instructions that were approved before, which stay approved as `ToolPin.before`."""
    tools: dict[str, ToolPin] = {}


class PinPlace(msgspec.Struct, frozen=True):
    """Which server of which configuration a pin is for."""

    config: str
    """The real path of the configuration file; empty if a program made the configuration."""
    toolbox: str
    server: str
    identity: str = ""
    """The digest of the server's identity if there is no file: two programs may use the same names."""


class HeldTool(msgspec.Struct, frozen=True, kw_only=True):
    """A definition of a tool that is not shown or callable until a person releases it."""

    reasons: tuple[str, ...]
    """Why it is held, each as a phrase without texts of the server but cleaned names."""
    definition: msgspec.Raw
    """The definition as the server lists it now, with its annotations."""
    digest: str
    """The digest of that definition, as a pin would have it."""
    hints: dict[str, bool] = {}
    """The annotations that are hints, as the server lists them now."""
    approved: str = ""
    """The digest of the approved definition; empty if the tool is new."""
    since: float
    """When this definition was first held, in seconds since 1970."""
    is_rejected: bool = False
    """Whether a person has rejected this definition, so that it is not pending any more."""

    @property
    def version(self) -> str:
        """The definition and its hints in one text, by which a rejection remembers them."""
        return version_of(self.digest, self.hints)


class HeldInstructions(msgspec.Struct, frozen=True, kw_only=True):
    """Instructions of a server that are withheld until a person releases them."""

    reasons: tuple[str, ...]
    text: str
    """The instructions as the server sends them now, with secrets masked."""
    digest: str
    approved: str = ""
    """The digest of the approved instructions; empty if there were none."""
    since: float
    """When these instructions were first withheld, in seconds since 1970."""
    is_rejected: bool = False
    """Whether a person has rejected these instructions, so that they are not pending any more."""


class HeldServer(msgspec.Struct, frozen=True, kw_only=True):
    """What is held of one server, and which program it is now."""

    place: PinPlace
    level: HoldingLevel
    """The value of `pin` under which it is held."""
    identity: str
    """The digest of the identity of the program that runs now."""
    program: str
    """The command and arguments of that program without values, or its URL's origin."""
    approved_program: str = ""
    """The program that was approved, if another one has its name now; then the whole server is held."""
    tools: dict[str, HeldTool] = {}
    instructions: HeldInstructions | None = None

    @property
    def is_pending(self) -> bool:
        """Whether anything waits for a person: not everything that is held was rejected."""
        texts = () if self.instructions is None else (self.instructions,)
        return any(not held.is_rejected for held in (*self.tools.values(), *texts))


def version_of(digest: str, hints: dict[str, bool]) -> str:
    """Return one text for a definition and its hints. A definition with other hints has another text."""
    claims = (f"{name}={str(value).lower()}" for name, value in sorted(hints.items()))
    return " ".join((digest, *claims))


def approved_pin(
    held: HeldServer, pin: ServerPin | None, names: Collection[str], *, by: str, now: float
) -> ServerPin:
    """Return a pin that also approves the named tools of what is held, and its instructions if named."""
    if pin is None or pin.identity != held.identity:
        # Nothing of another program is approved for this one.
        pin = ServerPin(identity=held.identity, program=held.program)
    tools = dict(pin.tools)
    for name, tool in held.tools.items():
        if name in names:
            before = tools[name].digest if name in tools else ""
            tools[name] = ToolPin(
                digest=tool.digest,
                hints=tool.hints,
                since=now,
                by=by,
                before="" if before == tool.digest else before,
            )
    text = held.instructions
    if text is not None and INSTRUCTIONS in names:
        before = pin.instructions
        pin = msgspec.structs.replace(pin, instructions=text.digest, instructions_before=before)
    return msgspec.structs.replace(pin, tools=tools)


def approved_texts(held: HeldServer, names: Collection[str]) -> dict[str, msgspec.Raw]:
    """Return the texts of what is approved, by digest."""
    texts = {tool.digest: tool.definition for name, tool in held.tools.items() if name in names}
    if held.instructions is not None and INSTRUCTIONS in names:
        texts[held.instructions.digest] = msgspec.Raw(msgspec.json.encode(held.instructions.text))
    return texts


def shown_versions(held: HeldServer, names: Collection[str]) -> dict[str, str]:
    """Return what a decision is about: for each named tool its version, for the instructions their digest."""
    versions = {name: tool.version for name, tool in held.tools.items() if name in names}
    if held.instructions is not None and INSTRUCTIONS in names:
        versions[INSTRUCTIONS] = held.instructions.digest
    return versions


def config_name(path: str) -> str:
    """Return the real path of a configuration file as pins have it, which is always text."""
    return os.path.realpath(path).encode(errors="surrogateescape").decode(errors="backslashreplace")


def file_name(place: PinPlace) -> str:
    """Return the name of a server's files."""
    return f"{hashlib.sha256(msgspec.json.encode(place)).hexdigest()[:32]}.json"
