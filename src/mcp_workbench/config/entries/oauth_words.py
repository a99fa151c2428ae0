"""Translates the OAuth settings of other clients into the `oauth` object of a server entry."""

from __future__ import annotations

import re

from mcp_workbench.config.entries.vocabulary import OAUTH_KEYS, OAUTH_WORDS

_CALLBACK = re.compile(r"http://(?:localhost|127\.0\.0\.1):(\d{1,5})/callback")


def translate_oauth(source: dict[str, object], result: dict[str, object]) -> None:
    """Put the OAuth settings of an entry into the result, in our words where there are any."""
    given = source.get("oauth")
    if given is False:
        del result["oauth"]
        given = None
    auth = source.get("auth")
    if isinstance(auth, dict) and given is None:
        given = auth
    elif auth not in (None, False, "oauth"):
        result["auth"] = auth
    beside = {OAUTH_KEYS[key]: value for key, value in source.items() if key in OAUTH_KEYS and value}
    if not isinstance(given, dict):
        if beside and given is None:
            result["oauth"] = beside
        return
    if given.get("enabled") is False:
        result.pop("oauth", None)
        return
    result["oauth"] = {**beside, **_in_our_words(given)}


def _in_our_words(settings: dict[str, object]) -> dict[str, object]:
    translated: dict[str, object] = {}
    for key, value in settings.items():
        callback = _CALLBACK.fullmatch(value) if key == "redirectUri" and isinstance(value, str) else None
        if callback:
            translated.setdefault("callbackPort", int(callback[1]))
        elif key != "enabled":
            translated[OAUTH_WORDS.get(key, key)] = value
    return translated
