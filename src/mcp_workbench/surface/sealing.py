"""Seals what a modern client carries from one round of a call to the next, so that it comes back as it left.

Owns the form of our `requestState`: authenticated, good for one call of one tool with the same arguments, for
a limited time, and once.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.downstream.environment import STATE_KEY
from mcp_workbench.protocol import INVALID_PARAMS
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import ABSENT, NULL, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.wire.message import Body

VERSION: Final = "wb1"
NONCE_SIZE: Final = 16
MAC_SIZE: Final = 32
KEY_SIZE: Final = 32
MOST_REMEMBERED: Final = 100_000
"""States that are known to have been used; their time is up long before there are so many."""

Kind = Literal["parked", "passed", "anew"]
"""What a retry means: a call of ours goes on; the server gets its own state back; the call is a new one."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """What is sealed."""

    kind: Kind
    nonce: bytes
    """Makes it one of a kind. A parked call is found by it."""
    expires: float
    bound: bytes
    """Stands for the request that it belongs to."""
    inner: msgspec.Raw = ABSENT
    """The server's own state."""


_decode_state = msgspec.json.Decoder(State).decode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def bind(*names: str, arguments: Body) -> bytes:
    """Stands for a request: its method, what it asks of whom, and its arguments, however they are written."""
    from hashlib import sha256  # noqa: PLC0415 - takes a while, and only some calls need it

    try:
        canonical = _encode_sorted(msgspec.json.decode(arguments))
    except (msgspec.DecodeError, RecursionError):
        canonical = bytes(arguments)
    return sha256(b"%b%b" % (encode(names), canonical)).digest()


class Seal:
    """Makes states and tells which can be trusted."""

    def __init__(self, environ: Mapping[str, str], owner: str = "") -> None:
        self._secret = environ.get(STATE_KEY, "").encode()
        self._owner = owner.encode()
        """Who alone can come back with them."""
        self._key = b""
        self._used: dict[bytes, float] = {}

    def close(
        self, kind: Kind, bound: bytes, seconds: float, inner: msgspec.Raw = ABSENT
    ) -> tuple[bytes, str]:
        """A state that is good for so long: its nonce, and the text of it."""
        from base64 import urlsafe_b64encode  # noqa: PLC0415 - only some calls need it

        state = State(kind, os.urandom(NONCE_SIZE), time.time() + seconds, bound, inner or NULL)
        payload = encode(state)
        sealed = urlsafe_b64encode(self._mac(payload) + payload).decode()
        return state.nonce, f"{VERSION}.{sealed}"

    def open(self, text: str, bound: bytes) -> State:
        """What was sealed, which can be had once. Raises Refusal."""
        state = self._read(text)
        if state.bound != bound:
            raise _refused("it belongs to another request: the tool and its arguments have to be the same")
        if state.expires <= time.time():
            raise _refused("it has expired, and what it was for has been given up. Make the request anew")
        if state.nonce in self._used:
            raise _refused("it has been used already, and is good for one retry only")
        self._remember(state)
        return msgspec.structs.replace(state, inner=ABSENT) if state.inner == NULL else state

    def is_for(self, text: str, bound: bytes) -> bool:
        """Whether a state belongs to this request. Raises Refusal."""
        return self._read(text).bound == bound

    def _read(self, text: str) -> State:
        from base64 import urlsafe_b64decode, urlsafe_b64encode  # noqa: PLC0415 - only some calls need it
        from hmac import compare_digest  # noqa: PLC0415 - only some calls need it

        version, _, sealed = text.partition(".")
        try:
            raw = urlsafe_b64decode(sealed)
        except ValueError:
            raw = b""
        mac, payload = raw[:MAC_SIZE], raw[MAC_SIZE:]
        # Several texts stand for the same bytes, of which we have made one.
        is_ours = version == VERSION and urlsafe_b64encode(raw) == sealed.encode()
        if not (compare_digest(mac, self._mac(payload)) and is_ours):
            raise _refused("it was not made by this workbench, or has been changed")
        return _decode_state(payload)

    def _mac(self, payload: bytes) -> bytes:
        from hashlib import sha256  # noqa: PLC0415 - takes a while, and only some calls need it
        from hmac import digest  # noqa: PLC0415 - the same

        if not self._key:
            key = sha256(self._secret).digest() if self._secret else os.urandom(KEY_SIZE)
            self._key = digest(key, self._owner, "sha256")
        return digest(self._key, payload, "sha256")

    def _remember(self, state: State) -> None:
        if len(self._used) >= MOST_REMEMBERED:
            now = time.time()
            self._used = {nonce: expires for nonce, expires in self._used.items() if expires > now}
        if len(self._used) >= MOST_REMEMBERED:
            del self._used[next(iter(self._used))]
        self._used[state.nonce] = state.expires


def _refused(reason: str) -> Refusal:
    return Refusal(INVALID_PARAMS, f"Invalid params: `requestState` is refused: {reason}")
