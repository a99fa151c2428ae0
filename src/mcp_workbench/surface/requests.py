"""Reads a client's request: its parameters and its metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from mcp_workbench.protocol.names import INVALID_PARAMS, META_PROGRESS
from mcp_workbench.wire.message import ABSENT, NULL

if TYPE_CHECKING:
    from collections.abc import Mapping

    Meta = Mapping[str, msgspec.Raw]


class NotificationFilter(msgspec.Struct, rename="camel", omit_defaults=True):
    """The notifications that a subscription asks for, of those that we send."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[str] = []

    def wants(self, kind: str) -> bool:
        """Whether the subscription asks for changes in the list of tools, prompts or resources."""
        wanted: bool = getattr(self, f"{kind}_list_changed")
        return wanted


class RequestParams(msgspec.Struct):
    """The parameters that we read, of any request."""

    given_meta: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="_meta")
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    cursor: str | None = None
    version: str | None = msgspec.field(default=None, name="protocolVersion")
    capabilities: msgspec.Raw = ABSENT
    client_info: msgspec.Raw = msgspec.field(default=ABSENT, name="clientInfo")
    level: msgspec.Raw = ABSENT
    responses: msgspec.Raw = msgspec.field(default=ABSENT, name="inputResponses")
    state: msgspec.Raw = msgspec.field(default=ABSENT, name="requestState")
    notifications: msgspec.Raw = ABSENT

    @property
    def meta(self) -> Meta:
        """The request's `_meta`, empty if it has none."""
        return self.given_meta or {}


class Backpressure(Protocol):
    """Tells when the client's output has space for more."""

    async def wait(self) -> object:
        """Return when the client's output has space."""


class Refusal(Exception):
    """A request is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = msgspec.UNSET) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)


class StateRefused(Refusal):
    """The `requestState` of a retry is not valid: forged, used already, expired, or of another request."""

    def __init__(self, message: str) -> None:
        super().__init__(INVALID_PARAMS, message)


_decode_token = msgspec.json.Decoder(int | str).decode
_decode_params = msgspec.json.Decoder(RequestParams).decode
_decode_filter = msgspec.json.Decoder(NotificationFilter).decode


def read_params(raw: msgspec.Raw) -> RequestParams:
    """Read the parameters of a request. Raises Refusal."""
    if not raw or raw == NULL:
        return RequestParams()
    try:
        params = _decode_params(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refusal(INVALID_PARAMS, f"Invalid params: {error}") from None
    # Some clients write what they do not have as null.
    if {bytes(params.state), bytes(params.responses)} <= {b"", b"null"}:
        params.state = params.responses = ABSENT
    return params


def read_filter(raw: msgspec.Raw) -> NotificationFilter:
    """Read which notifications a subscription asks for. Raises Refusal."""
    try:
        return _decode_filter(raw or b"{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refusal(INVALID_PARAMS, f"Invalid params: `notifications`: {error}") from None


def progress_token(meta: Meta) -> msgspec.Raw | None:
    """Return the token under which progress is reported; None if there is none, or an invalid one."""
    token = meta.get(META_PROGRESS, ABSENT)
    try:
        _decode_token(token)
    except msgspec.DecodeError:
        return None
    return token
