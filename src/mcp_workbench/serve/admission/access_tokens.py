"""Access tokens (JWTs) of an OAuth issuer: which principal they belong to, and what they allow.

Owns their verification. Remembers valid tokens for a while, because a client sends the same token with every
request, and reports when the last token of a principal has expired.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import jwt
import msgspec

from mcp_workbench.config.model.access import ALL
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission.expiry_timers import ExpiryTimers
from mcp_workbench.serve.admission.keys import IssuerKeys, KeysUnavailable
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from jwt.types import Options

    from mcp_workbench.config import IssuerConfig
    from mcp_workbench.serve.admission.credentials import BearerChallenge

LEEWAY_SECONDS: Final = 30
"""Accepted difference between the issuer's clock and ours."""
REMEMBERED_SECONDS: Final = 300.0
"""How long a verified token is accepted without verifying it again."""
MAX_REMEMBERED_TOKENS: Final = 10_000
"""Access tokens whose verification is remembered; the oldest is forgotten first."""
RETRY_AFTER: Final = b"5"
OPTIONS: Final[Options] = {
    "require": ["exp", "iss", "aud", "sub"],
    "enforce_minimum_key_length": True,
    # `_check_claims` does: PyJWT takes strings and booleans for numbers.
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
LATEST_TIME: Final = 253_402_300_800
"""The year 10000 as a Unix time. A claim with a larger number is not a time."""
RFC9068_TYPES: Final = ("at+jwt", "application/at+jwt")
RFC9068_CLAIMS: Final = ("iat", "jti", "client_id")
# A token may be forged: nested without end, or with a number where a string belongs.
_BAD_TOKEN: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class _Verdict(msgspec.Struct, frozen=True):
    """The principal of a verified token, and until when the token is accepted unverified."""

    principal: Principal
    until: float


class AccessTokens:
    """Verifies access tokens and maps each one to its principal."""

    def __init__(
        self, config: IssuerConfig, challenge: BearerChallenge, on_expired: Callable[[str], None]
    ) -> None:
        self._config = config
        self._challenge = challenge
        self._expiries = ExpiryTimers(on_expired)
        """Reports principals whose last token has expired."""
        self._verdicts: dict[bytes, _Verdict] = {}
        self._keys = IssuerKeys(config, self._verdicts.clear)

    def known(self, digest: bytes) -> Principal | None:
        """Return the principal of the token with this digest, if it was verified recently."""
        verdict = self._verdicts.get(digest)
        return verdict.principal if verdict is not None and verdict.until > time.time() else None

    async def verify(self, token: bytes, digest: bytes) -> Principal:
        """Verify a token and return its principal. Raises Denied."""
        claims = await self._claims(token)
        subject = claims["sub"]
        if not subject:
            raise self._challenge.invalid("The token does not say whose it is")
        principal = self._principal(subject, claims)
        self._verdicts.pop(digest, None)
        if len(self._verdicts) >= MAX_REMEMBERED_TOKENS:
            del self._verdicts[next(iter(self._verdicts))]
        end = claims["exp"] + LEEWAY_SECONDS
        self._verdicts[digest] = _Verdict(principal, min(end, time.time() + REMEMBERED_SECONDS))
        self._expiries.extend(principal.name, end)
        return principal

    def close(self) -> None:
        """Stop fetching keys and stop reporting expired tokens."""
        self._keys.close()
        self._expiries.clear()

    async def _claims(self, token: bytes) -> dict[str, Any]:
        config = self._config
        try:
            header = jwt.get_unverified_header(token)
            key_id = header.get("kid")
            if key_id is not None and not isinstance(key_id, str):
                raise self._challenge.invalid("The token's kid is not a string")
            if config.profile == "rfc9068":
                self._check_type(header.get("typ"))
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
                leeway=LEEWAY_SECONDS,
            )
        except KeysUnavailable:
            reason = "The keys of the token's issuer cannot be fetched at the moment. Try again"
            raise Denied(503, reason, [(b"retry-after", RETRY_AFTER)]) from None
        except _BAD_TOKEN as error:
            raise self._challenge.invalid(_reason(error)) from None
        self._check_claims(claims)
        return claims

    def _check_type(self, kind: object) -> None:
        """Refuse a token that is not an access token, such as an ID token. Media types ignore case."""
        if not isinstance(kind, str) or kind.lower() not in RFC9068_TYPES:
            raise self._challenge.invalid("The token is not an access token: its typ is not at+jwt")

    def _check_claims(self, claims: dict[str, Any]) -> None:
        for name in ("exp", "nbf", "iat"):
            if name in claims and not _is_time(claims[name]):
                raise self._challenge.invalid(f"The token's {name} is not a time: it must be a number")
        now = time.time()
        if claims["exp"] <= now - LEEWAY_SECONDS:
            raise self._challenge.invalid("The token has expired")
        if max(claims.get("nbf", 0), claims.get("iat", 0)) > now + LEEWAY_SECONDS:
            raise self._challenge.invalid("The token is not valid yet")
        if self._config.profile == "rfc9068":
            for name in RFC9068_CLAIMS:
                if not claims.get(name):
                    raise self._challenge.invalid(f"The token has no {name}")

    def _principal(self, subject: str, claims: dict[str, Any]) -> Principal:
        config = self._config
        granted = _scopes(claims)
        scopes = [scope for scope in config.scopes if scope in granted]
        if not scopes:
            raise self._challenge.insufficient("The token has none of the scopes that allow something here")
        toolboxes = frozenset(name for scope in scopes for name in config.scopes[scope])
        # The scopes are part of the name, so that one token never changes what another token of the same
        # subject allows. Neither an issuer nor a scope contains a space or a quote.
        name = f'{config.issuer} "{" ".join(scopes)}" {subject}'
        return Principal(name, None if ALL in toolboxes else toolboxes)


def _scopes(claims: dict[str, Any]) -> set[str]:
    """Return the scopes of a token. Issuers write them as a string with spaces or as a list."""
    granted: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name)
        words = value.split() if isinstance(value, str) else value
        if isinstance(words, list):
            granted.update(word for word in words if isinstance(word, str))
    return granted


def _is_time(value: object) -> bool:
    """Whether a claim is a number of seconds since 1970 in a calendar's range (NumericDate of RFC 7519)."""
    # True is an int in Python. A comparison with NaN is false.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < LATEST_TIME


def _reason(error: BaseException) -> str:
    """Say what is wrong with a token, without quoting anything from it."""
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
