"""The `http` object of the file: who may connect over HTTP.

Owns the keys under `http`, with their types, defaults and descriptions. Tokens stand in a file of their own:
see `config.tokens`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mcp_workbench.config.model.shares import SharesConfig

ALL = "*"
"""Stands for all toolboxes in a list of names of toolboxes."""

_Text = Annotated[str, Meta(pattern=r"\S")]


class IssuerConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The issuer whose access tokens (JWTs) are accepted, and the toolboxes that each scope allows."""

    issuer: Annotated[
        _Text,
        Meta(
            description="The issuer of the tokens, exactly as their `iss` says it.",
            examples=["https://login.example.com"],
            extra={"expected": "the address of the issuer"},
        ),
    ]
    resource: Annotated[
        _Text,
        Meta(
            description="The address of this workbench's endpoint as its clients know it.",
            examples=["https://mcp.example.com/mcp"],
            extra={"expected": "the address of this workbench"},
        ),
    ]
    scopes: Annotated[
        dict[str, list[str]],
        Meta(
            description="The toolboxes that each scope allows the use of: their names, or `*` for all.",
            examples=[{"mcp": ["*"], "mcp:dev": ["dev"]}],
        ),
    ]
    audience: Annotated[
        _Text | None,
        Meta(
            description="What the `aud` of the tokens has to name. Default: `resource`.",
            examples=["mcp-workbench"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    jwks_uri: Annotated[
        _Text | None,
        Meta(
            description="Where the issuer's public keys are. Default: where its metadata says that they are.",
            examples=["https://login.example.com/jwks.json"],
            extra={"expected": "an address"},
        ),
    ] = None
    profile: Annotated[
        Literal["rfc9068"] | None,
        Meta(
            description="The profile that tokens have to follow. `rfc9068`: the `typ` in their header is "
            "`at+jwt`, which no ID token has, and they have `iat`, `jti` and `client_id`. Default: none.",
            examples=["rfc9068"],
            extra={"expected": 'a string, "rfc9068"'},
        ),
    ] = None


class HttpConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The `http` object of the file: who may connect over HTTP, and how much each principal may use."""

    allowed_hosts: Annotated[
        list[str],
        Meta(
            description="Names under which clients reach the workbench, beside its own address: what they "
            "send as `Host`, with a port or without one for all ports.",
            examples=[["mcp.example.com"]],
            extra={"expected": "a list of names"},
        ),
    ] = []
    allowed_origins: Annotated[
        list[str],
        Meta(
            description="Web pages that may connect from a browser: what the browser sends as `Origin`.",
            examples=[["https://app.example.com"]],
            extra={"expected": "a list of origins"},
        ),
    ] = []
    oauth: Annotated[
        IssuerConfig | None,
        Meta(description="The issuer whose access tokens (JWTs) are accepted. Default: none."),
    ] = None
    shares: Annotated[
        SharesConfig,
        Meta(description="How much of the workbench one principal may use."),
    ] = SharesConfig()
