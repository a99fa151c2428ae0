"""The `oauth` object of one entry: what it holds, and which of its keys go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.config.model.oauth import OAuthConfig
from mcp_workbench.config.validation.fields import as_object, check_keys, convert_fields, plain_fields
from mcp_workbench.config.validation.text import check_os_text, check_text

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Place, Problems

_EXAMPLE = '{ "clientId": "my-client", "callbackPort": 8765 }'
_FIELDS = plain_fields(OAuthConfig)


def read_oauth(value: object, place: Place, findings: Problems) -> OAuthConfig | None:
    """What the object says; every mistake in it is reported, and what is wrong is left at its default."""
    entry = as_object(value, place, _EXAMPLE, findings)
    if entry is None:
        return None
    meant = check_keys(entry, OAuthConfig.__struct_encode_fields__, place, findings)
    values = convert_fields(entry, _FIELDS, place, findings)
    given = {key for key in meant if entry.get(key, key) is not None}
    _check_characters(values, place, findings)
    _check_client(values, given, place, findings)
    return OAuthConfig(**values)


def _check_characters(values: dict[str, Any], place: Place, findings: Problems) -> None:
    for field in _FIELDS:
        value = values.get(field.name)
        if isinstance(value, str):
            check_text(value, (*place, field.encode_name), findings)
    if (path := values.get("private_key_file")) is not None:
        check_os_text(path, (*place, "privateKeyFile"), findings)
    document = values.get("client_metadata_url")
    # As the specification has it: a document at the root could not be told from the site itself.
    if document is not None and not (document.startswith("https://") and document[8:].partition("/")[2]):
        what = "should start with https:// and have a path"
        findings.problem((*place, "clientMetadataUrl"), what, "Write the whole address of the document.")
    issuer = values.get("issuer")
    if issuer is not None and not issuer.startswith(("http://", "https://")):
        what = "should start with http:// or https://"
        findings.problem((*place, "issuer"), what, "Write the whole address.")


def _check_client(values: dict[str, Any], given: set[str], place: Place, findings: Problems) -> None:
    for key in ("clientSecret", "privateKeyFile", "issuer"):
        if key in given and "clientId" not in given:
            what = 'is for a client that is registered already, and there is no "clientId"'
            findings.problem((*place, key), what, 'Add "clientId", or delete this.')
    if {"clientId", "clientMetadataUrl"} <= given:
        what = 'has both "clientId" and "clientMetadataUrl", which are two ways to say who the workbench is'
        findings.problem(place, what, "Keep one of the two.")
    if values.get("grant") == "client_credentials":
        _check_machine(given, place, findings)
    elif "privateKeyFile" in given:
        what = 'is for "grant": "client_credentials" only'
        findings.problem((*place, "privateKeyFile"), what, 'Add that, or use "clientSecret".')


def _check_machine(given: set[str], place: Place, findings: Problems) -> None:
    if "clientId" not in given:
        what = "is needed for a token that nobody logs in for"
        findings.problem((*place, "clientId"), what, 'Write "clientId": "…", as the server\'s owner gave it.')
    elif len({"clientSecret", "privateKeyFile"} & given) != 1:
        what = 'needs either "clientSecret" or "privateKeyFile" for "grant": "client_credentials"'
        findings.problem(place, what, 'Write for example "clientSecret": "${CLIENT_SECRET}"')
    elif "issuer" not in given:
        what = 'without "issuer" the server decides who is sent the credentials; write "issuer": "https://…"'
        findings.warn(place, what)
    for key in ("callbackPort", "clientMetadataUrl"):
        if key in given:
            what = "is for a login in the browser, which there is none of with these credentials"
            findings.problem((*place, key), what, 'Delete it, or delete "grant".')
