"""Checks the `oauth` object of a server entry: the values, and which keys go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.config.model.oauth import OAuthConfig
from mcp_workbench.config.validation.fields import as_object, check_keys, convert_fields, plain_fields
from mcp_workbench.config.validation.text import check_os_text, check_text

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Place, Problems

_EXAMPLE = '{ "clientId": "my-client", "callbackPort": 8765 }'
_FIELDS = plain_fields(OAuthConfig)


def read_oauth(value: object, place: Place, problems: Problems) -> OAuthConfig | None:
    """Return the `oauth` settings of a server. Report mistakes, and leave what is wrong at its default."""
    entry = as_object(value, place, _EXAMPLE, problems)
    if entry is None:
        return None
    meant = check_keys(entry, OAuthConfig.__struct_encode_fields__, place, problems)
    values = convert_fields(entry, _FIELDS, place, problems)
    given = {key for key in meant if entry.get(key, key) is not None}
    _check_characters(values, place, problems)
    _check_client(values, given, place, problems)
    return OAuthConfig(**values)


def _check_characters(values: dict[str, Any], place: Place, problems: Problems) -> None:
    for field in _FIELDS:
        value = values.get(field.name)
        if isinstance(value, str):
            check_text(value, (*place, field.encode_name), problems)
    if (path := values.get("private_key_file")) is not None:
        check_os_text(path, (*place, "privateKeyFile"), problems)
    document = values.get("client_metadata_url")
    # The specification requires a path: a document at the root would be the same address as the site.
    if document is not None and not (document.startswith("https://") and document[8:].partition("/")[2]):
        what = "should start with https:// and have a path"
        problems.add((*place, "clientMetadataUrl"), what, "Write the whole address of the document.")
    issuer = values.get("issuer")
    if issuer is not None and not issuer.startswith(("http://", "https://")):
        what = "should start with http:// or https://"
        problems.add((*place, "issuer"), what, "Write the whole address.")


def _check_client(values: dict[str, Any], given: set[str], place: Place, problems: Problems) -> None:
    for key in ("clientSecret", "privateKeyFile", "issuer"):
        if key in given and "clientId" not in given:
            what = 'is for a client that is registered already, and there is no "clientId"'
            problems.add((*place, key), what, 'Add "clientId", or delete this.')
    if {"clientId", "clientMetadataUrl"} <= given:
        what = 'has both "clientId" and "clientMetadataUrl", which are two ways to say who the workbench is'
        problems.add(place, what, "Keep one of the two.")
    if values.get("grant") == "client_credentials":
        _check_client_credentials(given, place, problems)
    elif "privateKeyFile" in given:
        what = 'is for "grant": "client_credentials" only'
        problems.add((*place, "privateKeyFile"), what, 'Add that, or use "clientSecret".')


def _check_client_credentials(given: set[str], place: Place, problems: Problems) -> None:
    if "clientId" not in given:
        what = "is needed for a token without a login"
        problems.add((*place, "clientId"), what, 'Write "clientId": "…", as the server\'s owner gave it.')
    elif len({"clientSecret", "privateKeyFile"} & given) != 1:
        what = 'needs either "clientSecret" or "privateKeyFile" for "grant": "client_credentials"'
        problems.add(place, what, 'Write for example "clientSecret": "${CLIENT_SECRET}"')
    elif "issuer" not in given:
        what = 'without "issuer" the server decides who is sent the credentials; write "issuer": "https://…"'
        problems.warn(place, what)
    for key in ("callbackPort", "clientMetadataUrl"):
        if key in given:
            what = "is for a login in the browser, which client credentials do without"
            problems.add((*place, key), what, 'Delete it, or delete "grant".')
