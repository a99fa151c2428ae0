"""Checks the `results` of the file, of a toolbox or of a server. The innermost one that is set counts.

Owns the rules of the object. Loaded only for a file that has one.
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
# With the limit of `InlineConfig`, which is no null: a file without a limit leaves the key out.
_FILE_FIELDS = [
    *_INLINE_FIELDS,
    *(field for field in plain_fields(ResultsConfig) if field.name != "inline_limit"),
]


def read_file_results(value: object, place: Place, problems: Problems) -> ResultsConfig:
    """Return the `results` of the file. Report every mistake, and leave what is wrong at its default."""
    entry = _as_entry(value, place, problems)
    check_keys(entry, ResultsConfig.__struct_encode_fields__, place, problems)
    return ResultsConfig(**convert_fields(entry, _FILE_FIELDS, place, problems))


def read_inner_results(value: object, outer: Inline, place: Place, problems: Problems) -> Inline:
    """Return the `results` of a toolbox or a server, or `outer` if the object does not set the limit."""
    if value is False:
        return False
    entry = _as_entry(value, place, problems)
    check_keys(entry, InlineConfig.__struct_encode_fields__, place, problems)
    values = convert_fields(entry, _INLINE_FIELDS, place, problems)
    return InlineConfig(**values) if values else outer


def check_name_is_free(toolboxes: Mapping[str, ToolboxConfig], place: Place, problems: Problems) -> None:
    """Report a toolbox with the name of the built-in one for kept results, if any server keeps results."""
    are_kept = any(server.results for box in toolboxes.values() for server in box.servers.values())
    if are_kept and TOOLBOX in toolboxes:
        what = 'where "results" are kept, this is the name of the toolbox that they are read with'
        problems.add((*place, TOOLBOX), what, 'Give the toolbox another name, or delete "results".')


def _as_entry(value: object, place: Place, problems: Problems) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    if value is not False:
        what = f"should be an object, or false, not {'true' if value is True else kind_of(value)}"
        problems.add(place, what, f"Write {_EXAMPLE}")
    return {}
