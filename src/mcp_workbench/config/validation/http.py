"""Checks the `http` object of the file: who may connect over HTTP.

Owns the rules of the object. Loaded only for a file that has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.hosts import host_of, url_of
from mcp_workbench.config.model.access import ALL, HttpConfig, IssuerConfig
from mcp_workbench.config.model.shares import SharesConfig
from mcp_workbench.config.validation.fields import (
    as_object,
    check_keys,
    convert_fields,
    kind_of,
    plain_fields,
    report_missing,
)
from mcp_workbench.config.validation.problems import quoted

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_workbench.config.validation.problems import Place, Problems

_HTTP = '{ "allowedHosts": ["mcp.example.com"] }'
_ISSUER = '{ "issuer": "https://…", "resource": "https://…/mcp", "scopes": { "mcp": ["*"] } }'
_SCOPES = '{ "mcp": ["*"], "mcp:dev": ["dev"] }'
# RFC 6749 excludes these from a scope, because scopes stand in a quoted header value, between spaces.
_NOT_IN_A_SCOPE = frozenset(' "\\')

_SHARES = '{ "calls": 32, "processes": 16 }'

_HTTP_FIELDS = plain_fields(HttpConfig)
_SHARES_FIELDS = plain_fields(SharesConfig)
_ISSUER_FIELDS = plain_fields(IssuerConfig)


def read_http(value: object, place: Place, toolboxes: Collection[str], problems: Problems) -> HttpConfig:
    """Return the `http` settings of a file. Report every mistake, and leave what is wrong at its default."""
    entry = as_object(value, place, f'"http": {_HTTP}', problems)
    if entry is None:
        return HttpConfig()
    meant = check_keys(entry, HttpConfig.__struct_encode_fields__, place, problems)
    values = convert_fields(entry, _HTTP_FIELDS, place, problems)
    for index, host in enumerate(values.get("allowed_hosts", ())):
        if host_of(host) is None:
            what = "should be a name with or without a port, and nothing else"
            problems.add((*place, "allowedHosts", index), what, 'Write for example "mcp.example.com"')
    for index, origin in enumerate(values.get("allowed_origins", ())):
        url = url_of(origin)
        if url is None or url.path:
            what = "should be the scheme, the name and the port of a web page, and nothing else"
            remedy = 'Write for example "https://app.example.com"'
            problems.add((*place, "allowedOrigins", index), what, remedy)
    written = meant.get("oauth")
    if written is not None and entry[written] is not None:
        values["oauth"] = _read_issuer(entry[written], (*place, written), toolboxes, problems)
    written = meant.get("shares")
    if written is not None:
        values["shares"] = _read_shares(entry[written], (*place, written), problems)
    return HttpConfig(**values)


def _read_shares(value: object, place: Place, problems: Problems) -> SharesConfig:
    entry = as_object(value, place, f'"shares": {_SHARES}', problems)
    if entry is None:
        return SharesConfig()
    check_keys(entry, SharesConfig.__struct_encode_fields__, place, problems)
    return SharesConfig(**convert_fields(entry, _SHARES_FIELDS, place, problems))


def _read_issuer(
    value: object, place: Place, toolboxes: Collection[str], problems: Problems
) -> IssuerConfig | None:
    entry = as_object(value, place, f'"oauth": {_ISSUER}', problems)
    if entry is None:
        return None
    meant = check_keys(entry, IssuerConfig.__struct_encode_fields__, place, problems)
    report_missing(IssuerConfig, meant, place, problems)
    values = convert_fields(entry, _ISSUER_FIELDS, place, problems)
    for name, key in (("issuer", "issuer"), ("resource", "resource"), ("jwks_uri", "jwksUri")):
        if values.get(name) is not None:
            _check_url(values[name], (*place, key), problems)
    written = meant.get("scopes")
    scopes = {} if written is None else _read_scopes(entry[written], (*place, written), problems)
    for scope, names in scopes.items():
        for name in sorted({*names} - {ALL, *toolboxes}):
            problems.warn((*place, written or "", scope), f"there is no toolbox {quoted(name)}")
    if not {"issuer", "resource"} <= values.keys():
        return None
    return IssuerConfig(scopes=scopes, **values)


def _check_url(text: str, place: Place, problems: Problems) -> None:
    url = url_of(text)
    if url is None or url.scheme not in ("http", "https"):
        what = "should be a whole address, without a query or a fragment"
        problems.add(place, what, 'Write for example "https://login.example.com"')
    elif not url.is_private:
        what = "should start with https://, because http:// can be read and changed on the way"
        problems.add(place, what, "Write https:// (http:// is for this machine itself only).")


def _read_scopes(value: object, place: Place, problems: Problems) -> dict[str, list[str]]:
    scopes = as_object(value, place, f'"scopes": {_SCOPES}', problems)
    if scopes == {}:
        problems.add(place, "names no scope, so that no token is accepted", f'Write "scopes": {_SCOPES}')
    for scope in scopes or {}:
        if not scope or not scope.isascii() or not scope.isprintable() or _NOT_IN_A_SCOPE & {*scope}:
            what = "is not the name of a scope"
            problems.add((*place, scope), what, "Write it without spaces, quotes and backslashes.")
    return {
        scope: read_toolboxes(listed, (*place, scope), problems) for scope, listed in (scopes or {}).items()
    }


def read_toolboxes(value: object, place: Place, problems: Problems) -> list[str]:
    """Return the names of the toolboxes that a token or a scope allows the use of; report what is wrong."""
    remedy = 'Write the names of toolboxes, ["dev", "docs"], or ["*"] for all of them.'
    if not isinstance(value, list):
        problems.add(place, f"should be a list of toolboxes, not {kind_of(value)}", remedy)
        return []
    for index, name in enumerate(value):
        if not isinstance(name, str):
            what = f"should be the name of a toolbox, not {kind_of(name)}"
            problems.add((*place, index), what, remedy)
    if not value:
        problems.warn(place, 'an empty list allows the use of nothing; write ["*"] for all toolboxes')
    return [name for name in value if isinstance(name, str)]
