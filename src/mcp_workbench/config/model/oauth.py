"""The `oauth` object of a remote server.

Owns its keys, with their types, defaults and descriptions. Which keys go together is checked in
`validation.oauth`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Port = Annotated[int, Meta(ge=1, le=65_535)]
NotEmpty = Annotated[str, Meta(pattern=r"\S")]


class OAuthConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the workbench gets an access token for a remote server. Most servers need no such object."""

    grant: Annotated[
        Literal["authorization_code", "client_credentials"],
        Meta(
            description="Who the token is for: a person who logs in with `mcp-workbench login`, or the "
            "workbench itself, without a login.",
            examples=["client_credentials"],
            extra={"expected": 'a string, one of "authorization_code", "client_credentials"'},
        ),
    ] = "authorization_code"
    client_id: Annotated[
        NotEmpty | None,
        Meta(
            description="The id of a client that is registered with the authorization server already. "
            "Default: the workbench registers itself.",
            examples=["my-client"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    client_secret: Annotated[
        NotEmpty | None,
        Meta(
            description="The secret of that client, if it has one.",
            examples=["${CLIENT_SECRET}"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    private_key_file: Annotated[
        NotEmpty | None,
        Meta(
            description="A file with the private key of that client (PEM), in place of a secret. "
            "For `client_credentials` only.",
            examples=["/path/to/key.pem"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    client_metadata_url: Annotated[
        NotEmpty | None,
        Meta(
            description="The https address of a client ID metadata document that describes the workbench. "
            "It is the client's id with authorization servers that support such documents.",
            examples=["https://example.com/mcp-workbench.json"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    issuer: Annotated[
        NotEmpty | None,
        Meta(
            description="The issuer of the authorization server that `clientId` is registered with: its "
            "credentials go nowhere else.",
            examples=["https://auth.example.com"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    scopes: Annotated[
        str | list[str],
        Meta(
            description="The scopes to ask for, in one string with spaces between them, or in a list. "
            "Default: those that the server asks for.",
            examples=["files:read files:write"],
            extra={"expected": "a string, or a list of strings"},
        ),
    ] = ""
    callback_port: Annotated[
        Port | None,
        Meta(
            description="The port that the browser is redirected to after a login, at "
            "http://localhost:PORT/callback. Default: any that is free.",
            examples=[8765],
            extra={"expected": "a number from 1 to 65535, in digits only"},
        ),
    ] = None

    @property
    def scope(self) -> str:
        """The scopes in one string with spaces between them, as OAuth writes them."""
        return self.scopes if isinstance(self.scopes, str) else " ".join(self.scopes)
