"""The public keys of an OAuth issuer, which verify the signatures of its access tokens.

Owns fetching them: one fetch at a time, not too often, with a timeout and a size limit. Requests wait for a
fetch only if their key is missing. Known keys stay if a fetch fails.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final

import httpx2
import jwt
import msgspec

from mcp_workbench.config.hosts import url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jwt.algorithms import AllowedPublicKeys

    from mcp_workbench.config import IssuerConfig

FETCH_TIMEOUT_SECONDS: Final = 10.0
"""For all requests of one fetch."""
MAX_BYTES: Final = 1024 * 1024
"""Size limit for the issuer's metadata, and for its set of keys."""
MAX_AGE_SECONDS: Final = 300.0
"""Older keys are fetched again."""
UNKNOWN_KEY_PAUSE_SECONDS: Final = 30.0
"""Least time between two fetches for unknown keys: a client that invents key ids must not make us fetch each
time."""
RETRY_SECONDS: Final = 5.0
"""Least time after a fetch that failed."""

_RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVE_ALGORITHMS: Final = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
    "Ed448": ("EdDSA",),
}
_UNUSABLE: Final = (KeyError, TypeError, ValueError, jwt.PyJWTError)

log = logging.getLogger(__name__)


class KeysUnavailable(Exception):
    """The issuer's keys are not known, and cannot be fetched now."""


class Key(msgspec.Struct, frozen=True):
    """A public key, and the signature algorithms that it may be used with."""

    key: AllowedPublicKeys
    algorithms: tuple[str, ...]


class IssuerKeys:
    """The keys of one issuer, fetched when they are needed, until it is closed."""

    def __init__(self, config: IssuerConfig, on_change: Callable[[], None]) -> None:
        self._config = config
        self._on_change = on_change
        self._keys: dict[str | None, Key] | None = None
        self._raw = b""
        self._asked_at = 0.0
        self._failed = False
        self._fetch: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> Key | None:
        """Return the key with this id, or the only key if a token names none. Raises KeysUnavailable."""
        if self._keys is None:
            await self._refresh(RETRY_SECONDS)
        elif self._age() > MAX_AGE_SECONDS:
            self._start()
        keys = self._keys
        if keys is None:
            raise KeysUnavailable
        if self._choose(keys, key_id) is None:
            await self._refresh(UNKNOWN_KEY_PAUSE_SECONDS)
            keys = self._keys or keys
        return self._choose(keys, key_id)

    def close(self) -> None:
        """Cancel a running fetch, if there is one."""
        if self._fetch is not None:
            self._fetch.cancel()

    def _choose(self, keys: dict[str | None, Key], key_id: str | None) -> Key | None:
        if key_id is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(key_id)

    def _age(self) -> float:
        return time.monotonic() - self._asked_at

    async def _refresh(self, pause: float) -> None:
        """Wait for a fetch, unless there was one a moment ago. Cancelling a waiter does not cancel it."""
        if self._fetch is None:
            if self._asked_at and self._age() < (RETRY_SECONDS if self._failed else pause):
                return
            self._start()
        if self._fetch is not None:
            await asyncio.wait([self._fetch])

    def _start(self) -> None:
        if self._fetch is None and not (self._failed and self._age() < RETRY_SECONDS):
            self._fetch = asyncio.create_task(self._fetch_all())

    async def _fetch_all(self) -> None:
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_SECONDS):
                raw = await _fetch_keys(self._config)
            keys = _usable(raw)
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            self._fail(error)
        else:
            if self._failed:
                log.info("the keys of %s can be fetched again", self._config.issuer)
            self._failed = False
            if raw != self._raw:
                self._raw, self._keys = raw, keys
                self._on_change()
        finally:
            self._asked_at = time.monotonic()
            self._fetch = None

    def _fail(self, error: Exception) -> None:
        if not self._failed:
            consequence = "its tokens are refused" if self._keys is None else "the known keys stay in use"
            reason = str(error) or type(error).__name__
            log.warning("the keys of %s cannot be fetched (%s): %s", self._config.issuer, reason, consequence)
        self._failed = True


async def _fetch_keys(config: IssuerConfig) -> bytes:
    # In a thread: reading the certificates of all authorities takes a while.
    client = await asyncio.to_thread(httpx2.AsyncClient, timeout=FETCH_TIMEOUT_SECONDS)
    async with client:
        return await _get(client, config.jwks_uri or await _find_keys(client, config.issuer))


async def _find_keys(client: httpx2.AsyncClient, issuer: str) -> str:
    """Return the address of the keys, from the issuer's metadata."""
    failure: Exception | None = None
    for address in metadata_addresses(issuer):
        try:
            document = msgspec.json.decode(await _get(client, address), type=dict[str, Any])
        except (httpx2.HTTPStatusError, ValueError) as error:
            failure = failure or error
            continue
        if document.get("issuer") != issuer:
            failure = ValueError(f"{address} describes another issuer")
            continue
        found = document.get("jwks_uri")
        url = url_of(found) if isinstance(found, str) else None
        if url is None or not url.is_private:
            raise ValueError(f"{address} names no usable jwks_uri")
        return str(found)
    raise failure or ValueError("it has no address")


def metadata_addresses(issuer: str) -> Iterator[str]:
    """Return the addresses of an issuer's metadata: RFC 8414 first, then both forms of OpenID Connect."""
    url = url_of(issuer)
    path = url.path.rstrip("/") if url else ""
    root = issuer[: len(issuer) - len(url.path)] if url else issuer
    yield f"{root}/.well-known/oauth-authorization-server{path}"
    yield f"{root}/.well-known/openid-configuration{path}"
    if path:
        yield f"{root}{path}/.well-known/openid-configuration"


async def _get(client: httpx2.AsyncClient, address: str) -> bytes:
    body = bytearray()
    async with client.stream("GET", address, headers={"Accept": "application/json"}) as response:
        response.raise_for_status()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_BYTES:
                raise ValueError(f"{address} answers with more than {MAX_BYTES} bytes")
    return bytes(body)


def _usable(raw: bytes) -> dict[str | None, Key]:
    """Return the keys that verify signatures, by key id. Keys that we cannot use are left out."""
    listed = msgspec.json.decode(raw, type=dict[str, Any]).get("keys")
    if not isinstance(listed, list):
        raise ValueError("its answer is not a set of keys")  # noqa: TRY004 - the issuer's data is invalid, not our call
    keys: dict[str | None, Key] = {}
    for entry in listed:
        try:
            algorithms = _algorithms(entry)
            if algorithms and "d" not in entry and entry.get("use", "sig") == "sig":
                keys[entry.get("kid")] = Key(jwt.PyJWK(entry, algorithms[0]).key, algorithms)
        except _UNUSABLE:
            log.debug("a key of the set is left out")
    return keys


def _algorithms(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return the algorithms of a key. None uses a shared secret: a public key must not be taken for one."""
    possible = _RSA_ALGORITHMS if entry["kty"] == "RSA" else _CURVE_ALGORITHMS.get(entry.get("crv", ""), ())
    named = entry.get("alg")
    return possible if named is None else tuple(name for name in possible if name == named)
