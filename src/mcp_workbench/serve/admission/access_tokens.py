"""Access tokens of an issuer (JWTs): whose they are, and what they allow.

Owns their verification, remembers for a while which ones were good, because a client sends the same one with
every request, and tells when the last one of somebody has expired.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import jwt
import msgspec

from mcp_workbench.config.model.access import ALL
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission.expiries import Expiries
from mcp_workbench.serve.admission.keys import IssuerKeys, KeysUnavailable
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from jwt.types import Options

    from mcp_workbench.config import IssuerConfig
    from mcp_workbench.serve.admission.credentials import BearerChallenge

LEEWAY: Final = 30
"""Seconds that the clocks of the issuer and of this machine may differ by."""
REMEMBERED_FOR: Final = 300.0
MOST_REMEMBERED: Final = 10_000
RETRY_AFTER: Final = b"5"
OPTIONS: Final[Options] = {
    "require": ["exp", "iss", "aud", "sub"],
    "enforce_minimum_key_length": True,
    # See `_check_claims`: PyJWT takes texts and booleans for numbers.
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
LATEST_TIME: Final = 253_402_300_800
"""The year 10000, in seconds since 1970: a larger number is no time."""
RFC9068_TYPES: Final = ("at+jwt", "application/at+jwt")
RFC9068_CLAIMS: Final = ("iat", "jti", "client_id")
# Of what a stranger made: it may be nested without end, or have a number where a text belongs.
_BAD_TOKEN: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class _Verdict(msgspec.Struct, frozen=True):
    principal: Principal
    until: float


class AccessTokens:
    """Tells whose a token is."""

    def __init__(
        self, config: IssuerConfig, challenge: BearerChallenge, on_expired: Callable[[str], None]
    ) -> None:
        self._config = config
        self._challenge = challenge
        self._expiries = Expiries(on_expired)
        """Tells of principals of whom no token is valid any more."""
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
        end = claims["exp"] + LEEWAY
        self._verdicts[digest] = _Verdict(principal, min(end, time.time() + REMEMBERED_FOR))
        self._expiries.extend(principal.name, end)
        return principal

    def close(self) -> None:
        """Fetches no more keys, and tells nothing any more."""
        self._keys.close()
        self._expiries.clear()

    async def _claims(self, token: bytes) -> dict[str, Any]:
        config = self._config
        try:
            header = jwt.get_unverified_header(token)
            key_id = header.get("kid")
            if key_id is not None and not isinstance(key_id, str):
                raise self._challenge.invalid("The token's kid is no text")
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
                leeway=LEEWAY,
            )
        except KeysUnavailable:
            reason = "The keys of the token's issuer cannot be fetched at the moment. Try again"
            raise Denied(503, reason, [(b"retry-after", RETRY_AFTER)]) from None
        except _BAD_TOKEN as error:
            raise self._challenge.invalid(_reason(error)) from None
        self._check_claims(claims)
        return claims

    def _check_type(self, kind: object) -> None:
        """Refuse what is no access token, such as an ID token. Media types have no case."""
        if not isinstance(kind, str) or kind.lower() not in RFC9068_TYPES:
            raise self._challenge.invalid("The token is no access token: its typ is not at+jwt")

    def _check_claims(self, claims: dict[str, Any]) -> None:
        for name in ("exp", "nbf", "iat"):
            if name in claims and not _is_time(claims[name]):
                raise self._challenge.invalid(f"The token's {name} is no time: it has to be a number")
        now = time.time()
        if claims["exp"] <= now - LEEWAY:
            raise self._challenge.invalid("The token has expired")
        if max(claims.get("nbf", 0), claims.get("iat", 0)) > now + LEEWAY:
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


def _is_time(value: object) -> bool:
    """Whether it is a number of seconds since 1970 that a calendar has (NumericDate of RFC 7519)."""
    # True is an int in Python. A comparison with NaN is false.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < LATEST_TIME


def _reason(error: BaseException) -> str:
    """What is wrong with a token, without a word out of it."""
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
