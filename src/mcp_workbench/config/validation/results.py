"""The `results` of the file, of a toolbox or of a server: read, and the inner one before the outer one.

Owns its rules. Loaded only for a file that has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.model.results import TOOLBOX, InlineConfig, ResultsConfig
from mcp_workbench.config.validation.fields import check_keys, convert_fields, kind_of, plain_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.workbench import ToolboxConfig
    from mcp_workbench.config.validation.problems import Place, Problems

    Inline = InlineConfig | bool

_EXAMPLE = '"results": { "inlineLimit": 100000 }'
_INLINE_FIELDS = plain_fields(InlineConfig)
# The limit is read as inside: a file without a limit leaves the key out, and null is a mistake.
_FILE_FIELDS = [
    *_INLINE_FIELDS,
    *(field for field in plain_fields(ResultsConfig) if field.name != "inline_limit"),
]


def read_of_the_file(value: object, place: Place, findings: Problems) -> ResultsConfig:
    """What stands at the top; every mistake in it is reported, and what is wrong is left at its default."""
    entry = _as_entry(value, place, findings)
    check_keys(entry, ResultsConfig.__struct_encode_fields__, place, findings)
    return ResultsConfig(**convert_fields(entry, _FILE_FIELDS, place, findings))


def read_inside(value: object, outer: Inline, place: Place, findings: Problems) -> Inline:
    """What holds for a toolbox or a server, by its own word or by what holds around it."""
    if value is False:
        return False
    entry = _as_entry(value, place, findings)
    check_keys(entry, InlineConfig.__struct_encode_fields__, place, findings)
    values = convert_fields(entry, _INLINE_FIELDS, place, findings)
    return InlineConfig(**values) if values else outer


def check_name_is_free(toolboxes: Mapping[str, ToolboxConfig], place: Place, findings: Problems) -> None:
    """Where results are kept, the toolbox to read them with has its name to itself."""
    are_kept = any(server.results for box in toolboxes.values() for server in box.servers.values())
    if are_kept and TOOLBOX in toolboxes:
        what = 'where "results" are kept, this is the name of the toolbox that they are read with'
        findings.problem((*place, TOOLBOX), what, 'Give the toolbox another name, or delete "results".')


def _as_entry(value: object, place: Place, findings: Problems) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    if value is not False:
        what = f"should be an object, or false, not {'true' if value is True else kind_of(value)}"
        findings.problem(place, what, f"Write {_EXAMPLE}")
    return {}
