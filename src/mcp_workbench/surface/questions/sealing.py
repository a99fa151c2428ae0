"""Makes and checks the `requestState` that a modern client sends back when it retries a call.

A state is authenticated. It is valid once, for a limited time, and for the same tool with the same arguments.
Only the process that made a state accepts it, because no other knows whether it was used.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config.load import STATE_KEY
from mcp_workbench.surface.requests import StateRefused
from mcp_workbench.wire.message import ABSENT, NULL, encode
from mcp_workbench.workbench.replica import REPLICA

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = "wb2"
NONCE_BYTES: Final = 16
MAC_BYTES: Final = 32
KEY_BYTES: Final = 32
MAX_USED_STATES: Final = 100_000
"""Used states that are remembered. They expire long before there are so many."""

WHAT_TO_DO: Final = (
    "Send the retry to the process that asked (a load balancer has to be sticky for that), "
    "or make a new request"
)

Kind = Literal["parked", "passed", "anew", "approve"]
"""What a retry does: resume a parked call; pass the server's own state back; make a new call; or make a call
that its user was asked about.
"""


class State(msgspec.Struct, frozen=True, array_like=True):
    """The content of a `requestState`, before it is authenticated and encoded."""

    kind: Kind
    nonce: bytes
    """Random bytes that identify the state. They are the ticket of a parked call."""
    expires: float
    """When the state expires, in seconds since the epoch."""
    bound: bytes
    """The digest of the request that the state belongs to, see `protocol.binding`."""
    replica: str
    """The id of the workbench process that made the state."""
    inner: msgspec.Raw = ABSENT
    """The server's own `requestState`, if it has sent one."""
    parent: int | None = None
    """The number of the call that ended with the question, if calls are recorded."""
    approved_by: str = ""
    """Who has approved the call that ended with the question, if it needed an approval."""


_decode_state = msgspec.json.Decoder(State).decode


class UsedStates:
    """The states of all clients that were used already, until they expire."""

    def __init__(self) -> None:
        self._expiries: dict[bytes, float] = {}
        """When each state expires, by its nonce."""

    def __contains__(self, state: State) -> bool:
        return state.nonce in self._expiries

    def add(self, state: State) -> None:
        """Remember a state until it has expired."""
        if len(self._expiries) >= MAX_USED_STATES:
            now = time.time()
            self._expiries = {nonce: end for nonce, end in self._expiries.items() if end > now}
        if len(self._expiries) >= MAX_USED_STATES:
            del self._expiries[next(iter(self._expiries))]
        self._expiries[state.nonce] = state.expires


class Seal:
    """Makes the states of one client, and checks those that it sends back."""

    def __init__(
        self,
        environ: Mapping[str, str],
        owner: str = "",
        used: UsedStates | None = None,
        replica: str = REPLICA,
    ) -> None:
        self._secret = environ.get(STATE_KEY, "").encode()
        self._owner = owner.encode()
        """The principal that the states belong to. No other can use them."""
        self._key = b""
        # Shared by all clients: with a configured key, a state is valid longer than its client is connected.
        self._used = UsedStates() if used is None else used
        self._replica = replica

    def seal(
        self,
        kind: Kind,
        bound: bytes,
        seconds: float,
        inner: msgspec.Raw = ABSENT,
        *,
        parent: int | None = None,
        approved_by: str = "",
    ) -> tuple[bytes, str]:
        """Make a state that is valid for this time. Return its nonce, and its text for the client."""
        from base64 import urlsafe_b64encode  # noqa: PLC0415 - only some calls need it

        state = State(
            kind,
            os.urandom(NONCE_BYTES),
            time.time() + seconds,
            bound,
            self._replica,
            inner or NULL,
            parent,
            approved_by,
        )
        payload = encode(state)
        sealed = urlsafe_b64encode(self._mac(payload) + payload).decode()
        return state.nonce, f"{VERSION}.{sealed}"

    def open(self, text: str, bound: bytes) -> State:
        """Check a state and mark it as used. Return its content. Raises StateRefused."""
        state = self._read(text)
        if state.replica != self._replica:
            raise _refused(
                f"it was made by another workbench process (replica {state.replica}, and this is "
                f"{self._replica}), or before a restart, and is not used up by this. {WHAT_TO_DO}"
            )
        if state.bound != bound:
            raise _refused("it belongs to another request: the tool and its arguments have to be the same")
        if state.expires <= time.time():
            raise _refused("it has expired, and what it was for has been given up. Make a new request")
        if state in self._used:
            raise _refused("it has already been used, and is valid for one retry only")
        self._used.add(state)
        return msgspec.structs.replace(state, inner=ABSENT) if state.inner == NULL else state

    def _read(self, text: str) -> State:
        from base64 import urlsafe_b64decode, urlsafe_b64encode  # noqa: PLC0415 - only some calls need it
        from hmac import compare_digest  # noqa: PLC0415 - only some calls need it

        version, _, sealed = text.partition(".")
        try:
            raw = urlsafe_b64decode(sealed)
        except ValueError:
            raw = b""
        mac, payload = raw[:MAC_BYTES], raw[MAC_BYTES:]
        # Several texts decode to the same bytes, and we have made only one of them.
        is_ours = version == VERSION and urlsafe_b64encode(raw) == sealed.encode()
        if not (compare_digest(mac, self._mac(payload)) and is_ours):
            raise _refused(
                "it was not made by this workbench process, or before a restart, or it has been changed. "
                f"{WHAT_TO_DO}"
            )
        return _decode_state(payload)

    def _mac(self, payload: bytes) -> bytes:
        from hashlib import sha256  # noqa: PLC0415 - takes a while, and only some calls need it
        from hmac import digest  # noqa: PLC0415 - only some calls need it

        if not self._key:
            key = sha256(self._secret).digest() if self._secret else os.urandom(KEY_BYTES)
            # With the version, so that a state of an earlier format is never accepted.
            self._key = digest(key, b"%b %b" % (VERSION.encode(), self._owner), "sha256")
        return digest(self._key, payload, "sha256")


def _refused(reason: str) -> StateRefused:
    return StateRefused(f"Invalid params: `requestState` is refused: {reason}")
