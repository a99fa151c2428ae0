"""The `http` object of the file: who may come in over HTTP.

Owns its rules. Loaded only for a file that has one.
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
# What RFC 6749 allows in a scope: it stands in a header, in quotes and between spaces.
_NOT_IN_A_SCOPE = frozenset(' "\\')

_SHARES = '{ "calls": 32, "processes": 16 }'

_HTTP_FIELDS = plain_fields(HttpConfig)
_SHARES_FIELDS = plain_fields(SharesConfig)
_ISSUER_FIELDS = plain_fields(IssuerConfig)


def read_http(value: object, place: Place, toolboxes: Collection[str], findings: Problems) -> HttpConfig:
    """What the object says; every mistake in it is reported, and what is wrong is left at its default."""
    entry = as_object(value, place, f'"http": {_HTTP}', findings)
    if entry is None:
        return HttpConfig()
    meant = check_keys(entry, HttpConfig.__struct_encode_fields__, place, findings)
    values = convert_fields(entry, _HTTP_FIELDS, place, findings)
    for index, host in enumerate(values.get("allowed_hosts", ())):
        if host_of(host) is None:
            what = "should be a name with or without a port, and nothing else"
            findings.problem((*place, "allowedHosts", index), what, 'Write for example "mcp.example.com"')
    for index, origin in enumerate(values.get("allowed_origins", ())):
        url = url_of(origin)
        if url is None or url.path:
            what = "should be the scheme, the name and the port of a web page, and nothing else"
            remedy = 'Write for example "https://app.example.com"'
            findings.problem((*place, "allowedOrigins", index), what, remedy)
    written = meant.get("oauth")
    if written is not None and entry[written] is not None:
        values["oauth"] = _read_issuer(entry[written], (*place, written), toolboxes, findings)
    written = meant.get("shares")
    if written is not None:
        values["shares"] = _read_shares(entry[written], (*place, written), findings)
    return HttpConfig(**values)


def _read_shares(value: object, place: Place, findings: Problems) -> SharesConfig:
    entry = as_object(value, place, f'"shares": {_SHARES}', findings)
    if entry is None:
        return SharesConfig()
    check_keys(entry, SharesConfig.__struct_encode_fields__, place, findings)
    return SharesConfig(**convert_fields(entry, _SHARES_FIELDS, place, findings))


def _read_issuer(
    value: object, place: Place, toolboxes: Collection[str], findings: Problems
) -> IssuerConfig | None:
    entry = as_object(value, place, f'"oauth": {_ISSUER}', findings)
    if entry is None:
        return None
    meant = check_keys(entry, IssuerConfig.__struct_encode_fields__, place, findings)
    report_missing(IssuerConfig, meant, place, findings)
    values = convert_fields(entry, _ISSUER_FIELDS, place, findings)
    for name, key in (("issuer", "issuer"), ("resource", "resource"), ("jwks_uri", "jwksUri")):
        if values.get(name) is not None:
            _check_url(values[name], (*place, key), findings)
    written = meant.get("scopes")
    scopes = {} if written is None else _read_scopes(entry[written], (*place, written), findings)
    for scope, names in scopes.items():
        for name in sorted({*names} - {ALL, *toolboxes}):
            findings.warn((*place, written or "", scope), f"there is no toolbox {quoted(name)}")
    if not {"issuer", "resource"} <= values.keys():
        return None
    return IssuerConfig(scopes=scopes, **values)


def _check_url(text: str, place: Place, findings: Problems) -> None:
    url = url_of(text)
    if url is None or url.scheme not in ("http", "https"):
        what = "should be a whole address, without a query or a fragment"
        findings.problem(place, what, 'Write for example "https://login.example.com"')
    elif not url.is_private:
        what = "should start with https://, because anybody on the way could change what comes over http://"
        findings.problem(place, what, "Write https:// (http:// is for this machine itself only).")


def _read_scopes(value: object, place: Place, findings: Problems) -> dict[str, list[str]]:
    scopes = as_object(value, place, f'"scopes": {_SCOPES}', findings)
    if scopes == {}:
        findings.problem(place, "names no scope, so that nobody is let in", f'Write "scopes": {_SCOPES}')
    for scope in scopes or {}:
        if not scope or not scope.isascii() or not scope.isprintable() or _NOT_IN_A_SCOPE & {*scope}:
            what = "is not the name of a scope"
            findings.problem((*place, scope), what, "Write it without spaces, quotes and backslashes.")
    return {
        scope: read_toolboxes(listed, (*place, scope), findings) for scope, listed in (scopes or {}).items()
    }


def read_toolboxes(value: object, place: Place, findings: Problems) -> list[str]:
    """A list of toolboxes that somebody may use."""
    remedy = 'Write the names of toolboxes, ["dev", "docs"], or ["*"] for all of them.'
    if not isinstance(value, list):
        findings.problem(place, f"should be a list of toolboxes, not {kind_of(value)}", remedy)
        return []
    for index, name in enumerate(value):
        if not isinstance(name, str):
            what = f"should be the name of a toolbox, not {kind_of(name)}"
            findings.problem((*place, index), what, remedy)
    if not value:
        findings.warn(place, 'an empty list allows the use of nothing; write ["*"] for all toolboxes')
    return [name for name in value if isinstance(name, str)]
