"""Access tokens of an issuer (JWTs): whose they are, and what they allow.

Owns their verification, remembers for a while which ones were good, because a client sends the same one with
every request, and tells when the last one of somebody has expired.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import jwt
import msgspec

from mcp_workbench.config.access import ALL
from mcp_workbench.serve.admission.keys import IssuerKeys, KeysUnavailable
from mcp_workbench.surface.denied import Denied
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from jwt.types import Options

    from mcp_workbench.config import IssuerConfig
    from mcp_workbench.serve.admission.credentials import Challenge

LEEWAY: Final = 30
"""Seconds that the clocks of the issuer and of this machine may differ by."""
REMEMBERED_FOR: Final = 300.0
MOST_REMEMBERED: Final = 10_000
RETRY_AFTER: Final = b"5"
OPTIONS: Final[Options] = {
    "require": ["exp", "iss", "aud", "sub"],
    "enforce_minimum_key_length": True,
}
# Of what a stranger made: it may be nested without end, or have a number where a text belongs.
_BAD_TOKEN: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class _Verdict(msgspec.Struct, frozen=True):
    principal: Principal
    until: float


class AccessTokens:
    """Tells whose a token is."""

    def __init__(self, config: IssuerConfig, challenge: Challenge, on_expired: Callable[[str], None]) -> None:
        self._config = config
        self._challenge = challenge
        self._on_expired = on_expired
        """Told the name of a principal of whom no token is good any more."""
        self._ends: dict[str, float] = {}
        """When the last token of a principal expires."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._verdicts: dict[bytes, _Verdict] = {}
        self._keys = IssuerKeys(config, self._verdicts.clear)

    def known(self, digest: bytes) -> Principal | None:
        """Whose the token with this digest is, if it was seen not long ago."""
        verdict = self._verdicts.get(digest)
        return verdict.principal if verdict is not None and verdict.until > time.time() else None

    async def verify(self, token: bytes, digest: bytes) -> Principal:
        """Whose it is. Raises Denied."""
        claims = await self._claims(token)
        subject = claims["sub"]
        if not subject:
            raise self._challenge.invalid("The token does not say whose it is")
        principal = self._principal(subject, claims)
        self._verdicts.pop(digest, None)
        if len(self._verdicts) >= MOST_REMEMBERED:
            del self._verdicts[next(iter(self._verdicts))]
        end = int(claims["exp"]) + LEEWAY
        self._verdicts[digest] = _Verdict(principal, min(end, time.time() + REMEMBERED_FOR))
        self._expect_end(principal.name, end)
        return principal

    def close(self) -> None:
        """Fetches no more keys, and tells nothing any more."""
        self._keys.close()
        for timer in self._timers.values():
            timer.cancel()

    def _expect_end(self, name: str, end: float) -> None:
        self._ends[name] = max(end, self._ends.get(name, 0))
        if name not in self._timers:
            self._look_at_end(name)

    def _look_at_end(self, name: str) -> None:
        """Tells that the time has come, or waits for it. There may have been a new token since."""
        remaining = self._ends[name] - time.time()
        if remaining > 0:
            # Not too far ahead: the system's clock may be set, and the loop's is another.
            wait = min(remaining, REMEMBERED_FOR)
            self._timers[name] = asyncio.get_running_loop().call_later(wait, self._look_at_end, name)
        else:
            del self._ends[name]
            self._timers.pop(name, None)
            self._on_expired(name)

    async def _claims(self, token: bytes) -> dict[str, Any]:
        config = self._config
        try:
            header = jwt.get_unverified_header(token)
            key_id = header.get("kid")
            if key_id is not None and not isinstance(key_id, str):
                raise self._challenge.invalid("The token's kid is no text")
            key = await self._keys.find(key_id)
            if key is None:
                raise self._challenge.invalid("The token is signed with a key that its issuer does not have")
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=key.algorithms,
                options=OPTIONS,
                audience=config.audience or config.resource,
                issuer=config.issuer,
                leeway=LEEWAY,
            )
        except KeysUnavailable:
            reason = "The keys of the token's issuer cannot be fetched at the moment. Try again"
            raise Denied(503, reason, [(b"retry-after", RETRY_AFTER)]) from None
        except _BAD_TOKEN as error:
            raise self._challenge.invalid(_reason(error)) from None
        return claims

    def _principal(self, subject: str, claims: dict[str, Any]) -> Principal:
        config = self._config
        granted = _scopes(claims)
        scopes = [scope for scope in config.scopes if scope in granted]
        if not scopes:
            raise self._challenge.insufficient("The token has none of the scopes that allow something here")
        toolboxes = frozenset(name for scope in scopes for name in config.scopes[scope])
        # With the scopes, so that what a token allows never depends on another one of the same subject.
        # Neither an issuer nor a scope has a space or a quote in it.
        name = f'{config.issuer} "{" ".join(scopes)}" {subject}'
        return Principal(name, None if ALL in toolboxes else toolboxes)


def _scopes(claims: dict[str, Any]) -> set[str]:
    """What a token allows, in either of the ways that issuers write it: a text with spaces, or a list."""
    granted: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name)
        words = value.split() if isinstance(value, str) else value
        if isinstance(words, list):
            granted.update(word for word in words if isinstance(word, str))
    return granted


def _reason(error: BaseException) -> str:
    """What is wrong with a token, without a word out of it."""
    if isinstance(error, jwt.ExpiredSignatureError):
        return "The token has expired"
    if isinstance(error, jwt.ImmatureSignatureError):
        return "The token is not valid yet"
    if isinstance(error, jwt.InvalidIssuerError):
        return "The token is of another issuer"
    if isinstance(error, jwt.InvalidAudienceError):
        return "The token is for another audience"
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"The token has no {error.claim}"
    if isinstance(error, jwt.InvalidAlgorithmError):
        return "The token is signed with an algorithm that is not accepted"
    if isinstance(error, jwt.InvalidSignatureError):
        return "The signature of the token is wrong"
    return "The token cannot be read"
