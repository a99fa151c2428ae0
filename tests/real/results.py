"""Comparing results that travelled different ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.scripted import RESERVED

if TYPE_CHECKING:
    from tests.support.client import Json


def substance(result: Json) -> Json:
    """A result without the marks that every modern hop stamps anew: its kind, and who answered."""
    kept = {key: value for key, value in result.items() if key not in ("resultType", "_meta")}
    meta = {key: value for key, value in result.get("_meta", {}).items() if not key.startswith(RESERVED)}
    return kept | ({"_meta": meta} if meta else {})


def without_advice(result: Json) -> Json:
    """A result without what the workbench adds to a failure whose arguments do not fit."""
    content = result["content"]
    if content and content[-1].get("text", "").startswith("The arguments do not fit the tool's schema: "):
        result = {**result, "content": content[:-1]}
        if isinstance(structured := result.get("structuredContent"), dict):
            told = {key: value for key, value in structured.items() if key != "workbench"}
            result["structuredContent"] = told
    return result
