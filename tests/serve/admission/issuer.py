"""An issuer of access tokens on loopback: its metadata, its keys, and the tokens that it signs."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from mcp_workbench.config import IssuerConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RESOURCE = "https://mcp.example.com/mcp"
SCOPES = {"mcp": ["*"], "mcp:dev": ["dev"], "mcp:docs": ["docs"]}

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


def public(key: PrivateKey, **members: object) -> dict[str, Any]:
    """The key as a set of keys shows it."""
    if isinstance(key, rsa.RSAPrivateKey):
        shown = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        shown = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        shown = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    # PyJWT adds what the key is good for, which not every issuer does.
    return {name: value for name, value in shown.items() if name != "key_ops"} | members


class Issuer:
    """What it answers may be changed at any time; each request for its keys is counted."""

    def __init__(self) -> None:
        self.keys: object = {"keys": [public(RSA_KEY, kid="one", use="sig", alg="RS256")]}
        self.status = 200
        self.requests = 0
        """For anything, answered or not yet."""
        self.fetches = 0
        self.harness = asyncio.Event()
        """Nothing is answered before this is set."""
        self.harness.set()
        self.metadata_path = "/.well-known/oauth-authorization-server"
        self.metadata: dict[str, Any] = {}
        self.address = ""

    def config(self, **changes: Any) -> IssuerConfig:
        settings = {"issuer": self.address, "resource": RESOURCE, "scopes": SCOPES}
        return IssuerConfig(**(settings | changes))

    def sign(
        self,
        key: PrivateKey | bytes | None = RSA_KEY,
        algorithm: str = "RS256",
        headers: dict[str, Any] | None = None,
        **claims: object,
    ) -> str:
        """A token that is good, but for the given claims; a claim that is None is left out."""
        usual = {
            "iss": self.address,
            "aud": RESOURCE,
            "sub": "alice",
            "exp": time.time() + 600,
            "scope": "mcp:dev openid",
        }
        payload = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.encode(payload, key, algorithm, {"kid": "one"} if headers is None else headers)  # type: ignore[arg-type] # None goes with "none"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        path = request.split()[1].decode()
        self.requests += 1
        await self.harness.wait()
        status, body = 404, b"{}"
        if path == "/jwks":
            self.fetches += 1
            status = self.status
            body = self.keys if isinstance(self.keys, bytes) else json.dumps(self.keys).encode()
        elif path == self.metadata_path:
            known = {"issuer": self.address, "jwks_uri": f"{self.address.partition('/t')[0]}/jwks"}
            status, body = 200, json.dumps(known | self.metadata).encode()
        head = b"HTTP/1.1 %d X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (status, len(body))
        writer.write(head + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def running(path: str = "") -> AsyncIterator[Issuer]:
    """An issuer whose address has this path."""
    issuer = Issuer()
    server = await asyncio.start_server(issuer._serve, "127.0.0.1", 0)
    async with server:
        issuer.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
        yield issuer
        issuer.harness.set()
