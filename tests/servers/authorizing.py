"""A remote MCP server with its authorization servers, as strict as real ones, in one process on loopback.

`/mcp` wants a token of the authorization server that the metadata name, for its own address. Behind `/one`
and `/two` are authorization servers with discovery, registration, PKCE, and refresh tokens that are good for
one use: a second use ends the login. `/control` changes what it does, `/journal` tells what was done.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import socket
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import jwt
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request


@dataclass
class Settings:
    """What `/control` can change."""

    issuer: str = "one"
    """Whom the server's metadata name."""
    expires_in: int | None = 3600
    pkce: bool = True
    registration: bool = True
    documents: list[str] = field(default_factory=list)
    """Client ID metadata documents that are known; none means that they are not supported."""
    auth_methods: list[str] | None = None
    iss: str = "right"
    """`right`, `wrong` or `absent` in the answer that the browser carries."""
    deny: bool = False
    refresh_tokens: bool = True
    answer: str = "works"
    """Of the token endpoint: `works`, `hangs` (until it does not), `fails` (HTTP 500), or OAuth's error."""
    asked_scope: str = "read"
    """In the challenge of a 401."""
    needed_scope: str = ""
    """Without which there is a 403."""
    open: bool = False
    """Whether `/mcp` takes requests without a token."""


@dataclass
class Grant:
    """One consent, and all that came of it."""

    issuer: str
    client: str
    scope: str
    resource: str
    is_alive: bool = True


class Place:
    """All that is remembered."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.changed = asyncio.Event()
        self.begin({}, {})

    def begin(self, clients: dict[str, str], keys: dict[str, str]) -> None:
        """As on the first day, with these clients registered at `/one`."""
        self.settings = Settings()
        self.journal: list[dict[str, Any]] = []
        self.secrets = {("one", client): secret for client, secret in clients.items()}
        self.keys = keys
        self.redirects: dict[tuple[str, str], list[str]] = {}
        self.codes: dict[str, tuple[Grant, str, str]] = {}
        self.refresh: dict[str, tuple[Grant, bool]] = {}
        self.access: dict[str, tuple[Grant, float]] = {}

    def note(self, what: str, **details: object) -> None:
        self.journal.append({"what": what, **details})

    async def reset(self, request: Request) -> Response:
        self.begin(**await request.json())
        self._tell_of_change()
        return JSONResponse({})

    async def control(self, request: Request) -> Response:
        for name, value in (await request.json()).items():
            assert hasattr(self.settings, name), name
            setattr(self.settings, name, value)
        self._tell_of_change()
        return JSONResponse(asdict(self.settings))

    def _tell_of_change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def tell(self, _: Request) -> Response:
        return JSONResponse(self.journal)

    async def expire(self, _: Request) -> Response:
        """All access tokens end this moment, as after an hour."""
        self.access = {token: (grant, 0.0) for token, (grant, _) in self.access.items()}
        return JSONResponse({})

    async def resource_metadata(self, _: Request) -> Response:
        named = f"{self.base}/{self.settings.issuer}"
        return JSONResponse({"resource": f"{self.base}/mcp", "authorization_servers": [named]})

    async def metadata(self, request: Request) -> Response:
        issuer = f"{self.base}/{request.path_params['issuer']}"
        self.note("metadata", issuer=issuer)
        known: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "response_types_supported": ["code"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.settings.pkce:
            known["code_challenge_methods_supported"] = ["S256"]
        if self.settings.registration:
            known["registration_endpoint"] = f"{issuer}/register"
        if self.settings.documents:
            known["client_id_metadata_document_supported"] = True
        if self.settings.auth_methods is not None:
            known["token_endpoint_auth_methods_supported"] = self.settings.auth_methods
        return JSONResponse(known)

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        issuer = request.path_params["issuer"]
        client = f"client-{secrets.token_hex(8)}"
        self.note("register", issuer=issuer, asked=asked, client=client)
        self.redirects[issuer, client] = asked["redirect_uris"]
        method = asked.get("token_endpoint_auth_method", "client_secret_basic")
        granted = {**asked, "client_id": client, "token_endpoint_auth_method": method}
        if method != "none":
            granted["client_secret"] = self.secrets[issuer, client] = f"secret-{secrets.token_hex(16)}"
        return JSONResponse(granted, status_code=201)

    async def authorize(self, request: Request) -> Response:
        asked, issuer = request.query_params, request.path_params["issuer"]
        self.note("authorize", issuer=issuer, asked=dict(asked))
        client, target = asked["client_id"], asked["redirect_uri"]
        is_known = (issuer, client) in self.secrets or client in self.settings.documents
        if not is_known and target not in self.redirects.get((issuer, client), []):
            return Response("unknown client or redirect_uri", status_code=400)
        assert asked["code_challenge_method"] == "S256"
        named = {"right": f"{self.base}/{issuer}", "wrong": "https://attacker.example", "absent": None}
        answer: dict[str, Any] = {"state": asked["state"], "iss": named[self.settings.iss]}
        if self.settings.deny:
            answer |= {"error": "access_denied", "error_description": "She said\x1b[31m no"}
        else:
            answer["code"] = secrets.token_urlsafe(16)
            grant = Grant(issuer, client, asked.get("scope", ""), asked["resource"])
            self.codes[answer["code"]] = (grant, asked["code_challenge"], target)
        query = urlencode({name: value for name, value in answer.items() if value is not None})
        return RedirectResponse(f"{target}?{query}", status_code=302)

    async def token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        issuer = request.path_params["issuer"]
        self.note("token", issuer=issuer, grant=form["grant_type"], resource=form.get("resource"))
        while self.settings.answer == "hangs":
            await self.changed.wait()
        if await request.is_disconnected():
            return Response()  # whoever asked is gone, and nothing has come of it
        if self.settings.answer == "fails":
            return Response("out of order", status_code=500)
        if self.settings.answer != "works":
            return JSONResponse({"error": self.settings.answer}, status_code=400)
        client = self._client(issuer, form, request.headers.get("Authorization", ""))
        if client is None:
            return JSONResponse({"error": "invalid_client"}, status_code=401)
        grant = {
            "authorization_code": self._by_code,
            "refresh_token": self._by_refresh_token,
            "client_credentials": self._by_credentials,
        }[form["grant_type"]](issuer, client, form)
        if grant is None:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        return JSONResponse(self._issue(grant, can_renew=form["grant_type"] != "client_credentials"))

    def _client(self, issuer: str, form: dict[str, str], header: str) -> str | None:
        if "client_assertion" in form:
            claims = jwt.decode(form["client_assertion"], options={"verify_signature": False})
            key, algorithms = self.keys[claims["iss"]], ["RS256", "ES256", "EdDSA"]
            proven = jwt.decode(
                form["client_assertion"], key, algorithms=algorithms, audience=f"{self.base}/{issuer}"
            )
            self.note("proof", by="assertion")
            return str(proven["sub"])
        client, secret = form.get("client_id"), form.get("client_secret")
        by = "none" if secret is None else "post"
        if header.startswith("Basic "):
            client, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            by = "basic"
        self.note("proof", by=by)
        if client is None or self.secrets.get((issuer, client)) != secret:
            return None
        return client

    def _by_code(self, issuer: str, client: str, form: dict[str, str]) -> Grant | None:
        grant, challenge, target = self.codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        is_proven = base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
        is_same = (grant.issuer, grant.client, target) == (issuer, client, form["redirect_uri"])
        return grant if is_proven and is_same else None

    def _by_refresh_token(self, issuer: str, client: str, form: dict[str, str]) -> Grant | None:
        grant, is_used = self.refresh.get(form["refresh_token"], (Grant(issuer, "", "", ""), False))
        if is_used:
            self.note("reuse")
            grant.is_alive = False
        if not grant.is_alive or grant.client != client:
            return None
        self.refresh[form["refresh_token"]] = (grant, True)
        return grant

    def _by_credentials(self, issuer: str, client: str, form: dict[str, str]) -> Grant | None:
        return Grant(issuer, client, form.get("scope", ""), form["resource"])

    def _issue(self, grant: Grant, *, can_renew: bool) -> dict[str, Any]:
        token = f"access-{secrets.token_hex(16)}"
        lifetime = self.settings.expires_in
        self.access[token] = (grant, time.time() + (10**9 if lifetime is None else lifetime))
        issued: dict[str, Any] = {"access_token": token, "token_type": "bearer", "scope": grant.scope}
        if lifetime is not None:
            issued["expires_in"] = lifetime
        if can_renew and self.settings.refresh_tokens:
            issued["refresh_token"] = f"refresh-{secrets.token_hex(16)}"
            self.refresh[issued["refresh_token"]] = (grant, False)
        self.note(
            "issued", tokens=[issued[name] for name in ("access_token", "refresh_token") if name in issued]
        )
        return issued

    async def serve(self, request: Request) -> Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        grant, until = self.access.get(token, (None, 0.0))
        metadata = f'resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
        is_good = (
            grant is not None
            and grant.is_alive
            and time.time() < until
            and (grant.issuer, grant.resource) == (self.settings.issuer, f"{self.base}/mcp")
        )
        self.note("served" if is_good else "refused", had_token=bool(token))
        if not is_good and not self.settings.open:
            challenge = f'Bearer {metadata}, scope="{self.settings.asked_scope}"'
            return Response(status_code=401, headers={"WWW-Authenticate": challenge})
        needed = self.settings.needed_scope
        if needed and (grant is None or needed not in grant.scope.split()):
            challenge = f'Bearer error="insufficient_scope", scope="{needed}", {metadata}'
            return Response(status_code=403, headers={"WWW-Authenticate": challenge})
        return _answer(await request.body())


def _answer(body: bytes) -> Response:
    """As a small server of the legacy era, with one tool."""
    asked = json.loads(body or b"{}")
    if "id" not in asked:
        return Response(status_code=202)
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "authorizing", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "somebody"}]},
    }
    method = asked.get("method")
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
    if method in results:
        answer["result"] = results[method]
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    return JSONResponse(answer)


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    place = Place(f"http://127.0.0.1:{listening.getsockname()[1]}")
    well_known = "/.well-known/oauth-authorization-server/{issuer}"
    app = Starlette(
        routes=[
            Route("/reset", place.reset, methods=["POST"]),
            Route("/control", place.control, methods=["POST"]),
            Route("/journal", place.tell),
            Route("/expire", place.expire, methods=["POST"]),
            Route("/.well-known/oauth-protected-resource/mcp", place.resource_metadata),
            Route(well_known, place.metadata),
            Route("/{issuer}/register", place.register, methods=["POST"]),
            Route("/{issuer}/authorize", place.authorize),
            Route("/{issuer}/token", place.token, methods=["POST"]),
            Route("/mcp", place.serve, methods=["GET", "POST", "DELETE"]),
        ]
    )
    print(place.base, flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1))
    server.run(sockets=[listening])


if __name__ == "__main__":
    main()
