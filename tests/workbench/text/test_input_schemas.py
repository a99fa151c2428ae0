"""An input schema is shown without what says nothing about arguments."""

from __future__ import annotations

import msgspec
import pytest

from mcp_workbench.workbench.text.input_schemas import short_schema


@pytest.mark.parametrize(
    ("schema", "short"),
    [
        ('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}', '{"type":"object"}'),
        (
            '{"title": "readArguments", "type": "object", "additionalProperties": false}',
            '{"type":"object"}',
        ),
        (
            '{"properties": {"time_zone": {"title": "Time Zone", "type": "string"}}}',
            '{"properties":{"time_zone":{"type":"string"}}}',
        ),
        (
            '{"properties": {"tz": {"title": "Time zone", "anyOf": [{"$comment": "x"}, {"type": "null"}]}}}',
            '{"properties":{"tz":{"title":"Time zone","anyOf":[{},{"type":"null"}]}}}',
        ),
        # Properties may have the names of keywords.
        (
            '{"properties": {"title": {"type": "string"}, "$schema": {"additionalProperties": {}}}}',
            '{"properties":{"title":{"type":"string"},"$schema":{"additionalProperties":{}}}}',
        ),
        ('{"default": {"$schema": 1}, "maximum": 1.0}', '{"default":{"$schema":1},"maximum":1.0}'),
        ('{"items": {"$schema": "x", "type": "string"}}', '{"items":{"type":"string"}}'),
        ("true", "true"),
    ],
)
def test_only_what_says_nothing_is_left_out(schema: str, short: str) -> None:
    assert short_schema(msgspec.Raw(schema.encode())) == short.encode()
