"""Reading a client's request: its parameters, the era it belongs to, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.protocol import (
    INVALID_PARAMS,
    LOG_LEVELS,
    META_CAPABILITIES,
    META_LOG_LEVEL,
    META_PROGRESS,
    META_VERSION,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
)
from mcp_workbench.wire.message import ABSENT, NULL, decode_members, decode_text, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    Meta = Mapping[str, msgspec.Raw]


class Filter(msgspec.Struct, rename="camel"):
    """Which notifications a subscription is for, of those that we send."""

    tools_list_changed: bool = False


class Params(msgspec.Struct):
    """The parameters that we look at, of whatever request."""

    given_meta: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="_meta")
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    cursor: str | None = None
    version: str | None = msgspec.field(default=None, name="protocolVersion")
    notifications: msgspec.Raw = ABSENT

    @property
    def meta(self) -> Meta:
        """The request's `_meta`, empty if it has none."""
        return self.given_meta or {}


class Refusal(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = msgspec.UNSET) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)


# What nearly all requests have, told without decoding.
_NEWEST = msgspec.Raw(encode(MODERN_VERSIONS[0]))
_NONE = msgspec.Raw(b"{}")

_decode_token = msgspec.json.Decoder(int | str).decode
_decode_params = msgspec.json.Decoder(Params).decode
_decode_filter = msgspec.json.Decoder(Filter).decode


def read_params(raw: msgspec.Raw) -> Params:
    """The parameters of a request. Raises Refusal."""
    if not raw or raw == NULL:
        return Params()
    try:
        return _decode_params(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refusal(INVALID_PARAMS, f"Invalid params: {error}") from None


def read_filter(raw: msgspec.Raw) -> Filter:
    """Which notifications are wanted. Raises Refusal."""
    try:
        return _decode_filter(raw or b"{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refusal(INVALID_PARAMS, f"Invalid params: `notifications`: {error}") from None


def is_modern(meta: Meta) -> bool:
    """Whether a request carries the metadata of the modern era. Raises Refusal when that is flawed."""
    version = meta.get(META_VERSION)
    if version is None:
        return False
    if version != _NEWEST:
        _require_known(version)
    capabilities = meta.get(META_CAPABILITIES, ABSENT)
    if capabilities != _NONE and not _is_object(capabilities):
        raise Refusal(INVALID_PARAMS, f"Invalid params: _meta['{META_CAPABILITIES}'] is required, an object")
    if (level := meta.get(META_LOG_LEVEL)) is not None and decode_text(level) not in LOG_LEVELS:
        levels = ", ".join(LOG_LEVELS)
        raise Refusal(INVALID_PARAMS, f"Invalid params: _meta['{META_LOG_LEVEL}'] must be one of {levels}")
    return True


def _require_known(version: msgspec.Raw) -> None:
    requested = decode_text(version)
    if requested is None:
        raise Refusal(INVALID_PARAMS, f"Invalid params: _meta['{META_VERSION}'] must be a string")
    if requested not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": requested}
        raise Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def progress_token(meta: Meta) -> msgspec.Raw | None:
    """What progress is to be reported under, if it is wanted and can be."""
    token = meta.get(META_PROGRESS, ABSENT)
    try:
        _decode_token(token)
    except msgspec.DecodeError:
        return None
    return token


def _is_object(raw: msgspec.Raw) -> bool:
    try:
        decode_members(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
