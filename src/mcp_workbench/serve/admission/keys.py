"""The public keys of an issuer: where they are, and which of them are good now.

Owns fetching them: at most once at a time, not too often, within a limit of time and size, and never in the
way of a request that can do without. Keys that are there stay when a fetch fails.
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

FETCH_LIMIT: Final = 10.0
"""Seconds for all requests of one fetch."""
LARGEST: Final = 1024 * 1024
LIFETIME: Final = 300.0
"""Seconds after which keys are fetched again."""
COOLDOWN: Final = 30.0
"""Seconds between two fetches because a key is not known: whoever makes up keys makes us ask for none."""
RETRY: Final = 5.0
"""Seconds after a fetch that failed."""

_OF_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_OF_CURVE: Final = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
    "Ed448": ("EdDSA",),
}
_UNUSABLE: Final = (KeyError, TypeError, ValueError, jwt.PyJWTError)

log = logging.getLogger(__name__)


class KeysUnavailable(Exception):
    """There are no keys, and none can be had now."""


class Key(msgspec.Struct, frozen=True):
    """A public key, and the algorithms that signatures with it may have."""

    key: AllowedPublicKeys
    algorithms: tuple[str, ...]


class IssuerKeys:
    """The keys of one issuer, kept until they are closed."""

    def __init__(self, config: IssuerConfig, on_change: Callable[[], None]) -> None:
        self._config = config
        self._on_change = on_change
        self._keys: dict[str | None, Key] | None = None
        self._raw = b""
        self._asked_at = 0.0
        self._failed = False
        self._fetch: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> Key | None:
        """The key of that name, or the only one for a token that names none. Raises KeysUnavailable."""
        if self._keys is None:
            await self._refresh(RETRY)
        elif self._age() > LIFETIME:
            self._start()
        keys = self._keys
        if keys is None:
            raise KeysUnavailable
        if self._choose(keys, key_id) is None:
            await self._refresh(COOLDOWN)
            keys = self._keys or keys
        return self._choose(keys, key_id)

    def close(self) -> None:
        """Fetches no more."""
        if self._fetch is not None:
            self._fetch.cancel()

    def _choose(self, keys: dict[str | None, Key], key_id: str | None) -> Key | None:
        if key_id is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(key_id)

    def _age(self) -> float:
        return time.monotonic() - self._asked_at

    async def _refresh(self, pause: float) -> None:
        """Waits for a fetch, unless there was one a moment ago. Who is cancelled ends it for nobody else."""
        if self._fetch is None:
            if self._asked_at and self._age() < (RETRY if self._failed else pause):
                return
            self._start()
        if self._fetch is not None:
            await asyncio.wait([self._fetch])

    def _start(self) -> None:
        if self._fetch is None and not (self._failed and self._age() < RETRY):
            self._fetch = asyncio.create_task(self._fetch_all())

    async def _fetch_all(self) -> None:
        try:
            async with asyncio.timeout(FETCH_LIMIT):
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
            rest = "nobody with its tokens is let in" if self._keys is None else "those there are stay"
            reason = str(error) or type(error).__name__
            log.warning("the keys of %s cannot be fetched (%s): %s", self._config.issuer, reason, rest)
        self._failed = True


async def _fetch_keys(config: IssuerConfig) -> bytes:
    # Reading the certificates of all authorities takes a while.
    client = await asyncio.to_thread(httpx2.AsyncClient, timeout=FETCH_LIMIT)
    async with client:
        return await _get(client, config.jwks_uri or await _find_keys(client, config.issuer))


async def _find_keys(client: httpx2.AsyncClient, issuer: str) -> str:
    """Where the issuer's metadata says that its keys are."""
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
    """Where an issuer may keep its metadata: RFC 8414 first, then OpenID Connect in its two ways."""
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
            if len(body) > LARGEST:
                raise ValueError(f"{address} answers with more than {LARGEST} bytes")
    return bytes(body)


def _usable(raw: bytes) -> dict[str | None, Key]:
    """The keys of a set that verify signatures, by their names. Those that we cannot use are left out."""
    listed = msgspec.json.decode(raw, type=dict[str, Any]).get("keys")
    if not isinstance(listed, list):
        raise ValueError("what it answers is no set of keys")  # noqa: TRY004 - of another's making
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
    """None of them works with a secret that both sides know: a public key is no secret."""
    possible = _OF_RSA if entry["kty"] == "RSA" else _OF_CURVE.get(entry.get("crv", ""), ())
    named = entry.get("alg")
    return possible if named is None else tuple(name for name in possible if name == named)
