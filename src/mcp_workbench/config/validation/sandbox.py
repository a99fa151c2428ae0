"""Checks the `sandbox` of a server. What is not of our form is refused: to ignore it would widen rights.

Owns the rules of the object. Loaded only for a file that has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.entries.vocabulary import UNKNOWN_LIMIT
from mcp_workbench.config.model.sandbox import SandboxConfig
from mcp_workbench.config.validation.fields import convert_fields, kind_of, plain_fields
from mcp_workbench.config.validation.text import check_os_text

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Place, Problems

_FIELDS = plain_fields(SandboxConfig)
_KEYS = SandboxConfig.__struct_encode_fields__
_EXAMPLE = '"sandbox": { "network": false, "read": ["./docs"], "write": ["./data"] }'


def read_sandbox(value: object, place: Place, problems: Problems) -> SandboxConfig | None:
    """Return the `sandbox` of a server; None if it has none. Report everything that is not of our form."""
    if value is None or value is False:
        return None
    if value is True:
        return SandboxConfig()
    if not isinstance(value, dict):
        what = f"should be an object, true or false, not {kind_of(value)}"
        problems.add(place, what, f"Write {_EXAMPLE}")
        return SandboxConfig()
    for key in value:
        if key not in _KEYS:
            remedy = f'A "sandbox" has the keys {", ".join(_KEYS)}: write it with those, or delete this key.'
            problems.add((*place, key), UNKNOWN_LIMIT, remedy)
    sandbox = SandboxConfig(**convert_fields(value, _FIELDS, place, problems))
    for key, paths in (("read", sandbox.read), ("write", sandbox.write)):
        for index, path in enumerate(paths):
            check_os_text(path, (*place, key, index), problems)
            if not path.strip():
                problems.add((*place, key, index), "is empty", "Write a path, or delete it.")
    return sandbox
