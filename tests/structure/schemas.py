"""The protocol's own JSON Schemas, as `tests/schemas` holds them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jsonschema.validators import validator_for

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    from tests.support.client import Json

SCHEMAS = Path(__file__).parents[1] / "schemas"
LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"

HELD_TO = {"2024-11-05": "2025-06-18", "2025-03-26": "2025-06-18"}
"""Versions whose own schema is not here, and the next one, to which they are held in its place."""

SINCE_2025_11 = {"JSONRPCError": "JSONRPCErrorResponse", "JSONRPCResponse": "JSONRPCResultResponse"}
"""Definitions that a later version calls something else."""


@cache
def _validator(version: str, definition: str) -> Validator:
    file = SCHEMAS / f"{HELD_TO.get(version, version)}.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    section = "$defs" if "$defs" in schema else "definitions"
    name = definition if definition in schema[section] else SINCE_2025_11[definition]
    validator: Validator = validator_for(schema)({**schema, "$ref": f"#/{section}/{name}"})
    return validator


def faults(version: str, definition: str, value: Json) -> list[str]:
    """All that is wrong with a message or a part of one, in words; nothing when it keeps the schema."""
    return [
        f"{definition} {error.json_path}: {error.message}"
        for error in _validator(version, definition).iter_errors(value)
    ]
