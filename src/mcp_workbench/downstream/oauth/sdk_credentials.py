"""Requests a token by client credentials, through the SDK: with a secret, or with a signed assertion."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)

from mcp_workbench.downstream.oauth.sdk_flow import MAX_REASON_CHARACTERS, MemoryTokenStorage, get_tokens
from mcp_workbench.errors import TokenUnavailable
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthToken

    from mcp_workbench.config import OAuthConfig
    from mcp_workbench.downstream.oauth.challenge import Challenge

DISK_TIMEOUT_SECONDS = 10.0
"""Seconds to read the private key from disk."""

_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


async def ask(
    url: str, oauth: OAuthConfig, issuer: str | None, challenge: Challenge
) -> tuple[OAuthToken, str | None]:
    """Return the token and its issuer. Raises TokenUnavailable and httpx2.HTTPError."""
    key = "" if oauth.private_key_file is None else await _read_key(oauth.private_key_file)
    provider = _provider(url, oauth, issuer, key)
    try:
        tokens = await get_tokens(provider, url, challenge, lambda _: None)
    except OAuthFlowError as error:
        raise TokenUnavailable(f"no access token for it: {str(error)[:MAX_REASON_CHARACTERS]}") from None
    metadata = provider.context.oauth_metadata
    return tokens, None if metadata is None else str(metadata.issuer)


def _provider(url: str, oauth: OAuthConfig, issuer: str | None, key: str) -> OAuthClientProvider:
    client_id = oauth.client_id or ""
    with warnings.catch_warnings():
        # The workbench itself warns about a missing issuer in the configuration.
        warnings.simplefilter("ignore")
        if oauth.client_secret is not None:
            secret = oauth.client_secret
            return ClientCredentialsOAuthProvider(url, MemoryTokenStorage(), client_id, secret, issuer=issuer)
        sign = SignedJWTParameters(
            issuer=client_id, subject=client_id, signing_key=key, signing_algorithm=_algorithm(key)
        ).create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(url, MemoryTokenStorage(), client_id, sign, issuer=issuer)


async def _read_key(path: str) -> str:
    def read() -> str:
        with open(path, encoding="ascii") as file:
            return file.read()

    try:
        return await in_thread(read, DISK_TIMEOUT_SECONDS)
    except OSError as error:
        raise TokenUnavailable(f'its "privateKeyFile" cannot be read: {error.strerror}') from None
    except ValueError:
        raise TokenUnavailable('its "privateKeyFile" is not a key in PEM') from None


def _algorithm(key: str) -> str:
    """Return the signature algorithm, which depends only on the kind of the key. Raises TokenUnavailable."""
    try:
        loaded = load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError):
        raise TokenUnavailable('its "privateKeyFile" is not a key in PEM without a password') from None
    if isinstance(loaded, rsa.RSAPrivateKey):
        return "RS256"
    if isinstance(loaded, ed25519.Ed25519PrivateKey):
        return "EdDSA"
    if isinstance(loaded, ec.EllipticCurvePrivateKey) and loaded.curve.name in _CURVES:
        return _CURVES[loaded.curve.name]
    raise TokenUnavailable('its "privateKeyFile" holds a kind of key that tokens are not signed with')
