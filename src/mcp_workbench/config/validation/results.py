"""Checks the `results` of the file, of a toolbox or of a server. The innermost one that is set counts.

Owns the rules of the object. Loaded only for a file that has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.model.results import (
    INLINE_LIMIT_BYTES,
    OFF,
    SERVER,
    TOOLBOX,
    InlineConfig,
    ResultsConfig,
)
from mcp_workbench.config.validation.fields import check_keys, convert_fields, kind_of, plain_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.workbench import ToolboxConfig
    from mcp_workbench.config.validation.problems import Place, Problems

_EXAMPLE = f'"results": {{ "inlineLimit": {INLINE_LIMIT_BYTES} }}'
_INLINE_FIELDS = plain_fields(InlineConfig)
_FILE_FIELDS = plain_fields(ResultsConfig)


def read_file_results(value: object, place: Place, problems: Problems) -> ResultsConfig:
    """Return the `results` of the file. Report every mistake, and leave what is wrong at its default."""
    if value is False:
        return ResultsConfig(inline_limit=OFF.inline_limit)
    entry = _as_entry(value, place, problems)
    check_keys(entry, ResultsConfig.__struct_encode_fields__, place, problems)
    return ResultsConfig(**convert_fields(entry, _FILE_FIELDS, place, problems))


def read_inner_results(value: object, outer: InlineConfig, place: Place, problems: Problems) -> InlineConfig:
    """Return the `results` of a toolbox or a server, or `outer` if the object does not set the limit."""
    if value is False:
        return OFF
    entry = _as_entry(value, place, problems)
    check_keys(entry, InlineConfig.__struct_encode_fields__, place, problems)
    values = convert_fields(entry, _INLINE_FIELDS, place, problems)
    return InlineConfig(**values) if values else outer


def check_name_is_free(toolboxes: Mapping[str, ToolboxConfig], place: Place, problems: Problems) -> None:
    """Report a server with the names of the built-in one for kept results, if any server keeps results."""
    are_kept = any(server.results != OFF for box in toolboxes.values() for server in box.servers.values())
    if are_kept and SERVER in toolboxes[TOOLBOX].servers:
        what = "this toolbox and server have the names of the ones that kept results are read with"
        remedy = 'Give one of them another name, or write "results": false at the top of the file.'
        problems.add((*place, TOOLBOX, "mcpServers", SERVER), what, remedy)


def _as_entry(value: object, place: Place, problems: Problems) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    what = f"should be an object, or false, not {'true' if value is True else kind_of(value)}"
    off = '"results": { "inlineLimit": "off" }' if value == "off" else _EXAMPLE
    problems.add(place, what, f"Write {off}")
    return {}
